// Turns between a call and who steps it.
#include "engine/step_runner.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/stopwatch.h"

namespace skipstone::engine {
namespace {

using namespace std::chrono_literals;

/// A pass of slices that take as long as they say.
void run_slices(StepRunner& step_runner, const std::vector<double>& seconds, std::vector<std::size_t>& submissions) {
  for (std::size_t first = 0; first < seconds.size();) {
    const std::size_t count = step_runner.next(std::span(seconds).subspan(first));
    double together = 0;
    for (std::size_t i = first; i < first + count; ++i) together += seconds[i];
    step_runner.submitted();
    std::this_thread::sleep_for(std::chrono::duration<double>(together));
    step_runner.done();
    submissions.push_back(count);
    first += count;
  }
}

TEST(StepRunner, RunsNothingBeforeTheFirstStepAndThenWhatFits) {
  std::vector<std::size_t> submissions;
  StepRunner step_runner([&](StepRunner& self) { run_slices(self, std::vector<double>(10, 0.1), submissions); });
  EXPECT_TRUE(submissions.empty());
  EXPECT_FALSE(step_runner.step(0us, StepMode::poll)) << "one piece, since every step gets on";
  EXPECT_FALSE(step_runner.step(10s, StepMode::poll)) << "still at it";
  while (!step_runner.step(2s, StepMode::wait)) std::this_thread::sleep_for(1ms);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[0], 1u);
  EXPECT_EQ(submissions[1], 9u);
}

TEST(StepRunner, PiecesOfUnknownCostAreTakenOneByOne) {
  std::vector<std::size_t> submissions;
  StepRunner step_runner([&](StepRunner& self) { run_slices(self, {0, 0, 0}, submissions); });
  while (!step_runner.step(1s, StepMode::wait)) {
  }
  EXPECT_EQ(submissions, (std::vector<std::size_t>{1, 1, 1}));
}

TEST(StepRunner, AStepEndsWhenItsTimeIsSpent) {
  std::vector<std::size_t> submissions;
  StepRunner step_runner([&](StepRunner& self) { run_slices(self, std::vector<double>(6, 0.02), submissions); });
  int steps = 1;
  while (!step_runner.step(50ms, StepMode::wait)) ++steps;
  EXPECT_GE(steps, 3) << "two pieces of 20 ms each";
  std::size_t pieces = 0;
  for (const std::size_t count : submissions) {
    EXPECT_LE(count, 2u);
    pieces += count;
  }
  EXPECT_EQ(pieces, 6u);
}

TEST(StepRunner, TimeBetweenStepsIsNoTime) {
  double seconds = 0;
  const Stopwatch construction;
  StepRunner step_runner([&](StepRunner& self) {
    const auto start = self.now();
    std::vector<std::size_t> ignored;
    run_slices(self, {0.001, 0.001, 0.001}, ignored);
    seconds = std::chrono::duration<double>(self.now() - start).count();
  });
  double in_turns = construction.seconds();
  for (bool ended = false; !ended;) {
    std::this_thread::sleep_for(20ms);
    const Stopwatch step;
    ended = step_runner.step(0us, StepMode::wait);
    in_turns += step.seconds();
  }
  EXPECT_GE(seconds, 0.003);
  EXPECT_LE(seconds, in_turns) << "the pauses between the steps do not count";
}

TEST(StepRunner, CallsComeBackToTheThreadThatSteps) {
  std::vector<std::thread::id> threads;
  StepRunner step_runner([&](StepRunner& self) {
    const std::array<double, 1> piece{0.001};
    self.next(piece);
    threads.push_back(std::this_thread::get_id());
    self.on_caller([&] { threads.push_back(std::this_thread::get_id()); });
    EXPECT_THROW(self.on_caller([] { throw std::runtime_error("the caller's"); }), std::runtime_error);
  });
  EXPECT_TRUE(step_runner.step(1s, StepMode::wait));
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_NE(threads[0], std::this_thread::get_id());
  EXPECT_EQ(threads[1], std::this_thread::get_id());
}

TEST(StepRunner, ErrorsArriveWhereTheyWouldHaveBeen) {
  EXPECT_THROW(StepRunner([](StepRunner&) { fail(Code::invalid_argument, "before anything"); }), Error);
  StepRunner step_runner([](StepRunner& self) {
    self.next(std::array<double, 1>{0.0});
    fail(Code::device_lost, "in the middle");
  });
  EXPECT_THROW(step_runner.step(1s, StepMode::wait), Error);
  EXPECT_TRUE(step_runner.step(1s, StepMode::wait)) << "it has ended";
}

TEST(StepRunner, WhoGoesAwayBreaksItOff) {
  for (const StepMode mode : {StepMode::wait, StepMode::poll}) {
    bool unwound = false, finished = false;
    {
      StepRunner step_runner([&](StepRunner& self) {
        std::vector<std::size_t> ignored;
        try {
          run_slices(self, {0.01, 0.01, 0.01}, ignored);
          finished = true;
        } catch (const Error& error) {
          unwound = error.code() == Code::cancelled;
          throw;
        }
      });
      EXPECT_FALSE(step_runner.step(0us, mode));
    }
    EXPECT_TRUE(unwound);
    EXPECT_FALSE(finished);
  }
}

}  // namespace
}  // namespace skipstone::engine
