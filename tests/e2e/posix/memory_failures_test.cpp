// The program without memory: its allocations fail by number, one of them or all from one on. It says so and ends, or does without.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "base/env.h"
#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::e2e {
namespace {

/// What two runs have in common: reports say how long things took, too.
std::string without_numbers(const std::string& text) { return std::regex_replace(text, std::regex("[0-9][-+.0-9e]*"), "#"); }

class CliMemory : public testing::Test {
 protected:
  std::string model() const { return folder_.file("tiny.gguf"); }

  Result run_failing(const std::vector<std::string>& arguments, std::uint64_t first, std::uint64_t count) const {
    Command command{arguments};
    command.environment = {{"SKIPSTONE_CACHE", folder_.file("cache")},
                           {"LD_PRELOAD", SKIPSTONE_FAILING_NEW},
                           {"SKIPSTONE_TEST_ALLOCATIONS", folder_.file("allocations")},
                           {"SKIPSTONE_TEST_FAIL_AT", std::to_string(first)},
                           {"SKIPSTONE_TEST_FAIL_COUNT", std::to_string(count)}};
    return run(command);
  }

  void check_one(const std::vector<std::string>& arguments, const Result& good, std::uint64_t first, std::uint64_t count) const {
    const Result result = run_failing(arguments, first, count);
    SCOPED_TRACE("allocation " + std::to_string(first) + (count == 1 ? "" : " and all after it"));
    EXPECT_EQ(result.signal, 0) << result.error;
    EXPECT_TRUE(result.code == 0 || result.code == 5) << result.code << "\n" << result.error;
    if (result.code == 0) {
      EXPECT_EQ(without_numbers(result.out), without_numbers(good.out));
    } else {
      EXPECT_TRUE(without_numbers(good.out).starts_with(without_numbers(result.out))) << result.out;
      EXPECT_NE(result.error.find("no memory left"), std::string::npos) << result.error;
    }
  }

  /// One allocation fails, at `points` places between the first and the last; then all from the first on, and all while the model is read.
  void check(const std::vector<std::string>& arguments, std::uint64_t points) const {
    static_cast<void>(run_failing(arguments, 0, 0));  // what there is to be cached is cached
    const Result good = run_failing(arguments, 0, 0);
    ASSERT_EQ(good.code, 0) << good.error;
    const std::uint64_t all = std::stoull(fixtures::bytes_of(folder_.file("allocations")));
    ASSERT_GT(all, 100u);
    for (std::uint64_t i = 0; i < points; ++i) check_one(arguments, good, 1 + i * (all - 1) / (points - 1), 1);
    for (const std::uint64_t first : {std::uint64_t{1}, all / 8}) check_one(arguments, good, first, UINT64_MAX);
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliMemory, EveryAllocationOfARunMayFail) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  fixtures::write_tiny_model({}, model());
  const bool full = env::flag("SKIPSTONE_FULL_TESTS");
  check({"run", "-m", model(), "-p", "Hello", "-n", "8", "--draft", "none"}, full ? 1000 : 8);
  check({"run", "-m", model(), "-p", "Hello", "-n", "8", "--draft", "exit:2,k=4", "--temp", "0.8"}, full ? 300 : 4);
  check({"run", "-m", model(), "-p", "Hello", "-n", "8", "--draft", "auto:asd,exit:2", "--json"}, full ? 300 : 4);
  check({"inspect", model(), "--json"}, full ? 300 : 4);
  check({"devices", "--json"}, full ? 300 : 4);
}

}  // namespace
}  // namespace skipstone::e2e
