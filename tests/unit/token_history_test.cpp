#include "speculation/token_history.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace skipstone::speculation {
namespace {

using Tokens = std::vector<Token>;

Tokens copy(std::span<const Token> tokens) { return {tokens.begin(), tokens.end()}; }

TEST(TokenHistory, CommitsWhatIsThereAndWhatFollows) {
  TokenHistory text;
  text.append(Tokens{1, 2, 3});
  text.commit_prompt(Tokens{1, 2, 3});
  text.append(4);
  text.commit(4);
  text.commit(5);
  EXPECT_EQ(text.tokens(), (Tokens{1, 2, 3, 4, 5}));
  EXPECT_EQ(text.committed_size(), 5u);
  EXPECT_FALSE(text.is_continuation(2));
  EXPECT_TRUE(text.is_continuation(3));
  text.append(Tokens{6, 7});
  text.commit(8);
  EXPECT_EQ(text.tokens(), (Tokens{1, 2, 3, 4, 5, 8})) << "another text";
}

TEST(TokenHistory, RollsBackWithoutDropping) {
  TokenHistory text;
  text.commit_prompt(Tokens{1, 2, 3});
  text.commit(4);
  text.commit_prompt(Tokens{5, 6});
  ASSERT_EQ(text.prompts().size(), 2u);
  text.rollback(1);
  EXPECT_EQ(text.prompts()[1].end, 5u);
  EXPECT_EQ(text.size(), 6u);
  text.rollback(3);
  ASSERT_EQ(text.prompts().size(), 1u);
  EXPECT_EQ(text.prompts()[0].end, 2u);
  EXPECT_EQ(copy(text.committed()), (Tokens{1, 2}));
  text.truncate(3);
  EXPECT_EQ(text.tokens(), (Tokens{1, 2, 3}));
  EXPECT_THROW(text.truncate(1), Error);
}

TEST(TokenHistory, ShowsAPathAndForgetsIt) {
  TokenHistory text(Tokens{1, 2, 3});
  text.commit_prompt(Tokens{1, 2});
  const auto seen = [&](const Tokens& path) { return text.with_path(path, [](std::span<const Token> all) { return copy(all); }); };
  EXPECT_EQ(seen({}), (Tokens{1, 2}));
  EXPECT_EQ(seen({3}), (Tokens{1, 2, 3}));
  EXPECT_EQ(seen({3, 4, 5}), (Tokens{1, 2, 3, 4, 5}));
  EXPECT_EQ(seen({9, 4}), (Tokens{1, 2, 9, 4}));
  EXPECT_THROW(text.with_path(Tokens{7, 8}, [](std::span<const Token>) -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(text.tokens(), (Tokens{1, 2, 3}));
  EXPECT_EQ(text.committed_size(), 2u);
}

}  // namespace
}  // namespace skipstone::speculation
