// The terminal part of `skipstone chat`, with an answerer of the test's own: through scripted lines, pipes and a pseudo terminal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/status.h"
#include "chat/clipboard.h"
#include "chat/conversation_file.h"
#include "chat/dialogue.h"
#include "chat/text_line.h"
#include "exit_code.h"
#include "fixtures/pseudo_terminal.h"
#include "fixtures/temporary_directory.h"
#include "interrupt.h"
#include "skipstone/skipstone.hpp"

namespace cli::chat {
namespace {

using skipstone::fixtures::PseudoTerminal;

/// Says the last message back, in capitals; messages of the test's own say what else is to happen.
class Echo : public Answerer {
 public:
  Turn answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) override {
    const std::string& said = conversation.messages().back().content;
    if (said == "fail") throw skipstone::error(SKIPSTONE_INVALID_ARGUMENT, "the template raises: no");
    Turn turn{.tokens = 4, .read_tokens = 7, .rounds = 2, .seconds = 0.5, .drafter = drafter_};
    if (said == "think") on_piece({.kind = Piece::Kind::reasoning, .text = "Hm."});
    if (said == "call") {
      on_piece({.kind = Piece::Kind::call_begin, .text = "ping", .id = "c1"});
      on_piece({.kind = Piece::Kind::call_arguments, .text = "{}"});
      on_piece({.kind = Piece::Kind::call_end});
      return turn;
    }
    std::string answer = conversation.system() + "<" + said + ">";
    for (char& c : answer) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    on_piece({.kind = Piece::Kind::text, .text = answer});
    on_piece({.kind = Piece::Kind::text, .text = " " + std::to_string(seed_), .drafted = true});
    for (int i = 0; said == "long" && i < 2000; ++i) {
      if (interrupt::requested()) {
        turn.interrupted = true;
        break;
      }
      on_piece({.kind = Piece::Kind::text, .text = "."});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return turn;
  }

  std::size_t count(const Conversation& conversation) override {
    std::size_t bytes = 0;
    for (const Message& message : conversation.messages()) bytes += message.content.size() + 1;
    return bytes;
  }
  std::size_t context() const override { return context_; }
  std::string model_name() const override { return "echo"; }
  std::string drafter() const override { return drafter_; }
  void set_drafter(const std::string& specification) override {
    if (specification == "bad") throw skipstone::error(SKIPSTONE_INVALID_ARGUMENT, "there is no drafter 'bad'");
    drafter_ = specification;
  }
  bool reseed() override { return ++seed_ > 0; }
  std::string statistics() const override { return "rounds 2\n"; }

  std::size_t context_ = 1000;

 private:
  std::string drafter_ = "asd";
  int seed_ = 0;
};

class Script : public LineInput {
 public:
  explicit Script(std::deque<Line> lines) : lines_(std::move(lines)) {}
  Line read(const std::string&) override {
    if (lines_.empty()) return {};
    Line line = lines_.front();
    lines_.pop_front();
    return line;
  }
  void remember(const std::string& message) override { remembered.push_back(message); }

  std::vector<std::string> remembered;

