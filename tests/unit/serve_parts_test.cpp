// Parts of the server that need no socket: its account of memory, its queue, and which names of hosts and origins may ask.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <new>
#include <string>

#include "serve/access.h"
#include "serve/generation_request.h"
#include "serve/job_queue.h"
#include "serve/memory_budget.h"

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

TEST(JobQueue, RemovedJobsGiveTheirPlacesToOthers) {
  JobQueue queue(1, 2);
  std::promise<void> go, began, done;
  int ran = 0;
  const auto running = queue.push([&] {
    began.set_value();
    go.get_future().wait();
  });
  began.get_future().wait();
  const auto removed = queue.push([&] { ran += 10; });
  ASSERT_TRUE(running && removed && queue.push([&] { ++ran; }));
  EXPECT_FALSE(queue.push([] {}));
  EXPECT_TRUE(queue.remove(*removed));
  EXPECT_FALSE(queue.remove(*removed));
  EXPECT_FALSE(queue.remove(*running));  // it has begun
  EXPECT_TRUE(queue.push([&] { done.set_value(); }));
  go.set_value();
  done.get_future().wait();
  EXPECT_EQ(ran, 1);
}

TEST(JobQueue, OutlivesJobsThatThrow) {
  JobQueue queue(1, 8);
  std::promise<void> done;
  queue.push([] { throw std::bad_alloc(); });
  queue.push([] { throw 1; });
  queue.push([&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

HttpRequest asked(const std::string& host, const std::string& origin = "") {
  HttpRequest request;
  request.host = host;
  request.origin = origin;
  return request;
}

TEST(Access, WithoutKeysOnlyThisMachinesOwnNamesMayBeAsked) {
  const Access access;
  for (const char* host : {"localhost", "LocalHost", "localhost.", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "127.255.3.9", "[::1]", "[::1]:80",
                           "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", ""}) {
    EXPECT_TRUE(access.host_may_be_asked(asked(host))) << host;
  }
  for (const char* host : {"127.attacker.example", "127.0.0.1.nip.io", "127.0.0.1.", "127.1", "127.0.0.256", "0x7f.0.0.1", "2130706433", "localhost.example",
                           "xlocalhost", "localhost..", "128.0.0.1", "0.0.0.0", "[::2]", "[::ffff:10.0.0.1]", "[127.0.0.1]", "[127.0.0.1.example]", "::1", "127.0.0.1:80:80",
                           "localhost:x", "localhost:65536", "localhost:99999999999", "example", "169.254.1.1"}) {
    EXPECT_FALSE(access.host_may_be_asked(asked(host))) << host;
  }
  Access keyed;
  keyed.keys = {"key"};
  EXPECT_TRUE(keyed.host_may_be_asked(asked("example")));
}

TEST(Access, AnOriginIsSchemeHostAndPort) {
  const Access access;
  for (const auto& [origin, host] : {std::pair{"http://localhost:8080", "localhost:8080"}, {"http://LOCALHOST:8080", "localhost:8080"},
                                     {"http://localhost", "localhost:80"}, {"http://[::1]:1", "[::1]:1"}, {"", "localhost"}}) {
    EXPECT_TRUE(access.origin_may_ask(asked(host, origin))) << origin;
  }
  for (const auto& [origin, host] :
       {std::pair{"https://localhost:8080", "localhost:8080"}, {"ftp://localhost:8080", "localhost:8080"}, {"http://localhost:8081", "localhost:8080"},
        {"http://localhost", "localhost:8080"}, {"http://localhost:8080.example", "localhost:8080"}, {"null", "localhost"}, {"localhost", "localhost"},
        {"http://example", "localhost"}, {"chrome-extension://localhost", "localhost"}}) {
    EXPECT_FALSE(access.origin_may_ask(asked(host, origin))) << origin;
  }
}

TEST(GenerationRequest, ReadingIsChargedByWhatJsonBecomes) {
  EXPECT_EQ(parsing_bytes(std::string(1000, 'x')), 1000u);
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += "0,";
  EXPECT_GT(parsing_bytes(list), 1000 * 2 * 16u);
}

}  // namespace
}  // namespace cli::serve
