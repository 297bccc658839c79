// Framing, names and keys: what is judged by a request's header alone.
import assert from "node:assert/strict";
import { badCodings, completions, ownHosts, small, strangeHosts } from "./attacks.mjs";
import { assertError, check, sleep, within } from "./harness.mjs";
import { Raw, exchange, posted, request } from "./raw_http.mjs";

const body = JSON.stringify(small);
const shown = (text) => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);

/** All answers to these bytes until the server ends the connection. */
async function answersUntilTheEnd(base, bytes) {
  const raw = new Raw(base).send(bytes);
  const answers = [];
  for (let answer; (answer = await within(5, () => raw.answer(), `an answer to ${shown(bytes.toString("latin1"))} or the end of its connection`)); ) answers.push(answer);
  raw.end();
  return answers;
}

/** One refusal of these statuses, and the end of the connection. */
async function assertRefused(base, bytes, statuses) {
  const answers = await answersUntilTheEnd(base, bytes);
  assert.deepEqual(answers.map(({ status }) => statuses.includes(status)), [true], `${answers.map(({ status }) => status)} to ${shown(bytes.toString("latin1"))}`);
  assertError(answers[0].json());
  if (bytes.includes(" HTTP/1.1\r\n")) assert.equal(answers[0].headers.connection, "close"); // in HTTP/1.0 that is the rule
}

