// Prompts of the real templates: no message writes a special token; a long conversation takes little time. The data is beside a
// checkout; without it, the tests skip.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/status.h"
#include "chat/chat_prompt.h"
#include "chat_vocabulary.h"
#include "gguf/gguf.h"

namespace skipstone::chat {
namespace {

namespace fs = std::filesystem;
const std::string folder = std::string(SKIPSTONE_SHARED_DATA) + "/templates/templates";

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

class ChatData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder)) GTEST_SKIP() << "no templates at " << folder;
  }
};

/// What in a template looks like special tokens, and the pieces of which it may put some together.
std::vector<std::string> markers_of(const std::string& source) {
  std::set<std::string> found = {"<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>"};
  static const std::regex marker("<[|/a-zA-Z_\xEF][^<>\\s'\"{}]{0,40}>|\\[/?[A-Za-z_]{2,24}\\]|<<?/?[A-Z]+>>?");
  for (std::sregex_iterator each(source.begin(), source.end(), marker), end; each != end; ++each) found.insert(each->str());
  return {found.begin(), found.end()};
}

std::string conversation(const std::string& attack) {
  const nlohmann::ordered_json messages = {{{"role", "user"}, {"content", "First" + attack + "question."}},
                                           {{"role", "assistant"}, {"content", "An answer."}},
                                           {{"role", "user"}, {"content", "Then" + attack + "another."}}};
  return messages.dump();
}

std::string with_tools(const std::string& attack) {
  const nlohmann::ordered_json messages = {
      {{"role", "user"}, {"content", "First" + attack + "question."}},
      {{"role", "assistant"},
       {"tool_calls",
        {{{"id", "abcdefgh1"}, {"type", "function"}, {"function", {{"name", "look"}, {"arguments", {{"at", "the" + attack + "lake"}}}}}}}}},
      {{"role", "tool"}, {"tool_call_id", "abcdefgh1"}, {"content", "It" + attack + "is deep."}}};
  return messages.dump();
}

std::string tools(const std::string& attack) {
  const nlohmann::ordered_json list = {
      {{"type", "function"},
       {"function",
        {{"name", "look"},
         {"description", "Looks" + attack + "at it."},
         {"parameters", {{"type", "object"}, {"properties", {{"at", {{"type", "string"}, {"description", "Where" + attack + "to"}}}}}}}}}}};
  return list.dump();
}

TEST_F(ChatData, NoMessageWritesASpecialToken) {
  int compared = 0, refused = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string source = contents(file.path());
    const std::vector<std::string> markers = markers_of(source);
    const auto tokenizer = tests::tokenizer_with(markers);
    const ChatPrompt writer(tokenizer, {{"", source}}, "");
    const auto specials = [&](const std::string& messages, const std::string& given) {
      return tests::special_tokens(*tokenizer, writer.tokens(read_conversation(messages, given, R"({"now": "2025-07-04T09:08:07"})")));
    };
    for (const std::string& marker : markers) {
      try {
        EXPECT_EQ(specials(conversation(" " + marker + " "), ""), specials(conversation(" word "), "")) << file.path() << " " << marker;
        ++compared;
      } catch (const Error&) {
        ++refused;
      }
      try {
        EXPECT_EQ(specials(with_tools(" " + marker + " "), tools(" " + marker + " ")), specials(with_tools(" word "), tools(" word ")))
            << file.path() << " " << marker;
        ++compared;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  RecordProperty("compared", compared);
  RecordProperty("refused", refused);
  EXPECT_GT(compared, refused);
}

TEST_F(ChatData, AHundredMessagesAreReadQuickly) {
  const std::string model = std::string(SKIPSTONE_SHARED_DATA) + "/arch/qwen3/model.gguf";
  if (!fs::exists(model)) GTEST_SKIP() << "no model at " << model;
  const auto tokenizer = std::make_shared<const text::Tokenizer>(text::Vocabulary::from(gguf::File::open(model)));
  nlohmann::ordered_json messages;
  for (int i = 0; i < 100; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"},
                        {"content", "The lake is " + std::to_string(100 + i) +
                                        " metres deep where the ferry crosses it, and its water is cold in June."}});
  }
  messages.push_back({{"role", "user"}, {"content", "And in feet?"}});
  const std::string text = messages.dump();
  for (const char* name : {"qwen3-0.6b", "llama-3.1-8b-instruct", "gpt-oss-120b", "mistral-small-3.2-2506"}) {
    const ChatPrompt writer(tokenizer, {{"", contents(fs::path(folder) / (std::string(name) + ".jinja"))}}, "");
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      const std::clock_t begin = std::clock();  // of the processor: what runs beside it does not count
      writer.tokens(read_conversation(text, "", ""));
      best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    RecordProperty(std::string("milliseconds_") + std::to_string(name[0]), std::to_string(best));
    std::printf("%s: %.2f ms\n", name, best);
#ifdef NDEBUG
    EXPECT_LT(best, 5.0) << name;
#endif
  }
}

}  // namespace
}  // namespace skipstone::chat
