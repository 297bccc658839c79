#include "chat/conversation_prompt.h"

#include <gtest/gtest.h>

namespace cli::chat {
namespace {

TEST(ConversationPrompt, IsRenderedOnceForAConversation) {
  std::vector<std::string> rendered;
  ConversationPrompt prompt([&](const std::string& messages) {
    rendered.push_back(messages);
    return skipstone::Json{{"text", std::string(300, 'a') + "\u00e9<think>"}, {"tokens", {1, static_cast<int>(rendered.size())}}}.dump();
  });
  Conversation conversation;
  conversation.add({.role = "user", .content = "Hi"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(prompt.of(conversation).tokens, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(rendered, (std::vector<std::string>{R"([{"role":"user","content":"Hi"}])"}));
  EXPECT_EQ(prompt.of(conversation).end, std::string(247, 'a') + "\u00e9<think>");

  conversation.add({.role = "assistant", .content = "Hello"});
  EXPECT_EQ(prompt.of(conversation).tokens, (std::vector<std::int32_t>{1, 2}));
  conversation.set_system("Be brief.");
  EXPECT_EQ(prompt.of(conversation).tokens, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(prompt.take(conversation).tokens, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(rendered.size(), 3u);
  EXPECT_EQ(prompt.of(conversation).tokens, (std::vector<std::int32_t>{1, 4})) << "the next turn's";
}

TEST(ConversationPrompt, AFailedRenderingIsNotKept) {
  bool fails = true;
  ConversationPrompt prompt([&](const std::string&) {
    if (fails) throw std::runtime_error("the template raises");
    return std::string(R"({"text": "a", "tokens": [7]})");
  });
  const Conversation conversation;
  EXPECT_THROW(prompt.of(conversation), std::runtime_error);
  fails = false;
  EXPECT_EQ(prompt.of(conversation).tokens, std::vector<std::int32_t>{7});
}

}  // namespace
}  // namespace cli::chat
