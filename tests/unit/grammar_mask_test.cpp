// Masks against brute force, states as values, forced bytes, and bounds.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "grammar/token_masks.h"
#include "grammar_fixture.h"

namespace skipstone::grammar {
namespace {

void expect_mask(TokenMasks& masks, const State& state, const std::vector<std::string>& pieces) {
  const auto mask = masks.mask(state);
  for (std::uint32_t token = 0; token < pieces.size(); ++token) {
    State copy = state;
    const bool wanted = token == end_token ? state.accepts() : !pieces[token].empty() && copy.advance(pieces[token]);
    ASSERT_EQ(((*mask)[token / 32] >> token % 32 & 1U) != 0, wanted) << "token " << token << " '" << pieces[token] << "'";
  }
}

const char* const extraction =
    R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
  "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}}, "kind": {"enum": ["person", "place", "pet"]}, "when": {"type": "string", "format": "date"},
  "more": {"type": "object", "properties": {"note": {"type": ["string", "null"]}}, "additionalProperties": {"type": "number"}}}, "required": ["name", "age", "kind"]})";

TEST(TokenMasks, AreWhatBruteForceFinds) {
  const std::vector<std::string> pieces = made_up_vocabulary(3000);
  const auto trie = std::make_shared<const TokenTrie>(pieces, std::vector<std::uint32_t>{end_token});
  std::vector<Syntax> grammars;
  grammars.push_back(schema::parse_schema(extraction, Form::writing));
  grammars.push_back(schema::parse_schema(extraction, Form::any));
  grammars.push_back(schema::any_object(Form::writing));
  grammars.push_back(schema::any_object(Form::any));
  grammars.push_back(parse_gbnf("root ::= (word | \"(\" root \")\")+\nword ::= [a-z é]+ | [a-c]* \"d\"?"));
  grammars.push_back(parse_regex("([a-z]{1,5} )*[A-Z]?\\.?"));
  grammars.push_back(schema::parse_schema(
      R"({"type": "array", "minItems": 40, "maxItems": 90, "items": {"type": "string", "minLength": 35, "maxLength": 150}})",
      Form::writing));
  grammars.push_back(parse_gbnf("root ::= ([a-c-]{0,40} [ -] \"-\"?){50} \"-\"{38,80}"));
  fuzz::Random random(42);
  for (Syntax& syntax : grammars) {
    const auto automaton = Automaton::make(std::move(syntax));
    TokenMasks masks(automaton, trie);
    State state = automaton->start();
    for (int step = 0; step < 25; ++step) {
      expect_mask(masks, state, pieces);
      if (HasFatalFailure()) return;
      // A random token of those that are allowed.
      const auto mask = masks.mask(state);
      std::vector<std::uint32_t> allowed;
      for (std::uint32_t token = 0; token < pieces.size(); ++token) {
        if (token != end_token && ((*mask)[token / 32] >> token % 32 & 1U) != 0) allowed.push_back(token);
      }
      if (allowed.empty()) {
        ASSERT_TRUE(state.accepts()) << "a dead end";
        state = automaton->start();
      } else {
        ASSERT_TRUE(state.advance(pieces[allowed[random.below(allowed.size())]]));
      }
    }
  }
}

TEST(TokenMasks, AllowNothingThatNestsTooDeeply) {
  std::vector<std::string> pieces(3);
  pieces.insert(pieces.end(), {"[", "[[", "[[[[", "[{\"", "{\"a\": [[[", "]", "]]]]", "], [[[", "1", "\"", ", "});
  const auto trie = std::make_shared<const TokenTrie>(pieces, std::vector<std::uint32_t>{end_token});
  for (const Form form : {Form::writing, Form::any}) {
    const auto automaton = Automaton::make(schema::any_object(form));
    TokenMasks masks(automaton, trie);
    State state = automaton->start();
    ASSERT_TRUE(state.advance("{\"a\": "));
    int depth = 0;
    for (State next = state; next.advance("["); ++depth) {
      // Here and there far from the limit, and everywhere near it.
      if (depth % 100 == 0 || depth > 1300) expect_mask(masks, state, pieces);
      if (HasFatalFailure()) return;
      state = next;
    }
    expect_mask(masks, state, pieces);
    EXPECT_GT(depth, 1300);
    EXPECT_LT(depth, 4096);
  }
}

