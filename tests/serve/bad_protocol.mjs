// HTTP that is none, or more of it than a server takes.
import assert from "node:assert/strict";
import { assertError, events, get, post } from "./harness.mjs";
import { Raw, exchange, posted, request } from "./raw_http.mjs";

const completions = "/v1/completions";
const small = JSON.stringify({ prompt: "x", max_tokens: 1, seed: 1 });
const limit = 8 << 20; // of a body, --body-bytes

/** An answer of this status in OpenAI's form. */
async function assertAnswer(base, bytes, status, expected = {}) {
  const answer = await exchange(base, bytes);
  const shown = JSON.stringify(bytes.toString("latin1").slice(0, 80));
  assert.ok(answer, `no answer to ${shown}`);
  assert.equal(answer.status, status, shown);
  assertError(answer.json(), expected);
}

function addRequestLines(base, checkServed) {
  checkServed("what is no HTTP", async () => {
    const lines = [
      "hello", "GET", "GET /", "GET / HTTP", "GET / HTTP/9.9", "GET  /health HTTP/1.1", "\x16\x03\x01\x02\x00\x01\x00", "PRI * HTTP/2.0",
      "G\x00T / HTTP/1.1", "GET /\x00 HTTP/1.1",
    ];
    for (const line of lines) await assertAnswer(base, request(line), 400, { type: "invalid_request_error" });
  });
  checkServed("headers that are none", async () => {
    for (const header of ["no colon\r\n", ": x\r\n", "A B: x\r\n", "A: \x00\r\n", "A: x\r\n folded\x00\r\n", "A\x01: x\r\n"]) {
      await assertAnswer(base, request("GET /health HTTP/1.1", `Host: localhost\r\n${header}`), 400);
    }
  });
  checkServed("methods that a route does not take", async () => {
    for (const [method, path, allow] of [
      ["GET", completions, "POST"],
      ["DELETE", "/v1/chat/completions", "POST"],
      ["POST", "/health", "GET"],
      ["PUT", "/v1/models", "GET"],
      ["BREW", "/health", "GET"],
      ["get", "/health", "GET"],
      ["OPTIONS", completions, "POST"],
      ["CONNECT", "/metrics", "GET"],
      ["TRACE", "/slots", "GET"],
    ]) {
      const answer = await exchange(base, request(`${method} ${path} HTTP/1.1`));
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.headers.allow, allow);
      assertError(answer.json());
    }
  });
  checkServed("paths that are not there", async () => {
    const paths = [
      "/nothing", "/v1", "/v1/", "/v1/chat/completions//", "//health", "/./health", "/../health", "/v1/../health", "/v1/../../etc/passwd",
      "/%68ealth", "/health%00", "/v1/%63ompletions", "*", "health", `/${"x".repeat(8000)}`,
    ];
    for (const path of paths) await assertAnswer(base, request(`GET ${path} HTTP/1.1`), 404, { type: "not_found_error" });
    for (const name of ["nobody", "..", "../../etc/passwd", "%2e%2e"]) {
      await assertAnswer(base, request(`GET /v1/models/${name} HTTP/1.1`), 404, { code: "model_not_found" });
    }
    await assertAnswer(base, posted("/nothing", small), 404);
  });
  checkServed("blank lines in front of a request", async () => {
    const status = async (blank) => (await exchange(base, `${blank}${request("GET /health HTTP/1.1")}`)).status;
    assert.equal(await status("\r\n"), 200);
    assert.ok([200, 400].includes(await status("\r\n\r\n"))); // of more than one RFC 9112 says nothing
  });
  checkServed("a query behind a path is nothing", async () => {
    assert.equal((await get(base, "/health?x=../y")).status, 200);
  });
}

