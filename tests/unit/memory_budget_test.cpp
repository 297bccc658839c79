// The server's budget of memory: its limits for large and small shares, and that every byte comes back.
#include "serve/http/memory_budget.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace cli::serve {
namespace {

TEST(MemoryBudget, RefusesBeyondItsLimitAndGetsEverythingBack) {
  const auto budget = std::make_shared<MemoryBudget>(1'000'000);
  {
    MemoryShare large(budget, MemoryUse::bodies), small(budget, MemoryUse::events);
    EXPECT_FALSE(large.resize(750'001));  // large shares can have three quarters
    EXPECT_TRUE(large.resize(750'000));
    EXPECT_TRUE(small.resize(60'000));
    EXPECT_FALSE(small.resize(70'000));  // it would be a large one
    EXPECT_EQ(small.bytes(), 60'000u);
    EXPECT_EQ(budget->used(), 810'000u);
    EXPECT_EQ(budget->used(MemoryUse::bodies), 750'000u);
    MemoryShare moved = std::move(large);
    EXPECT_EQ(large.bytes(), 0u);  // NOLINT(bugprone-use-after-move): a moved share has nothing
    EXPECT_TRUE(moved.resize(10));
    small = std::move(moved);
    EXPECT_EQ(budget->used(), 10u);
    EXPECT_EQ(budget->used(MemoryUse::events), 0u);
    MemoryShare most(budget, MemoryUse::answers);
    EXPECT_FALSE(most.resize(static_cast<std::size_t>(-1)));
    MemoryShare none;
    EXPECT_TRUE(none.resize(1'000'000'000));
  }
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace cli::serve
