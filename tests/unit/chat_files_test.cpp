// Model files whose vocabulary and chat template do not go together, or whose template is none.
#include <gtest/gtest.h>

#include "base/status.h"
#include "chat/chat_prompt.h"
#include "chat_vocabulary.h"
#include "fixtures/failure.h"
#include "fixtures/warnings.h"

namespace skipstone::chat {
namespace {

using fixtures::Warnings;

/// The 256 bytes and `markers`, which the file calls normal.
std::shared_ptr<const text::Tokenizer> tokenizer_with_normal(const std::vector<std::string>& markers,
                                                             const std::vector<std::string>& special = {}) {
  text::Vocabulary vocabulary = tests::tokenizer_with(special)->vocabulary();
  for (const std::string& marker : markers) {
    vocabulary.tokens.push_back(marker);
    vocabulary.types.push_back(text::TokenType::normal);
  }
  return std::make_shared<const text::Tokenizer>(std::move(vocabulary));
}

/// The tokens of more than a byte, as they are written.
std::vector<std::string> markers_in(const ChatPrompt& prompt, const std::string& messages) {
  std::vector<std::string> found;
  for (const text::Token token : prompt.tokens(read_conversation(messages, "", ""))) {
    if (token >= 256) found.push_back(prompt.tokenizer().vocabulary().tokens[static_cast<std::size_t>(token)]);
  }
  return found;
}

constexpr const char* turns =
    "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|over|>{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% "
    "endif %}";

TEST(NormalMarkers, AreTokensWhereTheTemplateWritesThem) {
  const Warnings warnings;
  const auto tokenizer = tokenizer_with_normal({"<|turn|>", "<|over|>", "<|other|>"});
  const ChatPrompt prompt(tokenizer, {{"", turns}}, "");
  EXPECT_EQ(markers_in(prompt, R"([{"role": "user", "content": "a <|over|><|turn|><|other|>"}])"),
            (std::vector<std::string>{"<|turn|>", "<|over|>", "<|turn|>"}))
      << "a message cannot write them";
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("<|turn|>, <|over|>"), std::string::npos) << warnings.texts[0];
  EXPECT_EQ(warnings.texts[0].find("other"), std::string::npos) << warnings.texts[0];
  EXPECT_EQ(prompt.stop_strings(), std::vector<std::string>{"<|over|>"}) << "it has a text, so that an answer ends before it";
  EXPECT_EQ(tokenizer->encode("<|turn|>", false, true).size(), 8u) << "other texts are spelled as before";
}

TEST(NormalMarkers, MayBeWrittenInParts) {
  const Warnings warnings;
  const ChatPrompt prompt(tokenizer_with_normal({"<|user|>", "<|end|>"}),
                          {{"", "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"}}, "");
  EXPECT_EQ(markers_in(prompt, R"([{"role": "user", "content": "a"}])").front(), "<|user|>");
  EXPECT_EQ(warnings.texts.size(), 1u);
}

TEST(NormalMarkers, AreNotPiecesThatMergingGives) {
  text::Vocabulary vocabulary = tests::tokenizer_with({})->vocabulary();
  for (const char* merge : {"= <", "< -", "- >", "<- ->"}) {
    vocabulary.merges.emplace_back(merge);
    std::string merged(merge);
    merged.erase(merged.find(' '), 1);
    vocabulary.tokens.push_back(merged);
    vocabulary.types.push_back(text::TokenType::normal);
  }
  const auto tokenizer = std::make_shared<const text::Tokenizer>(vocabulary);
  ASSERT_EQ(tokenizer->encode("<-->", false, false), std::vector<text::Token>{static_cast<text::Token>(vocabulary.tokens.size() - 1)});
  const Warnings warnings;
  const ChatPrompt prompt(tokenizer, {{"", "=<-->{{ messages[0].content }}"}}, "");
  EXPECT_EQ(prompt.tokens(read_conversation(R"([{"role": "user", "content": "a"}])", "", "")), tokenizer->encode("=<-->a", false, false));
  EXPECT_TRUE(warnings.texts.empty());
}

TEST(NormalMarkers, GiveWayToSpecialTokensOfTheSameText) {
  const auto tokenizer = tokenizer_with_normal({"<|turn|>"}, {"<|turn|>"});
  const Warnings warnings;
  const ChatPrompt prompt(tokenizer, {{"", turns}}, "");
  const auto tokens = prompt.tokens(read_conversation(R"([{"role": "user", "content": "a"}])", "", ""));
  EXPECT_EQ(tokens.front(), 256) << "the control token";
}

TEST(BrokenTemplate, StopsChatsAlone) {
  const Warnings warnings;
  const auto tokenizer = tests::tokenizer_with({"<s>", "</s>"});
  const ChatPrompt prompt(tokenizer, {{"", "{% if %}"}, {"tool_use", "{{ 2 }}"}}, "");
  EXPECT_EQ(prompt.source(), Source::model);
  EXPECT_NE(prompt.error().find("line 1"), std::string::npos) << prompt.error();
  EXPECT_EQ(prompt.end_tokens(), std::vector<text::Token>{tokenizer->vocabulary().eos});
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("only completions"), std::string::npos) << warnings.texts[0];
  const auto failure =
      fixtures::failure_of([&] { (void)prompt.tokens(read_conversation(R"([{"role": "user", "content": "a"}])", "", "")); });
  EXPECT_EQ(failure.code, Code::unsupported);
  EXPECT_EQ(failure.message, prompt.error());
  EXPECT_EQ(ChatPrompt(tokenizer, {{"", "{% if %}"}}, "chatml").error(), "") << "another template may be taken";
}

}  // namespace
}  // namespace skipstone::chat
