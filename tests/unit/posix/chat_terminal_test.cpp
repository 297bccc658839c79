// The terminal part of `skipstone chat` under a pseudo terminal.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "chat/dialogue.h"
#include "fixtures/pseudo_terminal.h"
#include "fixtures/temporary_directory.h"
#include "terminal/interrupt.h"
#include "unit/echo_answerer.h"

namespace cli::chat {
namespace {

using skipstone::fixtures::PseudoTerminal;

class ChatTerminal : public testing::Test {
 protected:
  int talk() {
    interrupt::install_for_conversation();
    setenv("TERM", "xterm-256color", 1);
    unsetenv("NO_COLOR");
    setenv("HOME", folder_.path().c_str(), 1);
    std::unique_ptr<LineInput> input = open_line_editor(folder_.file("cache/history"));
    if (input == nullptr) return 98;
    Echo echo;
    Screen screen("auto");
    Dialogue dialogue(echo, *input, screen);
    dialogue.run();
    return 0;
  }
  bool editor() {
    PseudoTerminal terminal([&] { return open_line_editor("") == nullptr ? 98 : 0; });
    return terminal.finish() == 0;
  }
  void SetUp() override {
    setenv("TERM", "xterm-256color", 1);
    if (!editor()) GTEST_SKIP() << "this build has no line editor";
  }
  const skipstone::fixtures::TemporaryDirectory folder_;
};

TEST_F(ChatTerminal, ASession) {
  PseudoTerminal terminal([&] { return talk(); });
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
  terminal.type("one\r");
  ASSERT_TRUE(terminal.wait_for("<ONE>\033[0;32m 0")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("tokens/s"));
  ASSERT_TRUE(terminal.wait_for("> "));
  // An answer that is stopped stays.
  terminal.type("long\r");
  ASSERT_TRUE(terminal.wait_for("....."));
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for("stopped")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  // UTF-8, edited: the last character goes.
  terminal.type(
      "gr\xc3\xbc\xc3\x9f"
      "e \xe2\x82\xac\x7f!\r");
  ASSERT_TRUE(
      terminal.wait_for("<GR\xc3\xbc\xc3\x9f"
                        "E !>"))
      << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  // Several pasted lines are one message.
  terminal.type("\033[200~first\rsecond\rthird\033[201~\r");
  ASSERT_TRUE(terminal.wait_for("<FIRST\r\nSECOND\r\nTHIRD>")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  // The history, after the window has changed.
  terminal.resize(40, 10);
  terminal.type("\033[A\033[A\r");
  ASSERT_TRUE(
      terminal.wait_for("<GR\xc3\xbc\xc3\x9f"
                        "E !>"))
      << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("/copy\r");
  ASSERT_TRUE(terminal.wait_for("\033]52;c;")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  // What was typed goes; then a hint, then the end.
  terminal.type("half");
  ASSERT_TRUE(terminal.wait_for("half"));
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for("Ctrl-C again or Ctrl-D ends")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 0) << terminal.seen();
}

TEST_F(ChatTerminal, HistoryIsKeptForItsOwnerAlone) {
  for (const bool second : {false, true}) {
    PseudoTerminal terminal([&] { return talk(); });
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type(second ? "\033[A\r" : "\033[200~remember\rme\033[201~\r");
    ASSERT_TRUE(terminal.wait_for("<REMEMBER\r\nME>")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("\x04");
    EXPECT_EQ(terminal.finish(), 0);
    struct stat about {};
    ASSERT_EQ(stat((folder_.file("cache/history")).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
  }
}

TEST_F(ChatTerminal, ATerminationEndsItAndNoColorIsRespected) {
  PseudoTerminal terminal([&] {
    interrupt::install_for_conversation();
    setenv("NO_COLOR", "1", 1);
    const std::unique_ptr<LineInput> input = open_line_editor("");
    Echo echo;
    Screen screen("auto");
    Dialogue(echo, *input, screen).run();
    return 7;
  });
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("one\r");
  ASSERT_TRUE(terminal.wait_for("<ONE> 0")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("> "));
  EXPECT_EQ(terminal.seen().find("\033[0;"), std::string::npos) << terminal.seen();
  terminal.signal(SIGTERM);
  EXPECT_EQ(terminal.finish(), 7) << terminal.seen();
}

}  // namespace
}  // namespace cli::chat
