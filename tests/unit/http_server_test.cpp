// The server's HTTP layer without a model: who is refused before a body is read, what memory is charged, which connections make room, and
// what becomes of exceptions. Also under the sanitizers.
#include "serve/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fixtures/http_client.h"

namespace cli::serve {
namespace {

using fixtures::HttpClient;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"; }
std::string post(const std::string& path, const std::string& body, const std::string& fields = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Routes: /forbidden is refused by its header; /hold is never answered until released; /large answers 1 MiB; /throw, /memory and /drop do
/// what they say; else the body comes back.
class HttpServerTest : public testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    const auto gate = [](const HttpRequest& request) {
      return request.path == "/forbidden" ? std::optional(HttpReply{403, "text/plain", "no", {}}) : std::nullopt;
    };
    const auto handler = [this](HttpRequest request, const std::shared_ptr<Exchange>& exchange) {
      ++requests;
      if (request.path == "/throw") throw std::runtime_error("thrown");
      if (request.path == "/memory") throw std::bad_alloc();
      if (request.path == "/drop") return;
      if (request.path == "/large") {
        exchange->respond({200, "text/plain", std::string(1 << 20, 'x'), {}});
        return;
      }
      if (request.path == "/hold") {
        exchange->on_gone([this] {
          if (!was_gone.exchange(true)) gone.set_value();
        });
        const std::lock_guard lock(mutex);
        held.push_back(exchange);
        return;
      }
      exchange->respond({200, "text/plain", std::move(request.body), {}});
    };
    server = std::make_unique<HttpServer>(
        "127.0.0.1", 0, limits, HttpServer::Callbacks{gate, handler, [](std::string_view path, unsigned status, std::string_view) {
                                                        return HttpReply{status, "text/plain", "refused: " + std::string(path), {}};
                                                      }});
    server->start();
  }
  HttpClient client() const { return HttpClient(server->port()); }
  /// The exchange of a request to /hold, as soon as it is there.
  std::shared_ptr<Exchange> exchange() {
    while (true) {
      const std::lock_guard lock(mutex);
      if (!held.empty()) return held.front();
      std::this_thread::yield();
    }
  }
  void release() {
    const std::lock_guard lock(mutex);
    held.clear();
  }
  bool becomes_gone() { return gone.get_future().wait_for(seconds(5)) == std::future_status::ready; }
  void TearDown() override {
    if (server) server->stop();
    release();
    server.reset();
  }

