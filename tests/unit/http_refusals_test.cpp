// Requests that the server's HTTP layer refuses before it reads their bodies. Also under the sanitizers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http_server_fixture.h"

namespace cli::serve {
namespace {

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
  EXPECT_EQ(refused("POST ?c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + end + "ff\r\nPOST /a/b " + filler), "413 refused: ");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nExpect: x\r\n" + end), "417 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nTransfer-Encoding: x\r\n" + end), "501 refused: /a/b");
  EXPECT_EQ(refused("GET /a/b HTTP/1.1\r\nA: " + filler), "431 refused: /a/b");
  EXPECT_EQ(refused("GET /a/b?" + filler), "431 refused: /a/b");
  EXPECT_EQ(refused("GET /a/" + filler), "431 refused: /a/" + std::string(61, 'x'));
  EXPECT_EQ(refused(get("/throw")), "500 refused: /throw");
  EXPECT_EQ(refused(get("/large")), "400 refused: /large");
  HttpClient again = client();
  EXPECT_EQ(again.send(get("/large")).status(), 400);
  EXPECT_EQ(again.send("GET /next HTTP/1.1\r\n\r\n").status(), 400);
  EXPECT_EQ(again.body(), "refused: /next");
  server.reset();
  limits.reading = seconds(1);
  start(limits);
  EXPECT_EQ(refused("GET /a/b HTTP/1.1\r\n"), "408 refused: /a/b");
  EXPECT_EQ(refused("POST /a/b HTTP/1.1\r\nContent-Length: 5\r\n" + end), "408 refused: /a/b");
  EXPECT_EQ(refused("hello"), "408 refused: ");
}

}  // namespace
}  // namespace cli::serve
