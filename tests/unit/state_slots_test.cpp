#include "exec/state_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "base/status.h"

namespace skipstone::exec {
namespace {

/// Memory for as many slots as a pool asks for, up to a number.
class Store : public PageStore {
 public:
  explicit Store(std::uint32_t most) : most_(most) {}
  void resize(MemoryKind, std::uint32_t pages, vk::Shortage) override {
    if (pages > most_) fail(Code::out_of_memory, "{} slots are more than {}", pages, most_);
  }
  void copy(MemoryKind, std::uint32_t, std::uint32_t) override { ADD_FAILURE() << "states are never copied"; }

 private:
  std::uint32_t most_;
};

/// A text whose passes note the position of the state that they write to a slot.
struct Text {
  explicit Text(KvPool& pool) : slots(pool) {}

  /// A pass at `position`; `fails`: after it has written a part.
  void run(std::map<std::uint32_t, std::uint32_t>& contents, std::uint32_t position, std::optional<std::uint32_t> written, bool fails) {
    slots.begin_pass(position, written);
    const std::uint32_t source = slots.pass()[SCAN_SOURCE], from = slots.pass()[SCAN_POSITION], target = slots.pass()[SCAN_TARGET];
    EXPECT_EQ(from, slots.before(position));
    EXPECT_LE(from, position);
    if (source == SCAN_NONE) {
      EXPECT_EQ(from, 0u);
    } else {
      EXPECT_EQ(contents.at(source), from);
      EXPECT_NE(source, target);
    }
    if (target == SCAN_NONE) {
      EXPECT_TRUE(!written || *written == 0 || slots.at(*written));
      return;
    }
    contents[target] = fails ? SCAN_NONE : written.value();
    if (!fails) slots.end_pass();
  }

  StateSlots slots;
};

TEST(StateSlots, WhatAPassReadsIsThereWhateverHappenedBefore) {
  Store store(64);
  KvPool pool(MemoryKind::states, store, 4);
  std::map<std::uint32_t, std::uint32_t> contents;
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  {
    std::vector<Text> texts;
    std::vector<std::uint32_t> ends;
    for (int i = 0; i < 4; ++i) texts.emplace_back(pool), ends.push_back(0);
    for (int step = 0; step < 20000; ++step) {
      const std::uint32_t i = below(4), j = below(4);
      const std::uint32_t rows = 1 + below(40);
      switch (below(12)) {
        case 0:
          ends[i] -= below(ends[i] + 1);
          texts[i].slots.rollback(ends[i]);
          break;
        case 1:
          if (i != j) texts[i].slots.share(texts[j].slots, ends[i] = ends[j] - below(ends[j] + 1));
          break;
        case 2:
          texts[i].run(contents, ends[i], {}, false);
          break;
        case 3:
          texts[i].run(contents, ends[i], ends[i] + rows, true);
          break;
        case 4:
          texts[i].run(contents, ends[i], ends[i] + rows, false);
          ends[i] += rows;
          break;
        case 5:
          texts[i].slots.forget(ends[i]);
          break;
        default:
          texts[i].run(contents, ends[i], ends[i], false);
          ends[i] += rows;
      }
    }
    EXPECT_LE(pool.use().used, 16u) << "three states of each text, and one that a failed pass wrote";
  }
  EXPECT_EQ(pool.use().used, 0u);
}

TEST(StateSlots, KeptOnesAreNotWritten) {
  Store store(64);
  KvPool pool(MemoryKind::states, store, 4);
  std::map<std::uint32_t, std::uint32_t> contents;
  Text text(pool);
  text.run(contents, 0, 64, false);
  const std::uint32_t kept = text.slots.at(64).value();
  pool.add_references(std::span(&kept, 1));  // as a cached prefix does
  for (std::uint32_t position = 64; position < 200; ++position) text.run(contents, position, position, false);
  EXPECT_EQ(contents.at(kept), 64u);
  EXPECT_GT(text.slots.before(199), 64u);
  Text other(pool);
  other.slots.put(kept, 64);
  EXPECT_EQ(other.slots.before(100), 64u);
  other.run(contents, 70, 70, false);
  EXPECT_EQ(contents.at(kept), 64u);
  EXPECT_EQ(other.slots.before(70), 70u);
  EXPECT_EQ(other.slots.before(69), 64u);
  pool.give_back(std::span(&kept, 1));
}

TEST(StateSlots, APassThatRunsAgainWritesNoState) {
  Store store(64);
  KvPool pool(MemoryKind::states, store, 4);
  StateSlots slots(pool);
  slots.begin_pass(0, 64);
  const std::uint32_t written = slots.pass()[SCAN_TARGET];
  ASSERT_NE(written, SCAN_NONE);
  slots.end_pass();
  EXPECT_EQ(slots.at(64), written);
  EXPECT_EQ(slots.pass()[SCAN_TARGET], SCAN_NONE);
  slots.begin_pass(70, 70);
  const std::uint32_t next = slots.pass()[SCAN_TARGET];
  EXPECT_NE(next, written);
  EXPECT_EQ(slots.before(70), 64u) << "a pass that has not ended has left no state";
  slots.end_pass();
  const std::uint32_t again[] = {written, 64, SCAN_NONE};
  EXPECT_TRUE(std::ranges::equal(slots.pass(), again)) << "it reads what it has read";
  slots.end_pass();
  EXPECT_EQ(slots.at(70), next);
  EXPECT_EQ(pool.use().used, 2u);
}

TEST(StateSlots, WithoutRoomNothingChanges) {
  Store store(1);
  KvPool pool(MemoryKind::states, store, 1);
  std::map<std::uint32_t, std::uint32_t> contents;
  Text text(pool);
  text.run(contents, 0, 5, false);
  EXPECT_THROW(text.slots.begin_pass(5, 9), Error);
  text.run(contents, 7, {}, false);
  EXPECT_EQ(text.slots.before(9), 5u);
}

}  // namespace
}  // namespace skipstone::exec
