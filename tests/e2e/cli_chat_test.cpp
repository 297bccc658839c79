// skipstone chat and run --chat: the real program through pipes, with the bundled base model.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

const std::string bundled = SKIPSTONE_MODELS "/skipstone-py.gguf";

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

class CliChat : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(bundled)) GTEST_SKIP() << "no bundled model";
  }

  std::vector<std::string> chat(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"chat", "-m", bundled};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const fixtures::TemporaryDirectory folder_;
};

TEST_F(CliChat, LinesThroughAPipe) {
  const Result result = run(Command{chat({"-n", "12"}), "def f(\n/nothing\na\\\nb\n\n/stats\n/copy\n/quit\nnever\n"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ((result.out + result.error).find('\033'), std::string::npos) << result.out << result.error;
  EXPECT_EQ(result.out.find("> "), 0u + std::string::npos) << "no prompt";
  EXPECT_EQ(occurrences(result.error, "tokens a round"), 2u) << "a line for each answer: " << result.error;
  EXPECT_EQ(occurrences(result.error, "base model"), 1u) << result.error;
  EXPECT_NE(result.error.find("there is no /nothing"), std::string::npos);
}

TEST_F(CliChat, TheSecondTurnReadsWhatIsNewAndSaysWhatAFreshSessionSays) {
  const std::string file = folder_.file("talk.json");
  const Result first = run(Command{chat({"-n", "16", "--temp", "0"}), "def add(a, b):\nclass Stack:\n/save " + file + "\n"});
  ASSERT_EQ(first.code, 0) << first.error;
  const auto read = [](const std::string& error, std::size_t from) { return std::stoul(error.substr(error.find("read ", from) + 5)); };
  const std::size_t behind_first = first.error.find("read ") + 5;
  const unsigned long second_read = read(first.error, behind_first);
  const Result fresh = run(Command{chat({"-n", "16", "--temp", "0"}), "/load " + file + "\n/retry\n"});
  ASSERT_EQ(fresh.code, 0) << fresh.error;
  EXPECT_LT(second_read + 10, read(fresh.error, 0)) << "the first turn and its answer were not read again";
  const auto last_line = [](const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); };
  EXPECT_EQ(last_line(fresh.out), last_line(first.out));
}

TEST_F(CliChat, OneTurnInScripts) {
  const Result text = run(Command{{"run", "-m", bundled, "--chat", "-f", "-", "-n", "12"}, "def f(\n"});
  EXPECT_EQ(text.code, 0) << text.error;
  EXPECT_EQ(text.out.find("def f("), std::string::npos) << "the message is not repeated: " << text.out;
  EXPECT_NE(text.error.find("base model"), std::string::npos);
  const Result object = run({"run", "-m", bundled, "--chat", "-p", "def f(", "-n", "12", "--json"});
  ASSERT_EQ(object.code, 0) << object.error;
  EXPECT_EQ(json::parse(object.out)["message"]["content"].get<std::string>() + "\n", text.out);
  EXPECT_EQ(run({"run", "-m", bundled, "--system", "x", "-p", "y"}).code, 2);
  EXPECT_EQ(run({"run", "-m", bundled, "--chat", "--chat-template", "{{ raise_exception('no') }}", "-p", "y"}).code, 2);
}

TEST_F(CliChat, StopTexts) {
  const std::string whole = json::parse(run({"run", "-m", bundled, "-p", "def add(a, b):\n", "-n", "24", "--json"}).out)["text"];
  ASSERT_GT(whole.size(), 12u);
  for (const std::size_t at : {std::size_t{1}, whole.size() / 2}) {
    const std::string stop = whole.substr(at, 3);
    const json result = json::parse(
        run({"run", "-m", bundled, "-p", "def add(a, b):\n", "-n", "24", "--json", "--stop", "never comes", "--stop", stop}).out);
    EXPECT_EQ(result["text"], whole.substr(0, whole.find(stop)));
    EXPECT_EQ(result["stop_reason"], "stop_string");
  }
}

}  // namespace
}  // namespace skipstone::e2e
