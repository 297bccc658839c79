// A request for memory fails, once, at a thousand places of a short run: a sentence and SKIPSTONE_OUT_OF_MEMORY, or the right text; never
// an end of the program, and a new engine works. On the stub driver, which asks for none of its memory here.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "faults/short_run.h"
#include "faults/stub_driver.h"
#include "fixtures/tiny_model.h"

namespace {

std::atomic<std::uint64_t> requests{0};
std::atomic<std::uint64_t> fail_at{0};  // the request that fails; 0: none

}  // namespace

// Not inlined, or the compiler sees free() take what it believes the usual operator new returned.
[[gnu::noinline]] void* operator new(std::size_t size) {
  const std::uint64_t number = ++requests;
  void* memory = number == fail_at.load(std::memory_order_relaxed) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// With its own nothrow form, for sanitizers bring another than the library's, which calls the one above.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace skipstone::faults {
namespace {

struct Counted {
  Outcome outcome;
  std::uint64_t requests = 0;
};

void disarm() { fail_at = 0; }

/// A short run in which request `number` fails; 0: none.
Counted run(const std::string& model, const RunOptions& options, std::uint64_t number) {
  requests = 0;
  fail_at = number;
  Counted counted;
  counted.outcome = short_run(model.c_str(), options, disarm);
  counted.requests = requests;
  return counted;
}

void inject_everywhere(StubDriver& driver, const std::string& model, const RunOptions& options, std::uint64_t most) {
  run(model, options, 0);  // fills the caches
  const std::uint64_t before = driver.executed();
  const Counted expected = run(model, options, 0);
  const std::uint64_t commands = driver.executed() - before;
  ASSERT_EQ(expected.outcome.status, SKIPSTONE_OK) << expected.outcome.sentence;
  unsigned survived = 0, refused = 0;
  // Places that do not share a divisor with anything that repeats.
  const std::uint64_t step = std::max<std::uint64_t>(1, expected.requests / most) | 1u;
  for (std::uint64_t number = 1; number <= expected.requests; number += step) {
    const std::string what = "request " + std::to_string(number) + " of " + std::to_string(expected.requests);
    if (std::getenv("SKIPSTONE_TRACE_TESTS") != nullptr) std::fprintf(stderr, "%s\n", what.c_str());  // which one ends the program
    const std::uint64_t at = driver.executed();
    const Outcome outcome = run(model, options, number).outcome;
    if (outcome.status == SKIPSTONE_OK) {
      EXPECT_EQ(outcome.tokens, expected.outcome.tokens) << what;
      EXPECT_GE(driver.executed() - at, commands) << what << ": something was not run, and nothing was said";
      ++survived;
    } else {
      EXPECT_EQ(outcome.status, SKIPSTONE_OUT_OF_MEMORY) << what << ": " << outcome.sentence;
      EXPECT_GT(outcome.sentence.size(), 20u) << what;
      ++refused;
    }
    EXPECT_EQ(driver.objects(), 0u) << what << ": Vulkan objects are left";
    EXPECT_STREQ(driver.misuse(), "") << what;
    driver.forget_misuse();
    if ((survived + refused) % 16 == 0) {
      EXPECT_EQ(run(model, options, 0).outcome.tokens, expected.outcome.tokens) << what << ": a new engine does not work";
    }
  }
  EXPECT_EQ(run(model, options, 0).outcome.tokens, expected.outcome.tokens);
  EXPECT_GT(refused, 50u);
  std::printf("%llu requests, %u failures injected: %u refused, %u survived\n", static_cast<unsigned long long>(expected.requests),
              refused + survived, refused, survived);
}

TEST(AllocationFailures, EndInASentence) {
  skipstone_set_log(nullptr, nullptr);
  StubDriver driver;
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("tiny.gguf");
  fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 64, .context = 64}, model);
  const std::uint64_t most = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr ? 100000 : 1000;
  inject_everywhere(driver, model, {}, most);
  inject_everywhere(driver, model, {.temperature = 0.8f, .draft = "suffix"}, most / 4);
}

}  // namespace
}  // namespace skipstone::faults
