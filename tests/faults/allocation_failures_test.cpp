// A request for memory fails, once, at a thousand places of a short run: a sentence and SKIPSTONE_OUT_OF_MEMORY, or the right text; never an
// end of the program, and a new engine works. On the stub driver, which asks for none of its memory here.
#include <gtest/gtest.h>

#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "faults/short_run.h"
#include "faults/stub_driver.h"
#include "fixtures/tiny_model.h"

namespace {

std::atomic<std::uint64_t> requests{0};
std::atomic<std::uint64_t> fail_at{0};  // the request that fails; 0: none
std::atomic<std::uint64_t> passed_over{0};

/// Destructors of nlohmann::json ask for memory, where nothing can be caught: the ranges of their code in this program.
struct JsonDestructors {
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  std::array<Range, 32> ranges{};
  std::size_t count = 0;

  JsonDestructors() {
    std::FILE* symbols = ::popen("nm -n /proc/$PPID/exe", "r");
    std::uintptr_t base = 0;
    ::dl_iterate_phdr([](dl_phdr_info* info, std::size_t, void* to) { return *static_cast<std::uintptr_t*>(to) = info->dlpi_addr, 1; }, &base);
    bool open = false;
    static char line[65536];
    while (symbols != nullptr && count < ranges.size() && std::fgets(line, sizeof line, symbols) != nullptr) {
      const std::uintptr_t address = base + std::strtoull(line, nullptr, 16);
      if (open && address == ranges[count].begin) continue;  // another name of it
      if (open) ranges[count++].end = address;
      open = std::strstr(line, "basic_json") != nullptr && std::strstr(line, "7destroyE") != nullptr;
      if (open && count < ranges.size()) ranges[count].begin = address;
    }
    if (symbols != nullptr) ::pclose(symbols);
  }

  /// Whether one of them is asking.
  bool ask() const {
    void* frames[8];
    const int depth = ::backtrace(frames, 8);
    for (int i = 0; i < depth; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
      for (std::size_t r = 0; r < count; ++r) {
        if (at >= ranges[r].begin && at < ranges[r].end) return true;
      }
    }
    return false;
  }
};

const JsonDestructors& json_destructors() {
  static const JsonDestructors found;
  return found;
}

bool fails(std::uint64_t number) {
  if (number != fail_at.load(std::memory_order_relaxed)) return false;
  if (!json_destructors().ask()) return true;
  ++fail_at;  // the next one instead
  ++passed_over;
  return false;
}

}  // namespace

// Not inlined, or the compiler sees free() take what it believes the usual operator new returned.
[[gnu::noinline]] void* operator new(std::size_t size) {
  const std::uint64_t number = ++requests;
  void* memory = fails(number) ? nullptr : std::malloc(size == 0 ? 1 : size);
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
  std::printf("%llu requests, %u failures injected: %u refused, %u survived; %llu passed over\n",
              static_cast<unsigned long long>(expected.requests), refused + survived, refused, survived,
              static_cast<unsigned long long>(passed_over.load()));
}

TEST(AllocationFailures, EndInASentence) {
  ASSERT_GT(json_destructors().count, 0u);
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
