// The public API of grammars: what programs get from grammar.hpp and grammar.h.
#include <gtest/gtest.h>

#include "skipstone/grammar.hpp"

namespace skipstone {
namespace {

TEST(GrammarApi, StatesAreValues) {
  const Grammar grammar(SKIPSTONE_GRAMMAR_GBNF, "root ::= \"ab\" (\"c\" | \"d\")");
  GrammarState state(grammar);
  EXPECT_EQ(state.forced(10), "ab");
  GrammarState copy = state;
  EXPECT_EQ(copy.advance("abcd"), 3u);
  EXPECT_FALSE(copy.accepts());
  EXPECT_EQ(state.advance("abd"), 3u);
  EXPECT_TRUE(state.accepts());
  copy = state;
  EXPECT_TRUE(copy.accepts());
}

TEST(GrammarApi, MasksSayWhichTokensMayCome) {
  const Grammar grammar(SKIPSTONE_GRAMMAR_JSON_SCHEMA, R"({"type": "integer"})");
  const Vocabulary vocabulary({"1", "a", "", "23", "-", "4x", "-5"}, {2});
  GrammarState state(grammar);
  EXPECT_EQ(state.mask(vocabulary), std::vector<std::uint32_t>{0b1011001});
  EXPECT_EQ(state.advance("-"), 1u);
  EXPECT_EQ(state.mask(vocabulary), std::vector<std::uint32_t>{0b0001001});
  EXPECT_EQ(state.advance("7"), 1u);
  EXPECT_EQ(state.mask(vocabulary), std::vector<std::uint32_t>{0b0001101});
  std::vector<std::uint32_t> words(3, 7);
  check(skipstone_grammar_state_mask(state.get(), vocabulary.get(), words.data(), words.size()));
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0b0001101, 0, 0}));
}

TEST(GrammarApi, FormsOfJson) {
  const std::string schema = R"({"properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["a", "b"], "type": "object"})";
  const std::string other_order = "{\"b\":null,\"a\":null}";
  EXPECT_LT(GrammarState(Grammar(SKIPSTONE_GRAMMAR_JSON_SCHEMA, schema)).advance(other_order), other_order.size());
  const Grammar any(SKIPSTONE_GRAMMAR_JSON_SCHEMA, schema, true);
  EXPECT_EQ(GrammarState(any).advance(other_order), other_order.size());
  EXPECT_THROW(any.gbnf(), error);
  EXPECT_NE(Grammar(SKIPSTONE_GRAMMAR_JSON_OBJECT, "").gbnf().find("root ::= object"), std::string::npos);
  EXPECT_NE(grammar_keywords().find("additionalProperties"), std::string::npos);
}

TEST(GrammarApi, RefusesWhatCannotBe) {
  EXPECT_THROW(Grammar(SKIPSTONE_GRAMMAR_REGEX, "("), error);
  EXPECT_THROW(Grammar(SKIPSTONE_GRAMMAR_GBNF, ""), error);
  EXPECT_THROW(Vocabulary({"a"}, {1}), error);
  EXPECT_THROW(Vocabulary({"a"}, {-1}), error);
  skipstone_grammar* grammar = nullptr;
  EXPECT_EQ(skipstone_grammar_create(nullptr, &grammar), SKIPSTONE_INVALID_ARGUMENT);
  skipstone_grammar_params params;
  skipstone_grammar_params_init(&params, sizeof(params));
  EXPECT_EQ(skipstone_grammar_create(&params, &grammar), SKIPSTONE_INVALID_ARGUMENT);
  params.kind = 9;
  params.text = "a";
  EXPECT_EQ(skipstone_grammar_create(&params, &grammar), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_grammar_create(&params, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_grammar_state_accepts(nullptr), 0);
  const Grammar any(SKIPSTONE_GRAMMAR_JSON_OBJECT, "");
  const Vocabulary vocabulary(std::vector<std::string>(40, "a"), {});
  std::uint32_t word = 0;
  EXPECT_EQ(skipstone_grammar_state_mask(GrammarState(any).get(), vocabulary.get(), &word, 1), SKIPSTONE_INVALID_ARGUMENT);
  skipstone_grammar_free(nullptr);
  skipstone_grammar_state_free(nullptr);
  skipstone_vocabulary_free(nullptr);
}

}  // namespace
}  // namespace skipstone
