// Texts fit their grammar, and are the same with every drafter: greedy and sampled, over turns, alone and in company.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "fixtures/failure.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "grammar/answer.h"
#include "grammar/grammar.h"
#include "grammar/notations.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t context = 512;

const char* const drafters[] = {"grammar",        "grammar:k=3",
                                "suffix",         "lookup:k=7",
                                "jacobi:k=3",     "lookahead:w=4,n=3,g=2",
                                "ngram:k=5,w=4",  "recycle:n=15",
                                "exit:2,k=4",     "asd:c=0.9,m=1,gamma=0,k=4",
                                "grammar+suffix", "grammar+exit:1,k=3",
                                "window:2,9,k=4", "auto"};

std::shared_ptr<grammar::Grammar> make(grammar::Syntax syntax) {
  return std::make_shared<grammar::Grammar>(grammar::Automaton::make(std::move(syntax)));
}
std::shared_ptr<grammar::Grammar> schema(const std::string& text) {
  return make(grammar::schema::parse_schema(text, grammar::Form::writing));
}

std::string random_schema(std::mt19937& random, int depth) {
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  switch (below(depth > 0 ? 8 : 6)) {
    case 0:
      return R"({"type": "integer", "minimum": )" + std::to_string(below(50)) + R"(, "maximum": )" + std::to_string(50 + below(1000)) + "}";
    case 1:
      return R"({"enum": ["north", "northern", 7, null, "south )" + std::to_string(below(100)) + R"("]})";
    case 2:
      return R"({"type": "string", "maxLength": )" + std::to_string(1 + below(8)) + "}";
    case 3:
      return R"({"type": "boolean"})";
    case 4:
      return R"({"type": "string", "pattern": "^[a-c]{2,4}-\\d+$", "maxLength": 12})";
    case 5:
      return R"({"const": {"state": "this is certain", "list": [1, 2, 3]}})";
    case 6:
      return R"({"type": "array", "maxItems": )" + std::to_string(1 + below(3)) + R"(, "items": )" + random_schema(random, depth - 1) + "}";
    default: {
      std::string properties, required;
      const unsigned members = 1 + below(4);
      for (unsigned i = 0; i < members; ++i) {
        const std::string name = "\"field " + std::to_string(i) + "\"";
        properties += (i > 0 ? ", " : "") + name + ": " + random_schema(random, depth - 1);
        if (below(2) == 0) required += (required.empty() ? "" : ", ") + name;
      }
      return R"({"type": "object", "additionalProperties": false, "properties": {)" + properties + R"(}, "required": [)" + required + "]}";
    }
  }
}

class GrammarTexts : public testing::Test {
 protected:
  void load(const std::string& path) {
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = path;
    options.context = context;
    engine_ = Engine::load(options);
  }
  void load_tiny() {
    fixtures::TinyConfig config;
    config.layers = 5;
    config.context = context;
    fixtures::write_tiny_model(config, directory_.file("tiny.gguf"));
    load(directory_.file("tiny.gguf"));
  }

  SessionOptions options(std::shared_ptr<grammar::Grammar> grammar, const std::string& draft, std::uint64_t seed = 0) const {
    SessionOptions options;
    options.grammar = std::move(grammar);
    options.draft = draft;
    options.sampling.seed = seed;
    options.sampling.temperature = seed == 0 ? 0.0f : 0.7f;
    options.sampling.repeat_penalty = seed % 3 == 1 ? 1.2f : 1.0f;
    return options;
  }
  std::vector<Token> tokens(const std::string& text) const { return engine_->tokenizer().encode(text, true, false); }

  struct Text {
    std::string text;
    speculation::Outcome outcome;
  };
  Text continued(Session& session, const std::string& prompt, std::uint32_t most) const {
    Text result;
    result.outcome = session.generate(prompt.empty() ? std::vector<Token>() : tokens(prompt), most, {});
    for (const Token token : result.outcome.tokens) result.text += engine_->tokenizer().piece(token);
    return result;
  }
  Text text(const SessionOptions& options, std::uint32_t most = 48) const {
    Session session(engine_, options);
    return continued(session, "Answer: ", most);
  }
  /// A text that ended fits, one that was cut is the beginning of one that does.
  static void expect_fitting(const grammar::Grammar& grammar, const Text& text) {
    grammar::State state = grammar.automaton().start();
    EXPECT_EQ(state.read(text.text), text.text.size()) << text.text;
    EXPECT_TRUE(text.outcome.stop != speculation::StopReason::end_token || state.accepts()) << text.text;
  }
  void expect_same_texts(const std::shared_ptr<grammar::Grammar>& grammar, std::uint64_t seed, const std::string& what) {
    const Text plain = text(options(grammar, "none", seed), 96);
    expect_fitting(*grammar, plain);
    ended_ += plain.outcome.stop == speculation::StopReason::end_token ? 1 : 0;
    for (const char* draft : drafters) {
      const Text drafted = text(options(grammar, draft, seed), 96);
      EXPECT_EQ(drafted.outcome.tokens, plain.outcome.tokens) << draft << ", seed " << seed << ", " << what << "\n"
                                                              << drafted.text << "\n"
                                                              << plain.text;
      EXPECT_EQ(drafted.outcome.stop, plain.outcome.stop) << draft << ", " << what;
      accepted_ += drafted.outcome.stats.accepted;
    }
  }

