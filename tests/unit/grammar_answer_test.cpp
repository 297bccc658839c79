// Answers of models that may reason before the text that fits a grammar.
#include <gtest/gtest.h>

#include <string>

#include "grammar/answer.h"
#include "grammar/automaton.h"
#include "grammar/notations.h"

namespace skipstone::grammar {
namespace {

class Answers {
 public:
  explicit Answers(const AnswerForm& form) : automaton_(Automaton::make(answer_syntax(parse_regex("yes|no"), form))) {}
  bool fit(const std::string& text) const {
    State state = automaton_->start();
    return state.advance(text) && state.accepts();
  }
  State after(const std::string& text) const {
    State state = automaton_->start();
    EXPECT_TRUE(state.advance(text)) << text;
    return state;
  }

 private:
  std::shared_ptr<const Automaton> automaton_;
};

const AnswerForm::Tags think = {"<think>", "</think>"};

TEST(GrammarAnswer, MayReasonFirst) {
  const Answers answers({.reasoning = {think}});
  EXPECT_TRUE(answers.fit("yes"));
  EXPECT_TRUE(answers.fit("<think></think>no"));
  EXPECT_TRUE(answers.fit("<think>It is <b>, no, </thin, </</think>\n\nyes"));
  EXPECT_TRUE(answers.fit("<think>\xC3\xA9\xE2\x82\xAC</think>yes"));
  EXPECT_FALSE(answers.fit("<think>yes"));
  EXPECT_FALSE(answers.fit("reasoning</think>yes"));
  EXPECT_FALSE(answers.fit("<think>a</think>b</think>yes"));  // it ends at its first closing tag
  EXPECT_FALSE(answers.fit("<think>a</think>yes."));
}

TEST(GrammarAnswer, ThatThePromptHasBegun) {
  const Answers answers({.reasoning = {think}, .begun = true});
  EXPECT_TRUE(answers.fit("a reason\n</think>\n\nyes"));
  EXPECT_FALSE(answers.fit("yes"));
  EXPECT_EQ(answers.after("a reason</think>\n\n\n\n").forced_bytes(8), "");
  EXPECT_EQ(answers.after("a reason</think>ye").forced_bytes(8), "s");
}

TEST(GrammarAnswer, HeadersAndTagsAroundTheText) {
  const AnswerForm harmony = {.reasoning = {{"<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"}},
                              .header = "<|channel|>final<|message|>"};
  const Answers channels(harmony);
  EXPECT_TRUE(channels.fit("<|channel|>final<|message|>no"));
  EXPECT_TRUE(channels.fit("<|channel|>analysis<|message|>well<|end|><|start|>assistant<|channel|>final<|message|>no"));
  EXPECT_FALSE(channels.fit("no"));
  EXPECT_EQ(channels.after("").forced_bytes(11), "<|channel|>");
  EXPECT_EQ(harmony.texts().size(), 3u);
  const Answers tagged({.content = {"<response>", "</response>"}});
  EXPECT_TRUE(tagged.fit("<response>yes</response>"));
  EXPECT_TRUE(tagged.fit("yes"));
}

TEST(GrammarAnswer, ControlTokensFitWhereTheyAreNamedAlone) {
  AnswerForm form = {.reasoning = {think}};
  form.spelled = {{"<think>", control_token_bytes("<think>")}, {"</think>", control_token_bytes("</think>")}};
  const Answers answers(form);
  EXPECT_TRUE(answers.fit("\xFF<think>well\xFF</think>yes"));
  EXPECT_TRUE(answers.fit("yes"));
  EXPECT_FALSE(answers.fit("<think>well</think>yes"));                  // written by ordinary tokens
  EXPECT_FALSE(answers.fit("\xFF<think>well</think>\xFF</think>yes"));  // which a parser would take for the end
  EXPECT_FALSE(answers.fit("\xFF<think>\xFF<think>\xFF</think>yes"));
  const auto free = Automaton::make(parse_regex(".*"));
  State state = free->start();
  EXPECT_FALSE(state.advance(control_token_bytes("</think>"))) << "in the text itself it does not fit";
}

TEST(GrammarAnswer, LongReasoningNeedsNoDeepStack) {
  const Answers answers({.reasoning = {think}, .begun = true});
  std::string reasoning;
  for (int i = 0; i < 20000; ++i) reasoning += "<t</";
  EXPECT_TRUE(answers.fit(reasoning + "</think>yes"));
}

}  // namespace
}  // namespace skipstone::grammar