  std::atomic<int> requests{0};
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> held;
  std::promise<void> gone;
  std::atomic<bool> was_gone{false};
  std::unique_ptr<HttpServer> server;
};

/// Waits until `holds`.
template <typename Holds>
bool soon(const Holds& holds) {
  for (int i = 0; i < 500 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return holds();
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

TEST_F(HttpServerTest, RefusesByTheHeaderBeforeTheBody) {
  start();
  HttpClient announces = client();
  const std::string head = "POST /forbidden HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 8000000\r\n\r\n";
  EXPECT_EQ(announces.send(head).status(), 403);  // and not 100
  EXPECT_TRUE(announces.closes());
  HttpClient without_body = client();
  EXPECT_EQ(without_body.send(get("/forbidden")).status(), 403);
  EXPECT_EQ(without_body.send(get("/")).status(), 200);
  EXPECT_EQ(requests, 1);
}

TEST_F(HttpServerTest, RefusesFramingThatReadersUnderstandDifferently) {
  start();
  const std::string next = "GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::vector<std::pair<std::string, int>> cases{
      {"Transfer-Encoding: identity\r\n", 501},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: chunked, identity\r\n", 501},
      {"Transfer-Encoding: chunked,\r\n", 501},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Content-Length: 0\r\nContent-Length: 0\r\n", 400},
      {"Content-Length: +0\r\n", 400},
      {"Content-Length: 0, 0\r\n", 400},
      {"Content-Length:\r\n 0\r\n", 400},
      {"Transfer-Encoding:\r\n chunked\r\n", 400},
      {"Host: other\r\n", 400},
      {"Expect: 200-ok\r\n", 417},
  };
  for (const auto& [fields, status] : cases) {
    HttpClient one = client();
    EXPECT_EQ(one.send("POST / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n" + next).status(), status) << fields;
    EXPECT_EQ(one.status(), 0) << fields;
  }
  for (const std::string host :
       {"", "Host: a b\r\n", "Host: a@b\r\n", "Host: a:b\r\n", "Host: a/b\r\n", "Host: [::1\r\n", "Host: [g]\r\n", "Host: a:1:2\r\n"}) {
    HttpClient one = client();
    EXPECT_EQ(one.send("GET / HTTP/1.1\r\n" + host + "\r\n" + next).status(), 400) << host;
    EXPECT_EQ(one.status(), 0) << host;
  }
  for (const std::string target : {"http:///", "http://a@b/", "http://:80/"}) {
    EXPECT_EQ(client().send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status(), 400) << target;
  }
  EXPECT_EQ(client().send("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status(), 400);
  EXPECT_EQ(requests, 0);
  EXPECT_EQ(client().send("GET http://localhost:1?x HTTP/1.1\r\nHost: other\r\n\r\n").status(), 200);
  EXPECT_EQ(client().send("GET / HTTP/1.0\r\n\r\n").status(), 200);
}

TEST_F(HttpServerTest, HeadersExtensionsAndTrailersHaveLimits) {
  start();
  const std::string chunked = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", filler(1 << 20, 'x');
  EXPECT_EQ(client().send(chunked + "1;" + filler).status(), 431);
  EXPECT_EQ(client().send(chunked + "0\r\nA: " + filler).status(), 431);
  EXPECT_EQ(client().send("GET /" + filler).status(), 431);
  std::string fields;
  for (int i = 0; i < 200; ++i) fields += "a:b\r\n";
  EXPECT_EQ(client().send("GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n").status(), 431);
  EXPECT_EQ(client().send(chunked + "3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n").status(), 200);
}

// APIs have their errors in forms of their own.
TEST_F(HttpServerTest, RefusalsKnowThePath) {
  HttpLimits limits;
  limits.reading = seconds(1);
  limits.answer_bytes = 1 << 19;
  limits.body_bytes = 100;
  start(limits);
  const std::string end = "Host: localhost\r\n\r\n", filler(1 << 16, 'x');
  const auto refused = [&](const std::string& bytes) {
    HttpClient one = client();
    const int status = one.send(bytes).status();
    return std::to_string(status) + " " + one.body();
  };
  EXPECT_EQ(refused("GET /a/b?c HTTP/9.9\r\n" + end), "400 refused: /a/b");
  EXPECT_EQ(refused("GET /a/b HTTP/1.1\r\n\r\n"), "400 refused: /a/b");
  EXPECT_EQ(refused("POST http://h/a/b HTTP/1.1\r\nContent-Length: 200\r\n" + end), "413 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + end + "ff\r\n" + filler), "413 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nExpect: x\r\n" + end), "417 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nTransfer-Encoding: x\r\n" + end), "501 refused: /a/b");
  EXPECT_EQ(refused("GET /a/b HTTP/1.1\r\nA: " + filler), "431 refused: /a/b");
  EXPECT_EQ(refused("GET /a/b?" + filler), "431 refused: /a/b");
  EXPECT_EQ(refused("GET /a/" + filler), "431 refused: /a/" + std::string(61, 'x'));
  EXPECT_EQ(refused("GET /a/b HTTP/1.1\r\n"), "408 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nContent-Length: 5\r\n" + end), "408 refused: /a/b");
  EXPECT_EQ(refused(get("/throw")), "500 refused: /throw");
  EXPECT_EQ(refused(get("/large")), "400 refused: /large");
  EXPECT_EQ(refused("hello"), "408 refused: ");
  HttpClient again = client();
  EXPECT_EQ(again.send(get("/large")).status(), 400);
  EXPECT_EQ(again.send("GET /next HTTP/1.1\r\n\r\n").status(), 400);
  EXPECT_EQ(again.body(), "refused: /next");
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
