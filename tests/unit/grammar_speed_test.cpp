// How long masks, cold states and compilations take, within the bounds that docs/grammar.md states; the times are properties of the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "grammar/token_masks.h"
#include "grammar_fixture.h"

namespace skipstone::grammar {
namespace {

constexpr std::size_t vocabulary_size = 152'000;
// Other programs may run beside, and sanitizers take their time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double slack = 20;
#else
constexpr double slack = 3;
#endif

template <typename Work>
double microseconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

std::string wide_schema(int fields) {
  std::string properties, required;
  for (int i = 0; i < fields; ++i) {
    const char* const types[] = {R"({"type": "string"})",
                                 R"({"type": "integer", "minimum": 0})",
                                 R"({"type": ["number", "null"]})",
                                 R"({"enum": ["red", "green", "blue"]})",
                                 R"({"type": "array", "items": {"type": "string"}})",
                                 R"({"type": "string", "format": "date"})",
                                 R"({"type": "boolean"})"};
    properties += fmt::format("{}\"field_{}\": {}", i > 0 ? ", " : "", i, types[i % 7]);
    if (i % 3 != 2) required += fmt::format("{}\"field_{}\"", required.empty() ? "" : ", ", i);
  }
  return "{\"type\": \"object\", \"properties\": {" + properties + "}, \"required\": [" + required + "], \"additionalProperties\": false}";
}

TEST(Speed, OfSchemas) {
  const std::string schema = wide_schema(100);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) times.push_back(microseconds([&] { Automaton::make(schema::parse_schema(schema, Form::writing))->start(); }));
  fmt::print("a schema of 100 fields: {:.2f} ms\n", median(times) / 1000);
  EXPECT_LT(median(times), 20'000 * slack);
}

TEST(Speed, OfMasks) {
  const std::vector<std::string> pieces = made_up_vocabulary(vocabulary_size);
  std::shared_ptr<const TokenTrie> trie;
  const double sorting = microseconds([&] { trie = std::make_shared<const TokenTrie>(pieces, std::vector<std::uint32_t>{end_token}); });
  const auto automaton = Automaton::make(schema::parse_schema(wide_schema(12), Form::writing));
  TokenMasks masks(automaton, trie);
  std::vector<double> all, warm;
  // A text of the schema, in tokens of three bytes.
  const std::string text =
      R"({"field_0": "A long name with \"quotes\", and some words more", "field_1": 120, "field_2": 3.25, "field_3": "green", "field_4": ["one", "two and three"], )"
      R"("field_5": "2024-02-29", "field_6": true, "field_7": "Another text which is as long as texts are", "field_8": 7, "field_9": null, "field_10": "red"})";
  for (int turn = 0; turn < 2; ++turn) {
    State state = automaton->start();
    for (std::size_t at = 0; at < text.size(); at += 3) {
      (turn == 0 ? all : warm).push_back(microseconds([&] { masks.mask(state); }));
      ASSERT_TRUE(state.advance(std::string_view(text).substr(at, 3))) << at;
    }
    ASSERT_TRUE(state.accepts());
  }
  const double slowest = *std::ranges::max_element(all);
  fmt::print(
      "152,000 tokens sorted: {:.1f} ms; masks of a first text: median {:.1f} us, slowest {:.2f} ms; of a second text: median {:.2f} us\n",
      sorting / 1000, median(all), slowest / 1000, median(warm));
  EXPECT_LT(median(all), 100 * slack);
  EXPECT_LT(median(warm), 100);
  EXPECT_LT(slowest, 10'000 * slack);
}

TEST(Speed, OfMasksOfBoundedLengths) {
  const auto trie = std::make_shared<const TokenTrie>(made_up_vocabulary(vocabulary_size), std::vector<std::uint32_t>{end_token});
  const auto automaton = Automaton::make(schema::parse_schema(R"({"type": "string", "maxLength": 300})", Form::writing));
  TokenMasks masks(automaton, trie);
  State state = automaton->start();
  ASSERT_TRUE(state.advance("\""));
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    times.push_back(microseconds([&] { masks.mask(state); }));
    ASSERT_TRUE(state.advance("x"));
  }
  fmt::print("masks in a string of bounded length: median {:.1f} us\n", median(times));
  EXPECT_LT(median(times), 100 * slack);
}

}  // namespace
}  // namespace skipstone::grammar
