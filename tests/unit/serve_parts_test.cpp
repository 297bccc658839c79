// Parts of the server that need no socket: its queue, and which names of hosts and origins may ask.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/access.h"
#include "serve/api_error.h"
#include "serve/choices.h"
#include "serve/event_stream.h"
#include "serve/generation_request.h"
#include "serve/job_queue.h"
#include "serve/model_store.h"

namespace cli::serve {
namespace {

// Requests that came before a load failed get its error, waiting or still in a queue; a later one tries again.
TEST(ModelStore, RequestsShareTheFailureOfALoad) {
  std::atomic<int> loads{0};
  std::promise<void> go;
  const std::shared_future<void> all_wait = go.get_future().share();
  const auto load = [&](const ModelFile&, const ModelStore::KeepGoing&) -> std::unique_ptr<const Model> {
    ++loads;
    all_wait.wait();
    throw std::runtime_error("damaged");
  };
  ModelStore store({{"one.gguf", "one", {"one"}}}, load, nullptr, {});
  const auto ask = [&](ModelStore::Clock::time_point since) -> std::string {
    try {
      store.acquire(0, {ModelStore::Use::generation, since, [] { return true; }});
      return "loaded";
    } catch (const ApiError& error) {
      return error.what();
    }
  };
  const auto came = ModelStore::Clock::now();
  std::vector<std::future<std::string>> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(std::async(std::launch::async, ask, came));
  while (loads == 0) std::this_thread::yield();
  EXPECT_EQ(store.state(0).status, ModelStore::Status::loading);
  go.set_value();
  for (auto& one : waiting) EXPECT_EQ(one.get(), "the model 'one' cannot be loaded: damaged");
  EXPECT_EQ(ask(came), "the model 'one' cannot be loaded: damaged") << "it waited in a queue";
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(store.state(0).status, ModelStore::Status::unloaded);
  EXPECT_EQ(ask(ModelStore::Clock::now()), "the model 'one' cannot be loaded: damaged");
  EXPECT_EQ(loads, 2);
}

// Whose client has left may fail for want of memory that others would have got.
TEST(ModelStore, AFailureOfARequestThatLeftIsItsOwn) {
  std::atomic<int> loads{0};
  std::atomic<bool> stays{true};
  const auto load = [&](const ModelFile&, const ModelStore::KeepGoing&) -> std::unique_ptr<const Model> {
    stays = false;
    throw std::runtime_error(++loads == 1 ? "no memory" : "damaged");
  };
  ModelStore store({{"one.gguf", "one", {"one"}}}, load, nullptr, {});
  const auto came = ModelStore::Clock::now();
  EXPECT_THROW(store.acquire(0, {ModelStore::Use::text, came, [&] { return stays.load(); }}), ApiError);
  try {
    store.acquire(0, {ModelStore::Use::text, came, [] { return true; }});
    ADD_FAILURE();
  } catch (const ApiError& error) {
    EXPECT_EQ(std::string(error.what()), "the model 'one' cannot be loaded: damaged");
  }
  EXPECT_EQ(loads, 2);
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
  done.get_future().wait();
}

TEST(JobQueue, OffersJobsToFreeThreadsAlone) {
  std::promise<void> go, began;
  const std::shared_future<void> gone = go.get_future().share();
  auto queue = std::make_unique<JobQueue>(2, 8);
  ASSERT_TRUE(queue->offer([&] { began.set_value(), gone.wait(); }));
  began.get_future().wait();
  ASSERT_TRUE(queue->offer([&] { gone.wait(); }));
  EXPECT_FALSE(queue->offer([] {}));
  EXPECT_TRUE(queue->push([] {}));
  go.set_value();
}

/// Choices that are made when their turns come: the indices in the order of their ends.
std::vector<std::uint32_t> made_choices(std::size_t threads, std::uint32_t count, std::size_t& together) {
  JobQueue queue(threads, 0);
  Cancellation cancellation;
  std::mutex mutex;
  std::condition_variable begun;
  std::vector<std::uint32_t> ended;
  std::size_t running = 0;
  bool prompt_read = false;
  const auto run_one = [&](std::uint32_t index, const std::function<void()>& on_prompt_read) {
    {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(prompt_read, index > 0);
      prompt_read = true;
      together = std::max(together, ++running);
      begun.notify_all();
    }
    if (on_prompt_read) on_prompt_read();
    std::unique_lock lock(mutex);
    begun.wait_for(lock, threads < 20 ? std::chrono::milliseconds(20) : std::chrono::minutes(1), [&] { return together > 1; });
    --running;
    ended.push_back(index);
  };
  Choices(
      count, cancellation, [&](std::function<void()> job) { return queue.offer(std::move(job)); }, run_one)
      .run();
  std::ranges::sort(ended);
  return ended;
}

TEST(Choices, RunOnFreeThreadsOrOneAfterTheOther) {
  for (const std::size_t threads : {0u, 1u, 3u, 20u}) {
    std::size_t together = 0;
    EXPECT_EQ(made_choices(threads, 5, together), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    EXPECT_LE(together, threads + 1);
    EXPECT_TRUE(together > 1 || threads < 20);
    EXPECT_EQ(made_choices(threads, 1, together), std::vector<std::uint32_t>{0});
  }
}

TEST(Choices, AFailureOfOneEndsTheOthers) {
  JobQueue queue(3, 0);
  Cancellation cancellation;
  std::atomic<int> begun{0};
  const auto run_one = [&](std::uint32_t index, const std::function<void()>& on_prompt_read) {
    ++begun;
    if (on_prompt_read) on_prompt_read();
    if (index == 1) throw std::runtime_error("the second one");
    while (!cancellation.cancelled()) std::this_thread::yield();
  };
  Choices choices(
      100, cancellation, [&](std::function<void()> job) { return queue.offer(std::move(job)); }, run_one);
  EXPECT_THROW(choices.run(), std::runtime_error);
  EXPECT_LT(begun, 20);
}

/// The exchange of a streamed answer, as text.
class Written : public Exchange {
 public:
  unsigned respond(HttpReply reply) override {
    text += std::to_string(reply.status);
    return reply.status;
  }
  void begin(std::string_view, const Headers&) override { text += "header "; }
  void send(std::string piece) override { text += piece; }
  void end() override { text += "end"; }
  void on_gone(std::function<void()>) override {}
  bool gone() const override { return false; }
  std::string text;
};

TEST(EventStream, KeepsAClientThatWaits) {
  const auto written = std::make_shared<Written>();
  EventStream stream(written, Form::chat);
  const auto begin = EventStream::Clock::now();
  stream.keep_alive(begin);
  EXPECT_EQ(written->text, "");
  stream.keep_alive(begin + std::chrono::milliseconds(500));
  EXPECT_EQ(written->text, "header ");
  stream.keep_alive(begin + std::chrono::milliseconds(900));
  EXPECT_EQ(std::exchange(written->text, ""), "header ");
  stream.keep_alive(begin + std::chrono::seconds(1));
  EXPECT_TRUE(written->text.starts_with(": ") && written->text.ends_with("\n\n")) << written->text;
  const std::string first = std::exchange(written->text, "");
  stream.keep_alive(begin + std::chrono::milliseconds(1100));
  EXPECT_EQ(written->text, "");
  stream.keep_alive(begin + std::chrono::seconds(3));
  EXPECT_EQ(std::exchange(written->text, ""), first);
  stream.send("data: x\n\n");
  EXPECT_EQ(std::exchange(written->text, ""), "data: x\n\n");
  stream.respond({503, "application/json", "{}", {}});
  EXPECT_EQ(std::exchange(written->text, ""), "data: {}\n\ndata: [DONE]\n\nend");
  stream.keep_alive(begin + std::chrono::hours(1));
  EXPECT_EQ(written->text, "");
}

TEST(EventStream, AnErrorBeforeTheHeaderHasItsStatus) {
  const auto written = std::make_shared<Written>();
  EventStream stream(written, Form::responses);
  stream.respond({400, "application/json", "{}", {}});
  stream.keep_alive(EventStream::Clock::now() + std::chrono::hours(1));
  EXPECT_EQ(written->text, "400");
}

HttpRequest asked(const std::string& host, const std::string& origin = "") {
  HttpRequest request;
  request.host = host;
  request.origin = origin;
  return request;
}

TEST(Access, WithoutKeysOnlyThisMachinesOwnNamesMayBeAsked) {
  const Access access;
  for (const char* host : {"localhost", "LocalHost", "localhost.", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "127.255.3.9", "[::1]",
                           "[::1]:80", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", ""}) {
    EXPECT_TRUE(access.host_may_be_asked(asked(host))) << host;
  }
  for (const char* host : {"127.attacker.example",
                           "127.0.0.1.nip.io",
                           "127.0.0.1.",
                           "127.1",
                           "127.0.0.256",
                           "0x7f.0.0.1",
                           "2130706433",
                           "localhost.example",
                           "xlocalhost",
                           "localhost..",
                           "128.0.0.1",
                           "0.0.0.0",
                           "[::2]",
                           "[::ffff:10.0.0.1]",
                           "[127.0.0.1]",
                           "[127.0.0.1.example]",
                           "::1",
                           "127.0.0.1:80:80",
                           "localhost:x",
                           "localhost:65536",
                           "localhost:99999999999",
                           "example",
                           "169.254.1.1"}) {
    EXPECT_FALSE(access.host_may_be_asked(asked(host))) << host;
  }
  Access keyed;
  keyed.keys = {"key"};
  EXPECT_TRUE(keyed.host_may_be_asked(asked("example")));
}

TEST(Access, AnOriginIsSchemeHostAndPort) {
  const Access access;
  for (const auto& [origin, host] : {std::pair{"http://localhost:8080", "localhost:8080"},
                                     {"http://LOCALHOST:8080", "localhost:8080"},
                                     {"http://localhost", "localhost:80"},
                                     {"http://[::1]:1", "[::1]:1"},
                                     {"", "localhost"}}) {
    EXPECT_TRUE(access.origin_may_ask(asked(host, origin))) << origin;
  }
  for (const auto& [origin, host] : {std::pair{"https://localhost:8080", "localhost:8080"},
                                     {"ftp://localhost:8080", "localhost:8080"},
                                     {"http://localhost:8081", "localhost:8080"},
                                     {"http://localhost", "localhost:8080"},
                                     {"http://localhost:8080.example", "localhost:8080"},
                                     {"null", "localhost"},
                                     {"localhost", "localhost"},
                                     {"http://example", "localhost"},
                                     {"chrome-extension://localhost", "localhost"}}) {
    EXPECT_FALSE(access.origin_may_ask(asked(host, origin))) << origin;
  }
}

TEST(GenerationRequest, MinusOneIsNoLimitAndNoSeed) {
  const auto read = [](const std::string& fields) { return read_request(Form::chat, R"({"messages": [{}], )" + fields + "}", {}); };
  EXPECT_FALSE(read(R"("seed": -1)").seed);
  EXPECT_EQ(read(R"("seed": -2)").seed, static_cast<std::uint64_t>(-2));
  EXPECT_EQ(read(R"("seed": 18446744073709551615)").seed, static_cast<std::uint64_t>(-1));
  EXPECT_FALSE(read(R"("max_tokens": -1)").max_tokens);
  EXPECT_FALSE(read(R"("max_tokens": 5, "max_completion_tokens": -1)").max_tokens);
  EXPECT_EQ(read(R"("max_tokens": 0)").max_tokens, 0u);
  EXPECT_THROW(read(R"("max_tokens": -2)"), ApiError);
  EXPECT_FALSE(read_request(Form::responses, R"({"input": "x", "max_output_tokens": -1})", {}).max_tokens);
}

TEST(GenerationRequest, ReadingIsChargedByWhatJsonBecomes) {
  EXPECT_EQ(parsing_bytes(std::string(1000, 'x')), 1000u);
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += "0,";
  EXPECT_GT(parsing_bytes(list), 1000 * 2 * 16u);
}

}  // namespace
}  // namespace cli::serve