function addHeaders(base, checkServed) {
  checkServed("header floods", async () => {
    await assertAnswer(base, request("GET /health HTTP/1.1", `Host: localhost\r\nA: ${"x".repeat(20000)}\r\n`), 431);
    await assertAnswer(base, request("GET /health HTTP/1.1", `Host: localhost\r\n${"A: x\r\n".repeat(5000)}`), 431);
    await assertAnswer(base, request(`GET /${"x".repeat(20000)} HTTP/1.1`), 431);
  });
  checkServed("a header without an end", async () => {
    const raw = new Raw(base);
    raw.send("GET /health HTTP/1.1\r\nHost: localhost\r\n");
    for (let i = 0; i < 2000 && !raw.closed; ++i) {
      raw.send(`A${i}: ${"x".repeat(1000)}\r\n`);
      await new Promise(setImmediate);
    }
    await raw.gone;
    raw.end();
  });
  checkServed("a Content-Length that is none, or two of them", async () => {
    const cases = ["-1", "x", "1x", "0x10", "18446744073709551616", "99999999999999999999999", "", "5\r\nContent-Length: 6"];
    for (const length of cases) await assertAnswer(base, request(`POST ${completions} HTTP/1.1`, `Host: localhost\r\nContent-Length: ${length}\r\n`), 400);
  });
  checkServed("a Content-Length beside chunks", async () => {
    const both = "Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    await assertAnswer(base, request(`POST ${completions} HTTP/1.1`, both) + "0\r\n\r\n", 400);
    await assertAnswer(base, request(`POST ${completions} HTTP/1.1`, "Host: localhost\r\nTransfer-Encoding: gzip\r\n"), 501);
  });
  checkServed("a Content-Length that is too small", async () => {
    const raw = new Raw(base);
    raw.send(`POST ${completions} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n${small}\r\n\r\n`);
    assert.equal((await raw.answer()).status, 400); // five bytes of JSON
    const next = await raw.answer(); // and the rest is no request
    assert.ok(next === undefined || next.status === 400);
    raw.end();
  });
}

function addBodies(base, checkServed) {
  const big = { type: "invalid_request_error" };
  checkServed("a body that says it is too large", () =>
    assertAnswer(base, request(`POST ${completions} HTTP/1.1`, `Host: localhost\r\nContent-Length: ${limit + 1}\r\n`), 413, big));
  checkServed("a body that is too large, in chunks", async () => {
    const raw = new Raw(base);
    raw.send(request(`POST ${completions} HTTP/1.1`, "Host: localhost\r\nTransfer-Encoding: chunked\r\n"));
    const piece = `10000\r\n${"x".repeat(65536)}\r\n`;
    for (let i = 0; i <= limit / 65536 && !raw.closed; ++i) {
      raw.send(piece);
      await new Promise(setImmediate);
    }
    const answer = await raw.answer();
    assert.equal(answer?.status, 413);
    assertError(answer.json(), big);
    raw.end();
  });
  checkServed("a client that sends all of a large body reads why not", async () => {
    const response = await post(base, completions, "x".repeat(limit + 4096));
    assert.equal(response.status, 413);
    assertError(await response.json(), big);
  });
  checkServed("the largest body that is taken", async () => {
    const body = JSON.stringify({ prompt: "x", max_tokens: 1, user: "" });
    const response = await post(base, completions, body.replace('""', `"${"u".repeat(limit - body.length)}"`));
    assert.equal(response.status, 200);
    assert.equal((await response.json()).choices.length, 1);
  });
  checkServed("a body in chunks is a body", async () => {
    const head = request(`POST ${completions} HTTP/1.1`, "Host: localhost\r\nTransfer-Encoding: chunked\r\n");
    const chunks = [...small].map((letter) => `1;extension=x\r\n${letter}\r\n`).join("");
    const answer = await exchange(base, `${head}${chunks}0\r\nTrailer: x\r\n\r\n`);
    assert.equal(answer.status, 200, answer.text);
    await assertAnswer(base, `${head}zz\r\n`, 400);
    await assertAnswer(base, `${head}ffffffffffffffffff\r\n`, 400);
  });
  checkServed("clients that ask before they send (Expect: 100-continue)", async () => {
    const raw = new Raw(base);
    raw.send(posted(completions, small, "Expect: 100-continue\r\n"));
    assert.equal((await raw.answer({ bodiless: true })).status, 100);
    assert.equal((await raw.answer()).status, 200);
    raw.end();
  });
}