function addFraming(base) {
  const smuggled = request("GET /smuggled HTTP/1.1");
  check("transfer codings that are not chunked alone end the connection, and nothing behind them is a request", async () => {
    for (const coding of badCodings) await assertRefused(base, `POST /tokenize HTTP/1.1\r\nHost: localhost\r\n${coding}\r\n${smuggled}`, [400, 501]);
    for (const coding of ["chunked", "identity", "gzip"]) {
      await assertRefused(base, `POST /tokenize HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n\r\n${smuggled}`, [400, 501]);
    }
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    assert.equal((await exchange(base, request(`POST ${completions} HTTP/1.1`, "Host: localhost\r\nTransfer-Encoding: CHUNKED\r\n") + chunks)).status, 200);
  });
  check("a Content-Length that stands twice ends the connection", async () => {
    for (const lengths of ["4\r\nContent-Length: 4", "4, 4", "4,5", "4\r\nContent-Length: 5"]) {
      await assertRefused(base, `POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${lengths}\r\n\r\nabcd${smuggled}`, [400]);
    }
  });
  check("Host has to stand there once", async () => {
    for (const headers of ["", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost\r\nHost: evil.example\r\n", "Host: local host\r\n"]) {
      for (const line of ["GET /health HTTP/1.1", "GET /props HTTP/1.1", "GET /nothing HTTP/1.1"]) {
        assert.equal((await exchange(base, request(line, headers))).status, 400, headers);
      }
    }
    assert.equal((await exchange(base, "GET /health HTTP/1.0\r\n\r\n")).status, 200);
  });
  check("an expectation that nobody knows is 417, before the body", async () => {
    for (const expect of ["200-ok", "100-continue, x", "x=y"]) {
      const head = posted(completions, body, `Expect: ${expect}\r\n`).subarray(0, -body.length);
      const answer = await within(5, () => exchange(base, head), "an answer");
      assert.equal(answer.status, 417, expect);
      assertError(answer.json());
    }
  });
  check("a blank line in front of a request is nothing", async () => {
    const raw = new Raw(base);
    raw.send(`\r\n${request("GET /health HTTP/1.1")}\r\n${request("GET /nothing HTTP/1.1")}`).send("\r\n").send(posted(completions, body));
    const statuses = [];
    for (let i = 0; i < 3; ++i) statuses.push((await within(5, () => raw.answer(), "an answer"))?.status);
    raw.end();
    assert.deepEqual(statuses, [200, 404, 200]);
  });
}

function addNames(base) {
  const { host } = new URL(base);
  const status = async (line, headers) => (await exchange(base, request(line, headers))).status;
  check("names that look like this machine's are strangers", async () => {
    for (const name of strangeHosts) {
      const got = await status("GET /props HTTP/1.1", `Host: ${name}\r\n`);
      assert.ok([400, 403].includes(got), `${name}: ${got}`);
    }
    for (const name of ownHosts) assert.equal(await status("GET /props HTTP/1.1", `Host: ${name}\r\n`), 200, name);
  });
  check("the name in a proxy's form of target counts", async () => {
    for (const name of ["evil.example", "127.0.0.1.nip.io", "", "x@127.0.0.1"]) {
      const got = await status(`GET http://${name}/props HTTP/1.1`, `Host: ${host}\r\n`);
      assert.ok([400, 403].includes(got), `${name}: ${got}`);
    }
    assert.equal(await status(`GET http://${host}/props HTTP/1.1`, `Host: ${host}\r\n`), 200);
  });
  check("an Origin of another scheme or port is another site", async () => {
    const strangers = [`https://${host}`, `file://${host}`, `ftp://${host}`, "http://127.0.0.1:1", `http://${host}0`, `http://x@${host}`, "http://localhost", `${host}`, `//${host}`, `x://${host}`];
    for (const origin of strangers) {
      for (const line of ["GET /props HTTP/1.1", "GET /health HTTP/1.1"]) assert.equal(await status(line, `Host: ${host}\r\nOrigin: ${origin}\r\n`), 403, origin);
    }
    assert.equal(await status("GET /props HTTP/1.1", `Host: ${host}\r\nOrigin: http://${host}\r\n`), 200);
  });
}

function addKeys(keyed, plain) {
  const bytes = 1 << 20;
  const framings = { length: `Content-Length: ${bytes}\r\n`, chunks: "Transfer-Encoding: chunked\r\n" };
  const early = async (base, what, head, expected) => {
    for (const [name, framing] of Object.entries(framings)) {
      for (const expect of ["", "Expect: 100-continue\r\n"]) {
        const answer = await within(5, () => exchange(base, `${head}${framing}${expect}\r\n`), `${what}, with ${name} and ${expect || "no Expect"}: an answer before the body`);
        assert.equal(answer?.status, expected, `${what}, with ${name} and ${expect || "no Expect"}`);
        assertError(answer.json());
      }
    }
  };
  const post = (path, more = "", host = "localhost") => `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}`;
  check("who has no key is refused before the body, and is not asked for it", async () => {
    await early(keyed, "no key", post(completions), 401);
    await early(keyed, "a wrong key", post("/tokenize", "Authorization: Bearer wrong\r\n"), 401);
    await early(keyed, "another scheme", post("/v1/responses", "Authorization: Basic sesame\r\n"), 401);
  });
  check("so are wrong routes, methods, names and origins", async () => {
    await early(plain, "a route", post("/nothing"), 404);
    await early(plain, "a method", "PUT /v1/completions HTTP/1.1\r\nHost: localhost\r\n", 405);
    await early(plain, "a method of another route", post("/v1/models"), 405);
    await early(plain, "a name", post(completions, "", "evil.example"), 403);
    await early(plain, "an origin", post(completions, "Origin: http://evil.example\r\n"), 403);
  });
  check("a body that is announced as too large is refused before it comes", async () => {
    const head = post(completions, `Content-Length: ${(8 << 20) + 1}\r\nExpect: 100-continue\r\n`);
    assert.equal((await within(5, () => exchange(plain, `${head}\r\n`), "an answer")).status, 413);
  });
  check("401 says how to ask", async () => {
    const answer = await exchange(keyed, request("GET /v1/models HTTP/1.1"));
    assert.equal(answer.status, 401);
    assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer/);
  });
  check("a refusal is read by a client that sends its body all the same", async () => {
    for (let i = 0; i < 4; ++i) {
      const raw = new Raw(keyed).send(`${post(completions)}Content-Length: ${8 << 20}\r\n\r\n`);
      await sleep(i * 5);
      raw.send(Buffer.alloc(8 << 20, "x"));
      assert.equal((await within(5, () => raw.answer(), "an answer"))?.status, 401);
      raw.end();
    }
  });
}

export function addHttp(plain, keyed) {
  addFraming(plain);
  addNames(plain);
  addKeys(keyed, plain);
}
