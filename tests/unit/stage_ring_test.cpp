// Messages around a ring of stages: what arrives is what was sent, in order, late where transfers are slow, and failures come back.
#include "exec/stage_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>

#include "base/status.h"
#include "engine/stage_host.h"
#include "engine/stages.h"
#include "exec/stage_request.h"

namespace skipstone::exec {
namespace {

StageMessage asking(StageCommand command) { return {.command = command, .request = {}, .rows = {}, .cosines = {}, .bytes = {}}; }

/// Adds one to every row, and fails where it is asked to copy pages.
void serve(Link& in, Link& out) {
  for (;;) {
    StageMessage message = in.receive();
    const StageCommand command = message.command;
    for (float& row : message.rows) row += 1;
    if (command == StageCommand::copy) message = failure(Code::out_of_memory, "no memory there");
    out.send(std::move(message));
    if (command == StageCommand::end) return;
  }
}

TEST(StageRing, EveryStageHasItsTurn) {
  constexpr std::chrono::microseconds soon{0};
  QueueLink a(soon), b(soon), c(soon);
  std::jthread one([&] { serve(a, b); }), two([&] { serve(b, c); });
  StageRing ring(a, c);
  StageMessage message = asking(StageCommand::pass);
  message.rows = {1, 2};
  EXPECT_EQ(ring.exchange(message).rows, (std::vector<float>{3, 4}));
  for (int i = 0; i < 20; ++i) ring.post(message);
  EXPECT_EQ(ring.exchange(message).rows, (std::vector<float>{3, 4}));
}

TEST(StageRing, FailuresAreThrownAndThoseThatNobodyWaitedForStay) {
  constexpr std::chrono::microseconds soon{0};
  QueueLink a(soon), b(soon), c(soon);
  std::jthread one([&] { serve(a, b); }), two([&] { serve(b, c); });
  StageRing ring(a, c);
  try {
    ring.exchange(asking(StageCommand::copy));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_STREQ(error.what(), "no memory there");
  }
  EXPECT_EQ(ring.exchange(asking(StageCommand::pass)).command, StageCommand::pass) << "an exchange that failed is over";
  ring.post(asking(StageCommand::copy));
  EXPECT_THROW(ring.wait(), Error);
  EXPECT_THROW(ring.exchange(asking(StageCommand::pass)), Error) << "what nobody waited for has left the stages behind";
}

TEST(StageRing, SlowHopsKeepNobodyButWhoWaits) {
  using std::chrono::milliseconds;
  QueueLink a(milliseconds(100)), b(milliseconds(100)), c(milliseconds(100));
  std::jthread one([&] { serve(a, b); }), two([&] { serve(b, c); });
  StageRing ring(a, c);
  bool early = true;
  ring.exchange(asking(StageCommand::pass), [&] {
    early = ring.is_back();
    while (!ring.is_back()) std::this_thread::sleep_for(milliseconds(1));
  });
  EXPECT_FALSE(early) << "three transfers take their time";
  ring.post(asking(StageCommand::pass));
  EXPECT_FALSE(ring.is_back()) << "post() does not wait";
}

// A stage may wait for memory that other engines have to free. Whoever shows the stages meanwhile does not wait for it.
TEST(StageRing, StatesAreShownWhileAStageIsAtWork) {
  constexpr std::chrono::microseconds soon{0};
  auto to_stage = std::make_unique<QueueLink>(soon), back = std::make_unique<QueueLink>(soon);
  std::binary_semaphore begun{0}, goes{0};
  std::jthread stage([&, in = to_stage.get(), out = back.get()] {
    std::uint64_t held = 100;
    for (StageCommand command = StageCommand::state; command != StageCommand::end;) {
      StageMessage message = in->receive();
      command = message.command;
      if (command == StageCommand::resize || command == StageCommand::pass) {
        begun.release();
        goes.acquire();
        held += 100;
      }
      if (command == StageCommand::state) {
        engine::StageState state;
        state.build = engine::stage_build();
        state.held = held;
        const std::string line = engine::to_json(state);
        std::ranges::transform(line, std::back_inserter(message.bytes), [](char c) { return static_cast<std::byte>(c); });
      }
      out->send(std::move(message));
    }
  });
  engine::Stages stages(std::move(to_stage), std::move(back), 0);
  const auto held = [&] {
    const auto states = stages.latest_states();
    return states.empty() ? 0 : states.front().held;
  };
  EXPECT_EQ(held(), 100u);
  std::jthread growing([&] { stages.ring().resize(MemoryKind::full, 8, vk::Shortage::makes_room); });
  begun.acquire();
  EXPECT_EQ(held(), 100u) << "of the last time when the ring was free";
  goes.release();
  growing.join();
  EXPECT_EQ(held(), 200u);
  stages.ring().post(asking(StageCommand::pass));
  begun.acquire();
  EXPECT_EQ(held(), 200u) << "nobody has waited for the posted pass";
  goes.release();
  EXPECT_EQ(stages.states().front().held, 300u) << "states() waits";
  EXPECT_EQ(held(), 300u);
}

TEST(StageRequest, ComesOutAsItWentIn) {
  const std::vector<std::int32_t> tokens{5, 6, 7};
  const std::vector<std::uint32_t> parents{0, 0, 1}, full{4, 5, 9}, sliding{0, 3};
  PassSpec spec{.layers = LayerPlan::parse("attn:2;mlp:1", 6), .bucket = 4, .tree = true};
  const SequenceRows rows{.pages = {{{{full}, {sliding, 1}}}},
                          .rows = {.tokens = tokens, .base = 130, .kept = 2, .parents = parents, .window = {4, 60}}};
  const PassRequest request = pass_request(pass_request(3, spec, {&rows, 1}));
  EXPECT_EQ(request.runner, 3u);
  EXPECT_EQ(request.spec, spec);
  ASSERT_EQ(request.rows().size(), 1u);
  const SequenceRows out = request.rows()[0];
  EXPECT_EQ(out.rows.tokens.size(), tokens.size());
  EXPECT_EQ(out.rows.base, 130u);
  EXPECT_EQ(out.rows.kept, 2u);
  EXPECT_EQ(std::vector<std::uint32_t>(out.rows.parents.begin(), out.rows.parents.end()), parents);
  const auto numbers = [&](MemoryKind kind) {
    const auto pages = out.pages[kind].pages;
    return std::vector<std::uint32_t>(pages.begin(), pages.end());
  };
  EXPECT_EQ(numbers(MemoryKind::full), full);
  EXPECT_EQ(numbers(MemoryKind::sliding), sliding);
  EXPECT_EQ(out.pages[MemoryKind::full].released, 0u);
  EXPECT_EQ(out.pages[MemoryKind::sliding].released, 1u);
  EXPECT_EQ(out.rows.window, (KeyWindow{4, 60}));
}

TEST(StageRequest, CutMessagesAreErrors) {
  const std::vector<std::int32_t> tokens{5, 6, 7};
  const std::vector<std::uint32_t> full{4, 5, 9};
  const SequenceRows rows{.pages = {{{{full}, {}}}}, .rows = {.tokens = tokens}};
  const auto bytes = pass_request(0, {.layers = LayerPlan::full(4), .bucket = 4}, {&rows, 1});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(pass_request(std::span(bytes).first(size)), Error) << size;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(pass_request(longer), Error);
}

TEST(StageRequest, PagesAreOfAKnownKind) {
  auto bytes = pages_request({MemoryKind::sliding, 3, 4});
  EXPECT_EQ(pages_request(bytes).kind, MemoryKind::sliding);
  bytes[0] = static_cast<std::byte>(memory_kinds.size());
  EXPECT_THROW(pages_request(bytes), Error);
}

// A stage has nothing to do, begins, takes rows or hands them on, by where the pass's layers are.
TEST(StageWork, FollowsFromTheLayersOfAPass) {
  const auto at = [](const LayerPlan& layers, std::uint32_t begin, std::uint32_t end) { return work_of({.layers = layers}, begin, end); };
  const LayerPlan all = LayerPlan::full(12);
  EXPECT_TRUE(at(all, 0, 5).begins && at(all, 0, 5).hands_on);
  EXPECT_TRUE(at(all, 5, 8).takes && at(all, 5, 8).hands_on);
  EXPECT_TRUE(at(all, 8, 12).takes && !at(all, 8, 12).hands_on);
  LayerPlan exit = all;
  exit.end = 5;
  EXPECT_TRUE(at(exit, 0, 5).begins && !at(exit, 0, 5).hands_on);
  EXPECT_FALSE(at(exit, 5, 12).runs());
  LayerPlan late = all;
  late.begin = 5;  // from saved hidden states, which are where layer 4 is
  EXPECT_TRUE(at(late, 0, 5).begins && at(late, 0, 5).hands_on);
  EXPECT_TRUE(at(late, 5, 12).takes);
  late.begin = 6;
  EXPECT_FALSE(at(late, 0, 5).runs());
  EXPECT_TRUE(at(late, 5, 12).begins && !at(late, 5, 12).takes);
  const LayerPlan skipped = LayerPlan::parse("attn:5-11;mlp:5-11", 12);
  EXPECT_TRUE(at(skipped, 0, 5).begins && !at(skipped, 0, 5).hands_on);
  EXPECT_FALSE(at(skipped, 5, 12).runs());
}

}  // namespace
}  // namespace skipstone::exec