function addConnections(base, checkServed) {
  checkServed("requests in one piece are answered in their order", async () => {
    const raw = new Raw(base);
    raw.send(Buffer.concat([
      posted(completions, small), Buffer.from(request("GET /health HTTP/1.1") + request("GET /nothing HTTP/1.1")),
      posted(completions, "x"), posted(completions, small),
    ]));
    const statuses = [];
    for (let i = 0; i < 5; ++i) statuses.push((await raw.answer()).status);
    assert.deepEqual(statuses, [200, 200, 404, 400, 200]);
    raw.end();
  });
  checkServed("HTTP/1.0", async () => {
    const raw = new Raw(base);
    raw.send(`POST ${completions} HTTP/1.0\r\nContent-Length: ${small.length}\r\n\r\n${small}`);
    const answer = await raw.answer();
    assert.equal(answer.status, 200);
    await raw.gone;
    const kept = new Raw(base);
    kept.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert.equal((await kept.answer()).status, 200);
    kept.send("GET /health HTTP/1.0\r\n\r\n");
    assert.equal((await kept.answer()).status, 200);
    await kept.gone;
  });
  checkServed("a stream over HTTP/1.0 has no chunks and ends with its connection", async () => {
    const body = JSON.stringify({ prompt: "x", max_tokens: 4, seed: 1, stream: true });
    const answer = await exchange(base, `POST ${completions} HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.equal(answer.headers["transfer-encoding"], undefined);
    const texts = [];
    for await (const { data } of events({ body: [Buffer.from(answer.text)] })) texts.push(data);
    assert.equal(texts.at(-1), "[DONE]");
  });
  checkServed("HEAD has the header of GET and no body", async () => {
    const raw = new Raw(base);
    raw.send(request("HEAD /v1/models HTTP/1.1") + request("GET /v1/models HTTP/1.1"));
    const head = await raw.answer({ bodiless: true });
    const whole = await raw.answer();
    assert.deepEqual([head.status, head.headers["content-length"]], [200, String(whole.text.length)]);
    raw.end();
  });
  checkServed("Connection: close", async () => {
    const raw = new Raw(base);
    raw.send(request("GET /health HTTP/1.1", "Host: localhost\r\nConnection: close\r\n"));
    assert.equal((await raw.answer()).headers.connection, "close");
    await raw.gone;
  });
  checkServed("clients that end their half of the connection early", async () => {
    for (let i = 0; i < 50; ++i) {
      const raw = new Raw(base);
      raw.send(posted(completions, small).subarray(0, 20 + i));
      raw.socket.end();
      await raw.gone;
    }
  });
}

function addKeys(checkServed) {
  const { SKIPSTONE_KEYED_URL: keyed, SKIPSTONE_KEY: key } = process.env;
  if (!keyed) return;
  checkServed("wrong keys", async () => {
    const values = [
      "", "x", "Bearer", "Bearer ", `Bearer ${key}x`, `Bearer ${key.slice(0, -1)}`, `Bearer  ${key}`, `Basic ${key}`,
      `Bearer ${"x".repeat(8000)}`, "Bearer \xff",
    ];
    for (const value of values) {
      const answer = await exchange(keyed, posted(completions, small, `Authorization: ${value}\r\n`));
      assert.equal(answer.status, 401, value);
      assertError(answer.json(), { type: "authentication_error", code: "invalid_api_key" });
    }
    for (const path of ["/v1/models", "/metrics", "/slots", "/props"]) assert.equal((await get(keyed, path)).status, 401, path);
    for (const path of ["/health", "/"]) assert.equal((await get(keyed, path)).status, 200, path);
    assert.equal((await post(keyed, completions, small, { key })).status, 200);
  });
  checkServed("without a key nobody learns what is wrong with a body", async () => {
    assert.equal((await post(keyed, completions, "x")).status, 401);
  });
}

function addOrigins(base, checkServed) {
  const { host } = new URL(base);
  const status = async (line, headers) => (await exchange(base, request(line, headers))).status;
  checkServed("pages of other sites", async () => {
    const answer = await exchange(base, posted(completions, small, "Origin: http://evil.example\r\n"));
    assert.equal(answer.status, 403);
    assertError(answer.json(), { type: "permission_error", code: "origin_not_allowed" });
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
    for (const origin of ["null", "http://", "evil.example", `https://${host}.evil.example`, `http://evil.example/${host}`]) {
      assert.equal(await status("GET /props HTTP/1.1", `Host: ${host}\r\nOrigin: ${origin}\r\n`), 403, origin);
    }
    assert.equal(await status("OPTIONS /v1/completions HTTP/1.1", `Host: ${host}\r\nOrigin: http://evil.example\r\n`), 403);
    assert.equal(await status("GET /props HTTP/1.1", `Host: ${host}\r\nOrigin: http://${host}\r\n`), 200);
  });
  checkServed("pages whose site's name was made to lead here", async () => {
    const names = "Host: evil.example\r\nOrigin: http://evil.example\r\n";
    assert.equal(await status("GET /props HTTP/1.1", names), 403);
    assert.equal(await status("GET /props HTTP/1.1", "Host: evil.example\r\n"), 403); // browsers send no Origin with a GET of the same site
  });
}

export function addProtocol(base, checkServed) {
  addRequestLines(base, checkServed);
  addHeaders(base, checkServed);
  addBodies(base, checkServed);
  addConnections(base, checkServed);
  addOrigins(base, checkServed);
  addKeys(checkServed);
}
