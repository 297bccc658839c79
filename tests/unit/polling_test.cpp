// Long work on texts can be ended: whoever may end it is asked every now and then, whatever the text.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/poll.h"
#include "base/status.h"
#include "chat/chat_prompt.h"
#include "chat/jinja/template.h"
#include "chat/messages.h"
#include "unit/chat_vocabulary.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

struct Asked {
  int times = 0;
  bool ended = false;
};

/// `work` with someone who ends it at the `last` asking; 0: never.
template <typename Work>
Asked asked_during(Work&& work, int last = 0) {
  Asked asked;
  try {
    const Poll polled([&] {
      if (++asked.times == last) fail(Code::cancelled, "enough");
    });
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled) << error.what();
    EXPECT_STREQ(error.what(), "enough");
    asked.ended = true;
  }
  return asked;
}

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

/// Asked `least` times at least, and ended at once where it is ended.
template <typename Work>
void expect_ends(const std::string& what, Work&& work, int least) {
  const Asked whole = asked_during(work);
  EXPECT_FALSE(whole.ended) << what;
  EXPECT_GE(whole.times, least) << what;
  const Asked ended = asked_during(work, 2);
  EXPECT_TRUE(ended.ended) << what;
  EXPECT_EQ(ended.times, 2) << what;
}

TEST(Polling, TokenizingAndBack) {
  const std::vector<std::string> units = {"a", " ", "hello the ", "<|im_star", "🚀 ", "a1 b2\n", "\r\n "};
  std::vector<text::Vocabulary> vocabularies = {text::handmade::sentencepiece()};
  for (const char* pre : {"gpt-2", "deepseek-llm"}) vocabularies.push_back(text::handmade::byte_level(pre));
  for (const text::Vocabulary& vocabulary : vocabularies) {
    const text::Tokenizer tokenizer(vocabulary);
    for (const std::string& unit : units) {
      const std::string text = repeated(unit, megabyte / 2);
      const std::string what = vocabulary.model + " " + vocabulary.pre + " '" + unit + "'";
      std::vector<text::Token> tokens;
      expect_ends(
          what, [&] { tokens = tokenizer.encode(text, false, true); }, 16);
      expect_ends(
          what + " back", [&] { tokenizer.decode(tokens); }, 3);
      EXPECT_EQ(tokenizer.decode(tokens), text) << what;
    }
  }
}

TEST(Polling, ReadingConversationsAndRendering) {
  const chat::ChatPrompt writer(tests::tokenizer_with({"<|im_start|>", "<|im_end|>"}), {}, "chatml");
  std::string many = "[", parts;
  while (many.size() < megabyte) many += R"({"role": "user", "content": "a"}, )";
  many += R"({"role": "user", "content": "a"}])";
  while (parts.size() < megabyte) parts += R"({"type": "text", "text": "a"}, )";
  const std::vector<std::pair<std::string, std::string>> conversations = {
      {"long", R"([{"role": "user", "content": ")" + repeated("word ", megabyte) + "\"}]"},
      {"escaped", R"([{"role": "user", "content": ")" + repeated("\\u00e9", megabyte) + "\"}]"},
      {"many", many},
      {"parts", R"([{"role": "user", "content": [)" + parts + R"({"type": "text", "text": "a"}]}])"}};
  for (const auto& [what, messages] : conversations) {
    expect_ends(
        what + " read", [&] { chat::read_conversation(messages, "", ""); }, 8);
    const chat::RenderedPrompt prompt = writer.render(chat::read_conversation(messages, "", ""));
    expect_ends(
        what + " tokens", [&] { writer.tokens(prompt); }, 3);
  }
  const chat::Conversation conversation = chat::read_conversation(many, "", "");
  expect_ends(
      "many rendered", [&] { writer.render(conversation); }, 100);
}

/// Work is counted by the polls. What shows a prompt needs its tokens and its pieces: both of one rendering, split once.
TEST(Polling, APromptIsRenderedAndSplitOnce) {
  const chat::ChatPrompt writer(tests::tokenizer_with({"<|im_start|>", "<|im_end|>"}), {}, "chatml");
  const chat::Conversation conversation =
      chat::read_conversation(R"([{"role": "user", "content": ")" + repeated("<", megabyte) + "\"}]", "", "");
  chat::RenderedPrompt prompt;
  const int rendering = asked_during([&] { prompt = writer.render(conversation); }).times;
  const int tokenising = asked_during([&] { writer.tokens(prompt); }).times;
  const int both = asked_during([&] {
                     const chat::RenderedPrompt one = writer.render(conversation);
                     writer.tokens(one);
                     writer.pieces(one);
                   }).times;
  EXPECT_GT(rendering, 100);  // also the search for special tokens, of which each byte might be the first
  EXPECT_LE(both, rendering + tokenising + 10);
}

TEST(Polling, WhatIsAskedIsNotAskedItself) {
  const text::Tokenizer tokenizer(text::handmade::sentencepiece());
  const std::string text = repeated("hello ", megabyte / 4);
  int depth = 0, deepest = 0;
  const Poll polled([&] {
    deepest = std::max(deepest, ++depth);
    tokenizer.encode(text.substr(0, 65536), false, false);
    --depth;
  });
  tokenizer.encode(text, false, false);
  EXPECT_EQ(deepest, 1);
}

TEST(Polling, TemplatesWithoutEnd) {
  const chat::ChatPrompt writer(tests::tokenizer_with({"<|im_start|>"}),
                                {{"", "{% for i in range(100000) %}{% for j in range(100000) %}{{ i }}{% endfor %}{% endfor %}"}}, "");
  const chat::Conversation conversation = chat::read_conversation(R"([{"role": "user", "content": "a"}])", "", "");
  const Asked ended = asked_during([&] { writer.render(conversation); }, 2);
  EXPECT_TRUE(ended.ended);
  EXPECT_EQ(ended.times, 2);
}

}  // namespace
}  // namespace skipstone