  fixtures::TemporaryDirectory directory_;
  std::shared_ptr<Engine> engine_;
  std::uint64_t accepted_ = 0, ended_ = 0;
};

TEST_F(GrammarTexts, AreTheSameWithEveryDrafter) {
  load_tiny();
  std::mt19937 random(7);
  const int schemas = fixtures::full_sweep() ? 120 : fixtures::slow_device() ? 2 : 6;
  for (int i = 0; i < schemas; ++i) {
    const std::string text = random_schema(random, 3);
    expect_same_texts(schema(text), static_cast<std::uint64_t>(i % 2 == 0 ? 0 : i), text);
  }
  expect_same_texts(make(grammar::parse_regex("(yes|no), (because|although) [a-z ]{5,20}\\.")), 0, "a regular expression");
  expect_same_texts(make(grammar::parse_gbnf("root ::= (\"- \" [^\\n]{1,9} \"\\n\"){2,3} \"the end\"")), 5, "GBNF");
  EXPECT_GT(accepted_, 0u);
  EXPECT_GT(ended_, 0u);
  EXPECT_EQ(engine_->validation_messages(), 0u);
}

TEST_F(GrammarTexts, OfABundledModel) {
  load(SKIPSTONE_MODELS "/skipstone-py.gguf");
  const auto object = schema(R"({"type": "object", "additionalProperties": false, "required": ["function name", "arguments", "returns"],
                                 "properties": {"function name": {"type": "string", "maxLength": 10},
                                                "arguments": {"type": "array", "items": {"enum": ["self", "value", "index"]}, "maxItems": 2},
                                                "returns": {"type": "boolean"}}})");
  expect_same_texts(object, 0, "greedy");
  if (!fixtures::slow_device()) expect_same_texts(object, 3, "sampled");
  EXPECT_GT(ended_, 0u);
  // Where the schema leaves no choice, the drafter's tokens are accepted.
  const Text drafted = text(options(object, "grammar"));
  EXPECT_GT(drafted.outcome.stats.accepted, 8u);
  EXPECT_LT(drafted.outcome.stats.rounds, text(options(object, "none")).outcome.stats.rounds);
}

TEST_F(GrammarTexts, BeginWhereTheReasoningEnds) {
  load_tiny();
  const grammar::Syntax number = grammar::parse_regex("[0-9]{3}-[0-9]{3}");
  std::mt19937 random(3);
  const int cuts = fixtures::full_sweep() ? 100 : fixtures::slow_device() ? 4 : 20;
  std::uint64_t reasoned = 0;
  for (int i = 0; i < cuts; ++i) {
    // Letters occur anywhere in a text of random weights, so the reasoning ends within drafts too.
    const std::string close(1, static_cast<char>('a' + random() % 26));
    const auto answer = make(grammar::answer_syntax(number, {.reasoning = {{"", close}}, .begun = true}));
    const auto seed = static_cast<std::uint64_t>(i + 1);
    const Text plain = text(options(answer, "none", seed), 80);
    expect_fitting(*answer, plain);
    reasoned += plain.text.find(close) != std::string::npos && plain.outcome.tokens.size() > 10 ? 1 : 0;
    for (const char* draft : {"suffix", "exit:2,k=5", "grammar+ngram:k=5,w=4", "auto"})
      EXPECT_EQ(text(options(answer, draft, seed), 80).outcome.tokens, plain.outcome.tokens)
          << draft << ", " << close << ", " << plain.text;
  }
  EXPECT_GT(reasoned, 0u);
}

TEST_F(GrammarTexts, EndWithTheGrammar) {
  load_tiny();
  const Text constant = text(options(make(grammar::parse_regex("certainly")), "grammar"));
  EXPECT_EQ(constant.text, "certainly");
  EXPECT_EQ(constant.outcome.stop, speculation::StopReason::end_token);
  const Text cut = text(options(make(grammar::parse_regex("certainly")), "grammar"), 2);
  EXPECT_EQ(cut.outcome.tokens.size(), 2u);
  EXPECT_EQ(cut.outcome.stop, speculation::StopReason::max_tokens);
}

