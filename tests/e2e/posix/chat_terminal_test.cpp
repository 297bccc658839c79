// skipstone chat: the real program under a pseudo terminal, with the bundled base model.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fixtures/pseudo_terminal.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"

namespace skipstone::e2e {
namespace {

using fixtures::PseudoTerminal;
using nlohmann::json;

const std::string bundled_model = SKIPSTONE_MODELS "/skipstone-py.gguf";

class CliChatTerminal : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(bundled_model)) GTEST_SKIP() << "no bundled model";
  }

  /// In the terminal's process.
  int start(const std::vector<std::string>& arguments) const {
    fixtures::set_variable("TERM", "xterm-256color");
    fixtures::set_variable("HOME", folder_.path().string());
    fixtures::set_variable("SKIPSTONE_CACHE", folder_.file("cache"));
    fixtures::unset_variable("NO_COLOR");
    std::vector<char*> raw = {const_cast<char*>(SKIPSTONE_PROGRAM)};
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    execv(SKIPSTONE_PROGRAM, raw.data());
    return 99;
  }

  const fixtures::TemporaryDirectory folder_;
};

TEST_F(CliChatTerminal, ASession) {
  PseudoTerminal terminal([&] { return start({"chat", "-m", bundled_model, "--ctx", "2048", "-n", "300", "--draft", "suffix"}); });
  const auto prompt = [&] { return terminal.wait_for("\033[?2004h> ", 60); };
  const auto wait = [&](const char* text) { return terminal.wait_for(text, 60); };
  const char* const accepted = "\033[0;32m";
  ASSERT_TRUE(prompt()) << terminal.seen();
  terminal.type("def add(a, b):\r");
  ASSERT_TRUE(wait("\033[?2004l")) << terminal.seen();
  ASSERT_TRUE(wait("tokens/s")) << terminal.text();
  ASSERT_TRUE(prompt()) << terminal.text();
  // The second answer is stopped and kept; so is the one that /retry gives in its place.
  terminal.type(
      "x = [1, 2, 3] # gr\xc3\xbc\xc3\x9f"
      "e \xe2\x82\xac\r");
  ASSERT_TRUE(
      wait("gr\xc3\xbc\xc3\x9f"
           "e \xe2\x82\xac"))
      << terminal.text();
  for (const bool again : {false, true}) {
    if (again) terminal.type("/retry\r");
    ASSERT_TRUE(wait(accepted)) << terminal.text();
    terminal.type("\x03");
    ASSERT_TRUE(wait("stopped]")) << terminal.text();
    ASSERT_TRUE(prompt()) << terminal.text();
  }
  terminal.resize(40, 12);
  terminal.type("\033[200~y = [\r  1,\r]\033[201~\r");
  ASSERT_TRUE(wait(accepted)) << terminal.text();
  terminal.type("\x03");
  ASSERT_TRUE(prompt()) << terminal.text();
  terminal.type("/save " + folder_.file("talk.json") + "\r");
  ASSERT_TRUE(prompt()) << terminal.text();
  terminal.type("/undo\r");
  ASSERT_TRUE(prompt()) << terminal.text();
  terminal.type("/load " + folder_.file("talk.json") + "\r");
  ASSERT_TRUE(wait("message")) << terminal.text();
  ASSERT_TRUE(prompt()) << terminal.text();
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(30), 0) << terminal.text();
  const json saved = json::parse(fixtures::bytes_of(folder_.file("talk.json")));
  ASSERT_EQ(saved["messages"].size(), 6u) << saved.dump();
  EXPECT_EQ(saved["messages"][0]["content"], "def add(a, b):");
  EXPECT_EQ(saved["messages"][2]["content"],
            "x = [1, 2, 3] # gr\xc3\xbc\xc3\x9f"
            "e \xe2\x82\xac");
  EXPECT_FALSE(saved["messages"][3]["content"].get<std::string>().empty()) << "what was said before Ctrl-C stays";
  EXPECT_EQ(saved["messages"][4]["content"], "y = [\n  1,\n]");
  struct stat about {};
  ASSERT_EQ(stat(folder_.file("cache/chat-history").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace skipstone::e2e
