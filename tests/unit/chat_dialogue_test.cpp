// The terminal part of `skipstone chat`, with an answerer of the test's own: through scripted lines, pipes and a pseudo terminal.
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <sstream>

#include "base/status.h"
#include "chat/conversation.h"
#include "chat/dialogue.h"
#include "chat/terminal_text.h"
#include "echo_answerer.h"
#include "fixtures/temporary_directory.h"
#include "skipstone/skipstone.hpp"
#include "terminal/exit_code.h"

namespace cli::chat {
namespace {

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

}  // namespace
}  // namespace cli::chat