TEST_F(GrammarTexts, EachContinuationFitsAndMayBeResumed) {
  load_tiny();
  const auto list = make(grammar::parse_regex("\\[[0-9]{3}(, [0-9]{3}){3}\\]"));
  for (const char* draft : {"none", "grammar+suffix", "auto"}) {
    Session whole(engine_, options(list, draft, 4)), parts(engine_, options(list, draft, 4));
    const Text first = continued(whole, "Numbers: ", 60);
    EXPECT_EQ(first.outcome.stop, speculation::StopReason::end_token) << first.text;
    EXPECT_EQ(first.text.size(), 20u);
    std::string joined = continued(parts, "Numbers: ", 5).text;
    while (joined.size() < 20) joined += continued(parts, "", 3).text;
    EXPECT_EQ(joined, first.text) << draft;
    const Text second = continued(whole, " More: ", 60);  // begins anew
    expect_fitting(*list, second);
    EXPECT_EQ(second.text.size(), 20u);
    const std::unique_ptr<Session> copy = parts.fork();
    copy->rewind(2);
    const Text again = continued(*copy, "", 60);
    EXPECT_TRUE(first.text.ends_with(again.text)) << again.text;
  }
}

TEST_F(GrammarTexts, ContinueWhereTheirLastPromptEnded) {
  load_tiny();
  const auto list = make(grammar::parse_regex("\\[[0-9]{3}(, [0-9]{3}){3}\\]"));
  Session session(engine_, options(list, "grammar", 4));
  const Text first = continued(session, "Numbers: ", 6);
  const std::size_t length = session.length();
  continued(session, " More: ", 60);
  session.rewind(session.length() - length);
  const Text rest = continued(session, "", 60);
  grammar::State state = list->automaton().start();
  EXPECT_TRUE(state.advance(first.text + rest.text) && state.accepts()) << first.text << rest.text;

  Session other(engine_, options(nullptr, "none"));
  continued(other, "Numbers: ", 12);
  session.copy_from(other);
  try {
    continued(session, "", 4);
    ADD_FAILURE() << "a text that does not fit was continued";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("does not fit the grammar"), std::string::npos) << error.what();
  }
  const Text anew = continued(session, " Numbers: ", 60);
  expect_fitting(*list, anew);
  EXPECT_EQ(anew.text.size(), 20u);
}

TEST_F(GrammarTexts, AcceptedByRejectionFitToo) {
  load_tiny();
  const auto list = make(grammar::parse_regex("[a-f]{3}(-[a-f]{3}){2,5}\\."));
  for (const char* draft : {"none", "exit:2,k=4", "grammar+suffix", "auto"}) {
    SessionOptions rejecting = options(list, draft, 6);
    rejecting.verification = sample::Verification::rejection;
    const Text text_of = text(rejecting, 60);
    expect_fitting(*list, text_of);
    EXPECT_EQ(text_of.outcome.stop, speculation::StopReason::end_token) << text_of.text;
  }
}

TEST_F(GrammarTexts, InCompany) {
  load_tiny();
  std::mt19937 random(11);
  std::vector<std::shared_ptr<grammar::Grammar>> grammars;
  for (int i = 0; i < 8; ++i) grammars.push_back(i % 4 == 3 ? nullptr : schema(random_schema(random, 2)));
  const auto text_of = [&](std::size_t i) {
    return text(options(grammars[i], i % 2 == 0 ? "auto" : "grammar+suffix", i), 32).outcome.tokens;
  };
  std::vector<std::vector<Token>> alone, together(grammars.size());
  for (std::size_t i = 0; i < grammars.size(); ++i) {
    SessionOptions plain = options(grammars[i], i % 2 == 0 || grammars[i] != nullptr ? "none" : "suffix", i);
    alone.push_back(text(plain, 32).outcome.tokens);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < grammars.size(); ++i) {
    threads.emplace_back(
        [&, i] { together[i] = grammars[i] == nullptr ? text(options(nullptr, "suffix", i), 32).outcome.tokens : text_of(i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < grammars.size(); ++i) EXPECT_EQ(together[i], alone[i]) << i;
}

TEST_F(GrammarTexts, WhatDoesNotGoTogether) {
  load_tiny();
  const auto grammar = make(grammar::parse_regex("a|b"));
  const auto refusal = [&](SessionOptions given) {
    try {
      Session session(engine_, given);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SessionOptions ends = options(grammar, "none");
  ends.ignore_end = true;
  EXPECT_NE(refusal(ends).find("does not go with ends that are ignored"), std::string::npos);
  SessionOptions rule = options(grammar, "none");
  rule.sampling.rule = [](std::span<const float>, std::span<const Token>) { return Token{0}; };
  EXPECT_NE(refusal(rule).find("does not go with a sampler of the caller's"), std::string::npos);
  EXPECT_NE(refusal(options(nullptr, "grammar")).find("the text has no grammar"), std::string::npos);
  EXPECT_EQ(refusal(options(nullptr, "auto")), "");
}

}  // namespace
}  // namespace skipstone::engine
