// The server's HTTP layer without a model: what memory is charged, which connections make room, and what becomes of exceptions. Also under
// the sanitizers.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http_server_fixture.h"
#include "serve/http/server.h"

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

TEST_F(HttpServerTest, AnswersOneRequestAfterAnotherAndIgnoresBlankLines) {
  start();
  HttpClient one = client();
  EXPECT_EQ(one.send(post("/", "a")).status(), 200);
  EXPECT_EQ(one.body(), "a");
  one.send("\r\n\r\n" + post("/", "b") + "\r\n" + post("/", "c"));
  EXPECT_EQ(one.status(), 200);
  EXPECT_EQ(one.body(), "b");
  EXPECT_EQ(one.status(), 200);
  EXPECT_EQ(one.body(), "c");
}

TEST_F(HttpServerTest, BodiesAreChargedAsTheyComeAndTheOldestMakesRoom) {
  HttpLimits limits;
  limits.memory_bytes = 8 << 20;
  limits.body_bytes = 4 << 20;
  start(limits);
  const std::string announced = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n";
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(std::make_unique<HttpClient>(server->port()));
  for (const auto& one : silent) one->send(announced);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(server->memory()->used(MemoryUse::bodies), 1u << 20);  // what was announced is not taken
  HttpClient first = client(), second = client();
  first.send(announced + std::string(3'000'000, 'x'));
  EXPECT_TRUE(soon([&] { return server->memory()->used(MemoryUse::bodies) > 3'000'000; }));
  second.send(announced + std::string(3'999'999, 'y'));
  EXPECT_EQ(second.status(), 503);
  EXPECT_TRUE(first.closes());
  EXPECT_TRUE(soon([&] { return server->memory()->used(MemoryUse::bodies) < 100'000; }));
  EXPECT_EQ(client().send(post("/", std::string(2'000'000, 'z'))).status(), 200);
  EXPECT_TRUE(soon([&] { return server->memory()->used(MemoryUse::answers) + server->memory()->used(MemoryUse::bodies) == 0; }));
}

TEST_F(HttpServerTest, AnswersHaveALimitOfSizeMemoryAndTime) {
  HttpLimits limits;
  limits.answer_bytes = 1 << 19;
  start(limits);
  EXPECT_EQ(client().send(get("/large")).status(), 400);
  server.reset();
  limits.answer_bytes = 1 << 21;
  limits.memory_bytes = 1 << 20;
  start(limits);
  EXPECT_EQ(client().send(get("/large")).status(), 503);
}

TEST_F(HttpServerTest, TheConnectionThatHasWaitedLongestMakesRoom) {
  HttpLimits limits;
  limits.connections = 4;
  start(limits);
  HttpClient used = client();
  ASSERT_EQ(used.send(get("/")).status(), 200);
  ASSERT_TRUE(soon([&] { return server->busy() == 0; }));  // it is idle, and the first one that is
  HttpClient held_one = client();
  held_one.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  HttpClient silent = client(), half = client();
  half.send("POST / HTTP/1.1\r\n");
  ASSERT_TRUE(soon([&] { return server->connections() == 4; }));
  EXPECT_EQ(client().send(get("/")).status(), 200);
  EXPECT_TRUE(used.closes());
  EXPECT_EQ(client().send(get("/")).status(), 200);
  EXPECT_FALSE(held_one.closes(milliseconds(50)));  // a request in work is not idle
}

TEST_F(HttpServerTest, ClientsThatGoAreNoticedWhateverTheyHaveSent) {
  for (const std::size_t more : {0, 1, 100, 100'000, 4'000'000}) {
    start();
    HttpClient one = client();
    one.send(get("/hold") + std::string(more, 'x'));
    ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
    std::this_thread::sleep_for(milliseconds(20));
    one.close();
    EXPECT_TRUE(becomes_gone()) << more;
    EXPECT_TRUE(exchange()->gone());
    gone = {};
    was_gone = false;
    TearDown();
  }
}

TEST_F(HttpServerTest, ManyRequestsAtOnceAreAnsweredAndThoseBehindALongOneAreDropped) {
  start();
  HttpClient many = client();
  std::string requests;
  for (int i = 0; i < 3000; ++i) requests += post("/", std::to_string(i));
  many.send(requests);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(many.status(), 200) << i;
    ASSERT_EQ(many.body(), std::to_string(i));
  }
  HttpClient after = client();
  after.send(get("/hold"));
  const auto held_one = exchange();
  after.send(requests);
  std::this_thread::sleep_for(milliseconds(500));
  held_one->respond({200, "text/plain", "done", {}});
  EXPECT_EQ(after.status(), 200);
  EXPECT_EQ(after.body(), "done");
  EXPECT_EQ(after.status(), 0);
}

TEST_F(HttpServerTest, ARequestBehindAnAnswerToAClientThatHasGoneIsNotInWork) {
  start();
  for (int i = 0; i < 200; ++i) {
    HttpClient one = client();
    one.send(get("/") + get("/hold"));
    one.close();
  }
  std::this_thread::sleep_for(milliseconds(100));
  release();
  EXPECT_TRUE(soon([&] { return server->busy() == 0 && server->connections() == 0; }));
}

TEST_F(HttpServerTest, ConnectionsThatWereRefusedMakeRoomToo) {
  HttpLimits limits;
  limits.connections = 4;
  start(limits);
  std::vector<std::unique_ptr<HttpClient>> refused;
  for (int i = 0; i < 4; ++i) {
    refused.push_back(std::make_unique<HttpClient>(server->port()));
    EXPECT_EQ(refused.back()->send("POST /forbidden HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n").status(), 403);
  }
  EXPECT_EQ(client().send(get("/")).status(), 200);
  EXPECT_EQ(client().send("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n").status(), 413);
}

TEST_F(HttpServerTest, ExceptionsEndTheirConnectionAlone) {
  start();
  HttpClient kept = client();
  ASSERT_EQ(kept.send(get("/")).status(), 200);
  EXPECT_EQ(client().send(get("/throw")).status(), 500);
  EXPECT_EQ(client().send(get("/memory")).status(), 503);
  HttpClient dropped = client();
  EXPECT_EQ(dropped.send(get("/drop")).status(), 0);  // no task holds its exchange any more
  EXPECT_EQ(kept.send(get("/")).status(), 200);
  EXPECT_TRUE(soon([&] { return server->busy() == 0; }));
}

TEST_F(HttpServerTest, StopsWhileRequestsAreInWork) {
  start();
  HttpClient one = client(), half = client();
  one.send(get("/hold"));
  half.send("GET ");
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  server->stop();
  exchange()->respond({200, "text/plain", "late", {}});
  release();
  server.reset();
  EXPECT_TRUE(one.closes());
}

// A proxy sends a request to another server where a connection ends without an answer, and not where it is reset.
TEST_F(HttpServerTest, EndsIdleConnectionsWithoutResettingThem) {
  start();
  HttpClient idle = client(), late = client(), half = client(), working = client();
  working.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  ASSERT_EQ(idle.send(get("/")).status(), 200);
  ASSERT_EQ(late.send(get("/")).status(), 200);
  half.send("GET ");
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  server->end_connections();
  EXPECT_TRUE(idle.closes());
  EXPECT_TRUE(late.closes());
  late.send(get("/"));  // it was on its way
  EXPECT_EQ(late.status(), 0);
  EXPECT_TRUE(half.closes());
  for (HttpClient* ended : {&idle, &late, &half}) EXPECT_FALSE(ended->was_reset());
  exchange()->respond({200, "text/plain", "whole", {}});
  release();
  EXPECT_EQ(working.status(), 200);
  const auto refused = [&] {
    try {
      client();
      return false;
    } catch (const boost::system::system_error&) {
      return true;
    }
  };
  EXPECT_TRUE(soon(refused)) << "new connections are refused";
}

TEST_F(HttpServerTest, StreamsEndWhereNothingIsReadAndInHttp10ByTheConnection) {
  HttpLimits limits;
  limits.unread_bytes = 1 << 20;
  start(limits);
  HttpClient one = client();
  one.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  exchange()->begin("text/plain");
  for (int i = 0; i < 64 && !exchange()->gone(); ++i) {
    exchange()->send(std::string(1 << 19, 'x'));
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(exchange()->gone());
  release();
  HttpClient old = client();
  old.send("GET /hold HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(soon([&] { return server->busy() == 1; }));
  exchange()->begin("text/plain");
  exchange()->send("abc");
  exchange()->end();
  EXPECT_TRUE(old.closes());
}

TEST_F(HttpServerTest, ManyClientsAtOnce) {
  start();
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 50; ++i) {
        HttpClient one = client();
        const std::string body = std::to_string(c * 1000 + i);
        if (one.send(post("/", body)).status() == 200 && one.body() == body) ++right;
        if (i % 5 == 0) client().send(post("/", std::string(100'000, 'x')));
      }
    });
  }
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(right, 200);
  EXPECT_TRUE(soon([&] { return server->connections() == 0; }));
  EXPECT_EQ(server->memory()->used(), 0u);
}

}  // namespace
}  // namespace cli::serve
