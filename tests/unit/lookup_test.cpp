// The drafters that look their tokens up: prompt lookup and aggressive decoding.
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "speculation/drafters/copy.h"
#include "speculation/drafters/drafters.h"
#include "speculation/registry.h"
#include "unit/naive_text.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

using test::ends_of;
using test::index_of;
using test::repetitive_text;
using Text = std::vector<Token>;

Text drafts_of(const Proposal& proposal) {
  const TokenTree tree = test::tree_of(proposal);
  EXPECT_TRUE(tree.is_chain());
  return {tree.tokens().begin() + 1, tree.tokens().end()};
}

/// Every length from the longest down, every place from the last back.
Text lookup_by_search(const Text& text, const LookupParams& params) {
  for (std::uint32_t length = params.max; length >= params.min && length > 0; --length) {
    if (length >= text.size()) continue;
    auto ends = ends_of(std::span(text).last(length), text);
    ends.pop_back();  // the end itself
    if (ends.empty()) continue;
    Text longer = text;
    for (std::uint32_t i = 0; i < params.drafts; ++i) longer.push_back(longer[ends.back() + i]);
    return {longer.begin() + static_cast<std::ptrdiff_t>(text.size()), longer.end()};
  }
  return {};
}

TEST(Lookup, IsTheLatestOfTheLongestMatches) {
  std::mt19937_64 random(21);
  std::size_t found = 0;
  for (int i = 0; i < 5000; ++i) {
    const Text text = repetitive_text(random, random() % 60 + 1);
    const auto max = static_cast<std::uint32_t>(random() % 6 + 1);
    const LookupParams params{max, static_cast<std::uint32_t>(random() % max + 1), static_cast<std::uint32_t>(random() % 12 + 1)};
    const Text expected = lookup_by_search(text, params);
    ASSERT_EQ(lookup(index_of(text), params).drafts, expected);
    found += expected.empty() ? 0 : 1;
  }
  EXPECT_GT(found, 2000u);
}

TEST(Lookup, ByHand) {
  const auto drafter = make_drafter("lookup:max=2,min=2,k=3");
  EXPECT_EQ(drafts_of(drafter->propose(Text{1, 2, 3, 4, 9, 1, 2})), (Text{3, 4, 9}));
  EXPECT_EQ(drafts_of(drafter->propose(Text{1, 2, 3, 4, 9, 1, 2, 2})), Text{});  // "2" alone is too short
  drafter->begin({}, 12);
  EXPECT_EQ(drafts_of(drafter->propose(Text{7, 5, 5, 5})), (Text{5, 5, 5}));  // a loop continues
  EXPECT_EQ(lookup(Occurrences(), {}).drafts, Text{});
}

/// Follows `text` from its start and says what would be copied.
Text rest_after(const Text& document, const Text& text, std::uint32_t max = 8, std::uint32_t min = 1) {
  CopyPlace place(document, max, min);
  for (std::size_t size = 1; size <= text.size(); ++size) place.follow(std::span(text).first(size));
  return {place.rest().begin(), place.rest().end()};
}

TEST(CopyPlace, FollowsADocumentWithDifferences) {
  const Text document = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(rest_after(document, {}), document);
  EXPECT_EQ(rest_after(document, {1, 2}), (Text{3, 4, 5, 6, 7}));
  EXPECT_EQ(rest_after(document, {1, 2, 99}), Text{});                     // lost
  EXPECT_EQ(rest_after(document, {1, 2, 99, 4}), (Text{5, 6, 7}));         // one token exchanged
  EXPECT_EQ(rest_after(document, {1, 2, 99, 98, 3}), (Text{4, 5, 6, 7}));  // two put in
  EXPECT_EQ(rest_after(document, {1, 2, 5}), (Text{6, 7}));                // two left out
  EXPECT_EQ(rest_after(document, {1, 2, 99, 4}, 8, 2), Text{});            // a match of two tokens is asked for
  EXPECT_EQ(rest_after(document, {1, 2, 99, 4, 5}, 8, 2), (Text{6, 7}));
  EXPECT_EQ(rest_after(document, {1, 2, 3, 4, 5, 6, 7}), Text{});  // the end
  EXPECT_EQ(rest_after(document, {1, 2, 3, 4, 5, 6, 7, 99}), Text{});
  EXPECT_EQ(rest_after(document, {1, 2, 3, 4, 5, 6, 7, 1}), (Text{2, 3, 4, 5, 6, 7}));  // and from the start again
}

TEST(CopyPlace, TakesTheLongestMatchAndOfThoseTheNearest) {
  //                   0  1  2  3  4  5  6  7  8  9 10 11
  const Text document = {1, 2, 3, 9, 4, 5, 9, 6, 7, 8, 9, 2};
  EXPECT_EQ(rest_after(document, {1, 2, 3, 9, 4, 99, 9}), (Text{6, 7, 8, 9, 2}));  // of three 9 the one at 6, where it was expected
  EXPECT_EQ(rest_after(document, {1, 99, 8, 9}), (Text{2}));                       // "8 9" is only at the end
  EXPECT_EQ(rest_after(document, {1, 99, 8, 9}, 1), (Text{2}));                    // 8 led there already
}

ModelFacts with_document(const Text& document) {
  ModelFacts facts;
  facts.read_text = [document](const std::string& file) {
    EXPECT_EQ(file, "a,x/b=c+d.txt");
    return document;
  };
  return facts;
}

TEST(Copy, CopiesBehindEveryPrompt) {
  const auto drafter = make_drafter("copy:a,x/b=c+d.txt,k=3");
  drafter->attach(with_document({1, 2, 3, 4, 5, 6}));
  drafter->begin({}, 12);
  EXPECT_EQ(drafts_of(drafter->propose(Text{50, 51, 3, 1})), (Text{2, 3, 4}));  // the prompt, then the first token of the text
  EXPECT_EQ(drafts_of(drafter->propose(Text{50, 51, 3, 1, 2, 3, 4, 5})), (Text{6}));
  drafter->begin({}, 12);  // nothing but one more token: the text continues
  EXPECT_EQ(drafts_of(drafter->propose(Text{50, 51, 3, 1, 2, 3, 4, 5, 6})), Text{});
  drafter->begin({}, 12);
  EXPECT_EQ(drafts_of(drafter->propose(Text{50, 51, 3, 1, 2, 3, 4, 5, 6, 70, 71, 1})), (Text{2, 3, 4}));
  drafter->begin({}, 12);                                                // another conversation
  EXPECT_EQ(drafts_of(drafter->propose(Text{60, 2})), (Text{3, 4, 5}));  // it starts with the second token
}

TEST(Copy, SaysWhatIsMissing) {
  const auto message = [](const char* specification, const ModelFacts& facts) -> std::string {
    try {
      make_drafter(specification)->attach(facts);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message("copy", with_document({1})).find("write copy:FILE"), std::string::npos);
  EXPECT_NE(message("copy:x.txt", {}).find("no tokenizer"), std::string::npos);
  EXPECT_NE(message("copy:a,x/b=c+d.txt", with_document({})).find("'a,x/b=c+d.txt' is empty"), std::string::npos);
  EXPECT_NE(message("copy:x,min=9", {}).find("nothing could match"), std::string::npos);
  EXPECT_NE(message("lookup:max=2,min=3", {}).find("nothing could match"), std::string::npos);
  EXPECT_NE(message("copy:x,k=32", {}).find("1 to 31"), std::string::npos);
}

}  // namespace
}  // namespace skipstone::speculation