TEST(State, IsAValue) {
  const auto automaton = Automaton::make(parse_gbnf("root ::= \"ab\" (\"c\" | \"d\")"));
  State state = automaton->start();
  EXPECT_EQ(state.forced_bytes(10), "ab");
  EXPECT_EQ(state.forced_bytes(1), "a");
  State copy = state;
  EXPECT_TRUE(copy.advance("abc"));
  EXPECT_TRUE(copy.accepts());
  EXPECT_FALSE(state.accepts());
  EXPECT_EQ(copy.forced_bytes(10), "");
  EXPECT_FALSE(copy.advance("x"));
  EXPECT_TRUE(copy.is_dead());
  EXPECT_FALSE(copy.advance("a"));
  EXPECT_TRUE(state.advance("abd"));
}

TEST(State, MovesToAFreshPoolWhereOneIsFull) {
  const auto automaton = Automaton::make(parse_gbnf("root ::= [a-z]{40000} | \"b\"{40001} \"z\""));
  State state = automaton->start(), early = state;
  for (int i = 0; i < 39'999; ++i) ASSERT_TRUE(state.advance("b"));
  EXPECT_FALSE(state.accepts());
  EXPECT_TRUE(state.advance("b"));
  EXPECT_TRUE(state.accepts());
  EXPECT_EQ(state.forced_bytes(5), "");
  EXPECT_TRUE(state.advance("bz"));
  EXPECT_TRUE(early.advance("q"));
}

TEST(State, MovesOnWithoutAnotherOwnerOfItsPool) {
  State state = Automaton::make(parse_gbnf("root ::= [a-z]{40000}"))->start();
  for (int i = 0; i < 40'000; ++i) ASSERT_TRUE(state.advance(static_cast<std::uint8_t>('a' + i % 26)));
  EXPECT_TRUE(state.accepts());
}

TEST(State, ReadsLongTextsAtOnce) {
  EXPECT_TRUE(fits_gbnf("root ::= [a-z]{150000}", std::string(150'000, 'q')));
  EXPECT_FALSE(fits_gbnf("root ::= [a-z]{150000}", std::string(149'999, 'q')));
  std::string items = "[0";
  for (int i = 1; i < 30'000; ++i) items += ", 0";
  EXPECT_TRUE(fits_schema(R"({"type": "array", "items": {"const": 0}, "maxItems": 50000})", items + "]", Form::writing));
  EXPECT_EQ(Automaton::make(parse_gbnf("root ::= \"b\"{120000} \"c\""))->start().forced_bytes(200'000), std::string(120'000, 'b') + "c");
}

TEST(StatePool, IsFullOfStatesWithManyStacks) {
  std::string part;
  for (int i = 0; i < 3900; ++i) part += " \"a\"?";
  const Syntax syntax = parse_gbnf("root ::=" + part + " \"-\"" + part);
  StatePool pool(std::make_shared<const Program>(syntax));
  StateId state = pool.start();
  EXPECT_FALSE(pool.is_full());
  for (const char byte : std::string(3900, 'a') + "-" + std::string(3900, 'a')) {
    pool.begin_work();
    state = pool.next(state, static_cast<std::uint8_t>(byte));
  }
  EXPECT_TRUE(pool.accepts(state));
  EXPECT_TRUE(pool.is_full());
}

TEST(State, FollowsOnlyWhatItCan) {
  // Each letter doubles the ways to read the text.
  const auto ambiguous = Automaton::make(parse_gbnf("root ::= x\nx ::= (\"a\" x \"b\"?){1,9} | \"a\" x | \"a\""));
  State state = ambiguous->start();
  const std::string sentence = refusal([&] {
    for (int i = 0; i < 100'000 && !state.is_dead(); ++i) state.advance("a");
  });
  EXPECT_TRUE(sentence.empty() || sentence.find("too ambiguous") != std::string::npos) << sentence;
}

TEST(TokenMasks, ServeThreads) {
  const std::vector<std::string> pieces = made_up_vocabulary(1000);
  const auto automaton = Automaton::make(schema::any_object(Form::writing));
  TokenMasks masks(automaton, std::make_shared<const TokenTrie>(pieces, std::vector<std::uint32_t>{end_token}));
  const std::string text = R"({"a": [1, 2, {"b": "cde"}], "f": null})";
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      State state = automaton->start();
      for (const char c : text) {
        const auto token = static_cast<std::uint32_t>(3 + static_cast<unsigned char>(c));
        if (((*masks.mask(state))[token / 32] >> token % 32 & 1U) == 0 || !state.advance(static_cast<std::uint8_t>(c))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace skipstone::grammar