 private:
  std::deque<Line> lines_;
};

struct Said {
  std::string out, error;
  Conversation conversation;
  std::vector<std::string> remembered;
};

Said play(std::deque<Line> lines, Echo echo = {}) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Script script(std::move(lines));
  Said said;
  {
    Screen screen("auto");
    Dialogue dialogue(echo, script, screen);
    dialogue.run();
    said.conversation = dialogue.conversation();
  }
  said.out = testing::internal::GetCapturedStdout();
  said.error = testing::internal::GetCapturedStderr();
  said.remembered = script.remembered;
  return said;
}

Said play(const std::vector<std::string>& lines, Echo echo = {}) {
  std::deque<Line> all;
  for (const std::string& line : lines) all.push_back({.kind = Line::Kind::text, .text = line});
  return play(std::move(all), std::move(echo));
}

TEST(ChatDialogue, TurnsAndTheirStatusLine) {
  const Said said = play(std::vector<std::string>{"one", "", "two"});
  EXPECT_EQ(said.out, "<ONE> 0\n<TWO> 0\n") << "no prompts and no escape sequences in a pipe";
  EXPECT_EQ(
      said.error,
      "[4 tokens · 8.0 tokens/s · 2.00 tokens a round · asd · read 7]\n[4 tokens · 8.0 tokens/s · 2.00 tokens a round · asd · read 7]\n");
  EXPECT_EQ(said.conversation.messages().size(), 4u);
  EXPECT_EQ(said.remembered, (std::vector<std::string>{"one", "two"}));
}

TEST(ChatDialogue, LinesThatGoOn) {
  const Said said = play(std::vector<std::string>{"a\\", "b", "c\\\\", "//d"});
  EXPECT_EQ(said.conversation.messages()[0].content, "a\nb");
  EXPECT_EQ(said.conversation.messages()[2].content, "c\\");
  EXPECT_EQ(said.conversation.messages()[4].content, "/d");
}

TEST(ChatDialogue, UndoRetrySystemAndUnknownCommands) {
  const Said said = play(std::vector<std::string>{"one", "two", "/undo", "/system Be", "/retry", "/nothing", "/system -", "/draft suffix",
                                                  "/draft bad", "/stats", "/help"});
  ASSERT_EQ(said.conversation.messages().size(), 2u);
  EXPECT_EQ(said.conversation.messages()[1].content, "BE<ONE> 1") << "another seed";
  EXPECT_EQ(said.conversation.system(), "");
  for (const char* expected :
       {"taken back: two", "there is no /nothing", "drafter: suffix", "error: there is no drafter 'bad'", "rounds 2", "/copy"}) {
    EXPECT_NE(said.error.find(expected), std::string::npos) << expected << "\n" << said.error;
  }
}

TEST(ChatDialogue, ReasoningAndCallsAreShownAsWhatTheyAre) {
  const Said said = play(std::vector<std::string>{"think", "call"});
  EXPECT_EQ(said.out, "[reasoning] Hm.\n<THINK> 0\n[call ping({})]\n");
  EXPECT_EQ(said.conversation.messages()[1].reasoning, "Hm.");
  ASSERT_EQ(said.conversation.messages()[3].calls.size(), 1u);
  EXPECT_EQ(said.conversation.messages()[3].calls[0].arguments, "{}");
}

TEST(ChatDialogue, AMessageThatCannotBeAnsweredIsKeptForRetry) {
  Said said = play(std::vector<std::string>{"fail", "ok"});
  EXPECT_NE(said.error.find("error: the template raises: no"), std::string::npos);
  EXPECT_EQ(said.conversation.messages().size(), 2u);
  Echo small;
  small.context_ = 24;
  said = play({"first", "second message", "/drop", "/retry"}, small);
  EXPECT_NE(said.error.find("the context is full: the conversation has 31 tokens and 24 fit"), std::string::npos) << said.error;
  EXPECT_NE(said.error.find("/drop 1 forgets the first exchange: 16 tokens of room"), std::string::npos) << said.error;
  ASSERT_EQ(said.conversation.messages().size(), 2u);
  EXPECT_EQ(said.conversation.messages()[0].content, "second message");
}

TEST(ChatDialogue, InterruptsAtThePrompt) {
  const Line interrupt{.kind = Line::Kind::interrupt, .was_empty = true}, typed{.kind = Line::Kind::interrupt, .was_empty = false};
  const Line text{.kind = Line::Kind::text, .text = "x"};
  const Said said = play(std::deque<Line>{interrupt, text, typed, interrupt, interrupt, text});
  EXPECT_EQ(said.conversation.messages().size(), 2u) << "the last line is not read any more";
  EXPECT_NE(said.error.find("Ctrl-C again or Ctrl-D ends"), std::string::npos);
}

TEST(ChatDialogue, SavesAndLoads) {
  const skipstone::fixtures::TemporaryDirectory folder;
  const std::string path = folder.file("talk.json");
  play(std::vector<std::string>{"/system S", "one", "call", "/save " + path});
  const Said said = play(std::vector<std::string>{"/load " + path, "three", "/load " + folder.file("none"), "/save"});
  EXPECT_EQ(said.conversation.system(), "S");
  ASSERT_EQ(said.conversation.messages().size(), 6u);
  EXPECT_EQ(said.conversation.messages()[3].calls[0].name, "ping");
  EXPECT_NE(said.out.find("> one\nS<ONE> 0\n"), std::string::npos) << said.out;
  EXPECT_NE(said.error.find("cannot be opened"), std::string::npos);
  for (const char* bad : {"[1]", "{}", "{\"messages\": 3}", "[{\"role\": \"king\"}]", "[{\"role\": \"user\", \"content\": [1]}]", "not",
                          "[{\"role\": \"assistant\", \"tool_calls\": [{}]}]",
                          "[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"system\", \"content\": \"b\"}]"}) {
    std::ofstream(path) << bad;
    EXPECT_THROW(load_conversation(path), skipstone::Error) << bad;
  }
}

TEST(ChatDialogue, Clipboard) {
  EXPECT_EQ(copy_sequence("Man"), "\033]52;c;TWFu\a");
  EXPECT_EQ(copy_sequence("Ma"), "\033]52;c;TWE=\a");
  EXPECT_EQ(copy_sequence("M"), "\033]52;c;TQ==\a");
  EXPECT_EQ(copy_sequence(""), "\033]52;c;\a");
  EXPECT_NE(play(std::vector<std::string>{"one", "/copy"}).error.find("no terminal"), std::string::npos);
}

TEST(ChatDialogue, PastedText) { EXPECT_EQ(pasted_text("a\r\nb\rc\nd\x1b[31m\te\x7f"), "a\nb\nc\nd[31m\te"); }

// ---- under a pseudo terminal ----

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
