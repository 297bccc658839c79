// protocol_test.mjs PROGRAM MODEL: what clients expect of the protocol beyond the fields of a request: events of streams, browsers, special numbers, the
// queue, routes, choices side by side, biases. No packages.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, assertError, check, events, get, metric, post, run, sleep, startServer, until } from "./harness.mjs";
import { exchange, posted, request } from "./raw_http.mjs";

const [program, model] = process.argv.slice(2);
if (!model) {
  console.error("usage: protocol_test.mjs PROGRAM MODEL");
  process.exit(2);
}
const chat = "/v1/chat/completions", completions = "/v1/completions", responses = "/v1/responses", anthropic = "/v1/messages";
const messages = [{ role: "user", content: "Go on." }];
const page = "http://page.example";
const folder = mkdtempSync(join(tmpdir(), "skipstone-protocol-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const template = join(folder, "template.jinja");
writeFileSync(template, "{{ bos_token }}{% for m in messages %}({{ m.role }}) {{ m.content }}\n{% endfor %}(answer)");

const plain = await startServer(program, model, ["--cors-origin", page, "--chat-template", template, "--ctx", "2048"]);
const narrow = await startServer(program, model, ["--parallel", "1", "--queue", "1", "--cors-origin", page, "--ctx", "4096"]);
const { base } = plain;

// ---- streams ----

const small = { [chat]: { messages, max_tokens: 2 }, [completions]: { prompt: "x", max_tokens: 2 } };

async function chunksOf(path, more, where = base) {
  const all = [];
  for await (const { data } of events(await post(where, path, { ...small[path], ...more, stream: true }))) all.push(data);
  assert.equal(all.pop(), "[DONE]");
  return all;
}

for (const path of [chat, completions]) {
  check(`${path}: each chunk has a choice, the last one the timings`, async () => {
    for (const more of [{}, { n: 2 }, { stream_options: { include_usage: false } }]) {
      const chunks = await chunksOf(path, more);
      for (const chunk of chunks) {
        assert.equal(chunk.choices.length, 1);
        assert.ok(!("usage" in chunk));
      }
      assert.ok(chunks.at(-1).choices[0].finish_reason);
      assert.ok(chunks.at(-1).timings.predicted_n > 0);
      assert.equal(chunks.filter((chunk) => chunk.timings).length, 1);
    }
  });
  check(`${path}: with include_usage the others' usage is null`, async () => {
    const chunks = await chunksOf(path, { stream_options: { include_usage: true } });
    const last = chunks.pop();
    assert.deepEqual(last.choices, []);
    assert.ok(last.usage.total_tokens > 0 && last.timings);
    for (const chunk of chunks) assert.deepEqual([chunk.usage, chunk.choices.length], [null, 1]);
  });
}

/** Keeps the one place of `narrow` until the returned function is called. */
async function occupy() {
  const leave = new AbortController();
  const response = await post(narrow.base, completions, { prompt: "def f(x):", max_tokens: 4000, stream: true, draft: "none", ...(await endless()) }, { signal: leave.signal });
  assert.equal(response.status, 200);
  await response.body.getReader().read();
  return () => leave.abort();
}

/** All bytes of a stream, and when its header and its first bytes came. */
async function bytesOf(response, begin) {
  const decoder = new TextDecoder();
  const seen = { header: Date.now() - begin, text: "" };
  for await (const bytes of response.body) {
    seen.first ??= Date.now() - begin;
    seen.text += decoder.decode(bytes, { stream: true });
  }
  return seen;
}

/** Anthropic's form of an error. */
function assertAnthropicError(document, type, message = /./) {
  assert.deepEqual([Object.keys(document), document.type, Object.keys(document.error)], [["type", "error"], "error", ["type", "message"]], JSON.stringify(document));
  assert.equal(document.error.type, type, document.error.message);
  assert.match(document.error.message, message);
}

// The last ones are found wrong when their turn comes.
for (const [path, body, wrong] of [
  [chat, small[chat], { messages: [{ role: "nobody", content: "x" }] }],
  [completions, small[completions], { prompt: [99999999] }],
  [responses, { input: "x", max_output_tokens: 2 }, { input: "word ".repeat(9000) }],
  [anthropic, small[chat], { messages: [{ role: "user", content: "word ".repeat(9000) }] }],
]) {
  check(`${path}: a stream that waits has its header and comments, and then its events`, async () => {
    const leave = await occupy();
    const begin = Date.now();
    const response = await post(narrow.base, path, { ...body, stream: true });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type"), /^text\/event-stream/);
    const seen = bytesOf(response, begin);
    await sleep(3000);
    leave();
    const { header, first, text } = await seen;
    assert.ok(header < 1500 && first < 2500, `header after ${header} ms, first bytes after ${first} ms`);
    assert.ok(text.startsWith(":"), text.slice(0, 100));
    assert.ok(text.match(/^: /gm).length >= 2, "comments continue");
    const data = text.split("\n\n").filter((event) => event && !event.startsWith(":"));
    assert.ok(data.length >= 2 && data.every((event) => /^(event: .*\n)?data: /.test(event)), text);
    assert.ok(!text.includes('"error":{'), text);
    return `header after ${header} ms`;
  });
  check(`${path}: an error after the header is an event`, async () => {
    const leave = await occupy();
    const response = await post(narrow.base, path, { ...wrong, stream: true });
    assert.equal(response.status, 200);
    leave();
    const text = await response.text();
    const lines = text.split("\n").filter((line) => line && !line.startsWith(":"));
    if (path === responses || path === anthropic) assert.equal(lines.shift(), "event: error");
    else assert.equal(lines.pop(), "data: [DONE]");
    assert.equal(lines.length, 1, text);
    if (path === anthropic) return assertAnthropicError(JSON.parse(lines[0].slice("data: ".length)), "invalid_request_error", /^prompt is too long: /);
    assertError(JSON.parse(lines[0].slice("data: ".length)), { type: "invalid_request_error", param: path === chat ? "messages" : path === completions ? "prompt" : "input" });
  });
}
check("a wrong request that would be streamed has its status", async () => {
  const long = "word ".repeat(3000), nobody = { messages: [{ role: "nobody", content: "x" }] };
  const exit = { draft: "exit:999" }; // the model has fewer layers, which is found when the generation begins
  for (const [path, body] of [
    [completions, { prompt: Array(3000).fill(5) }], [completions, { prompt: long, echo: true }], [completions, { ...small[completions], ...exit }],
    [completions, { ...small[completions], ...exit, echo: true }], [completions, { ...small[completions], ...exit, echo: true, n: 2 }],
    [chat, nobody], [chat, { ...small[chat], ...exit }], [responses, { input: "x", ...exit }],
    [anthropic, nobody], [anthropic, { messages: [{ role: "user", content: long }] }], [anthropic, { ...small[chat], ...exit }],
  ]) {
    const response = await post(base, path, { ...body, stream: true });
    const text = await response.text();
    assert.equal(response.status, 400, `${path} ${JSON.stringify(body).slice(0, 100)}: ${text.slice(0, 300)}`);
    if (path === anthropic) assertAnthropicError(JSON.parse(text), "invalid_request_error");
    else assertError(JSON.parse(text), { type: "invalid_request_error" });
  }
});

// ---- browsers ----

const ofPage = `Host: localhost\r\nOrigin: ${page}\r\n`;

function assertReadable(answer, what) {
  assert.equal(answer.headers["access-control-allow-origin"], page, what);
  assert.match(answer.headers["access-control-expose-headers"], /Retry-After/, what);
}

check("a preflight allows what is asked for", async () => {
  const names = "authorization,content-type,x-stainless-arch,x-stainless-retry-count,openai-beta";
  const asked = `Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: ${names}\r\n`;
  const answer = await exchange(base, request(`OPTIONS ${chat} HTTP/1.1`, ofPage + asked));
  assert.equal(answer.status, 204);
  assertReadable(answer);
  assert.equal(answer.headers["access-control-allow-headers"], names);
  assert.match(answer.headers["access-control-allow-methods"], /POST/);
  assert.equal(answer.headers["access-control-allow-private-network"], undefined);
  const private_ = await exchange(base, request(`OPTIONS ${chat} HTTP/1.1`, `${ofPage}${asked}Access-Control-Request-Private-Network: true\r\n`));
  assert.equal(private_.headers["access-control-allow-private-network"], "true");
  const odd = await exchange(base, request(`OPTIONS ${chat} HTTP/1.1`, `${ofPage}Access-Control-Request-Headers: a<b>;"\r\n`));
  assert.equal(odd.headers["access-control-allow-headers"], "Authorization, Content-Type");
});
check("pages can read every answer, errors too", async () => {
  const cases = [
    [200, request("GET /v1/models HTTP/1.1", ofPage)],
    [200, posted(completions, JSON.stringify(small[completions]), `Origin: ${page}\r\n`)],
    [200, posted(completions, JSON.stringify({ ...small[completions], stream: true }), `Origin: ${page}\r\n`)],
    [400, posted(completions, "{", `Origin: ${page}\r\n`)],
    [400, request("GET /health HTTP/9.9", ofPage)],
    [404, request("GET /nothing HTTP/1.1", ofPage)],
    [405, request(`GET ${chat} HTTP/1.1`, ofPage)],
    [413, request(`POST ${chat} HTTP/1.1`, `${ofPage}Content-Length: 999999999\r\n`)],
    [417, request(`POST ${chat} HTTP/1.1`, `${ofPage}Expect: x\r\nContent-Length: 2\r\n`)],
    [431, request("GET /health HTTP/1.1", `${ofPage}A: ${"x".repeat(20000)}\r\n`)],
    [501, request(`POST ${chat} HTTP/1.1`, `${ofPage}Transfer-Encoding: gzip\r\n`)],
  ];
  for (const [status, bytes] of cases) {
    const answer = await exchange(base, bytes);
    assert.equal(answer.status, status, bytes.toString("latin1").slice(0, 80));
    assertReadable(answer, status);
  }
});

check("every error at a path of Anthropic's API has its form", async () => {
  for (const path of [anthropic, `${anthropic}/count_tokens`, "/messages"]) {
    for (const [status, type, bytes] of [
      [400, "invalid_request_error", posted(path, "{", `Origin: ${page}\r\n`)],
      [400, "invalid_request_error", request(`POST ${path} HTTP/9.9`, ofPage)],
      [400, "invalid_request_error", request(`POST ${path} HTTP/1.1`, `${ofPage}Content-Length: x\r\n`)],
      [404, "not_found_error", request(`GET ${path}/batches HTTP/1.1`, ofPage)],
      [405, "invalid_request_error", request(`GET ${path}?beta=true HTTP/1.1`, ofPage)],
      [413, "request_too_large", request(`POST ${path} HTTP/1.1`, `${ofPage}Content-Length: 999999999\r\n`)],
      [417, "invalid_request_error", request(`POST ${path} HTTP/1.1`, `${ofPage}Expect: x\r\nContent-Length: 2\r\n`)],
      [431, "request_too_large", request(`POST ${path} HTTP/1.1`, `${ofPage}A: ${"x".repeat(20000)}\r\n`)],
      [431, "request_too_large", request(`POST ${path} HTTP/1.1`, `${ofPage}${"A: x\r\n".repeat(200)}`)],
      [501, "invalid_request_error", request(`POST ${path} HTTP/1.1`, `${ofPage}Transfer-Encoding: gzip\r\n`)],
    ]) {
      const answer = await exchange(base, bytes);
      assert.equal(answer.status, status, bytes.toString("latin1").slice(0, 80));
      assertReadable(answer, status);
      assertAnthropicError(answer.json(), type);
    }
    const foreign = await exchange(base, request(`POST ${path} HTTP/1.1`, "Host: localhost\r\nOrigin: http://other.example\r\n"));
    assertAnthropicError(foreign.json(), "permission_error");
  }
  for (const path of ["/v1/messagesx", "/v1/models/messages"]) assertError((await exchange(base, request(`GET ${path} HTTP/1.1`, ofPage))).json());
});

// ---- numbers ----

check("seed -1 is a random seed", async () => {
  for (const [path, limit] of [[chat, "max_tokens"], [completions, "max_tokens"], [responses, "max_output_tokens"]]) {
    const body = { ...(path === responses ? { input: "x" } : small[path]), [limit]: 1, seed: -1 };
    const seeds = [];
    for (let i = 0; i < 3; ++i) seeds.push((await ask(base, path, body)).timings.seed);
    assert.equal(new Set(seeds).size, 3, seeds.join());
    assert.ok(seeds.every((seed) => seed >= 0 && seed <= Number.MAX_SAFE_INTEGER), seeds.join());
  }
});
check("max_tokens -1 is no limit", async () => {
  const stop = { prompt: "def f(x):", seed: 3, stop: ["\n"] };
  assert.equal((await ask(base, completions, { ...stop, max_tokens: -1 })).choices[0].text, (await ask(base, completions, stop)).choices[0].text);
  const all = await ask(base, completions, { prompt: "x", max_tokens: -1, seed: 1, logit_bias: {}, ...(await endless()) });
  assert.equal(all.usage.total_tokens, 2048);
  for (const field of ["max_tokens", "max_completion_tokens"]) await ask(base, chat, { messages, [field]: -1, stop: ["e"] });
  const whole = await post(base, responses, { input: "x", max_output_tokens: -1, stream: true });
  await whole.body.cancel();
  assert.equal(whole.status, 200);
});

const tokensOf = async (content) => (await ask(base, "/tokenize", { content })).tokens;

/** Fields that make a text go on until its limit: one token, always. */
async function endless() {
  const [token] = await tokensOf("x");
  return { temperature: 0, logit_bias: { [token]: 100 } };
}

check("echo with logprobs has those of the prompt", async () => {
  const prompt = "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n";
  const body = { prompt, max_tokens: 6, temperature: 0, logprobs: 2 };
  const alone = (await ask(base, completions, body)).choices[0];
  const { text, logprobs } = (await ask(base, completions, { ...body, echo: true })).choices[0];
  assert.equal(text, prompt + alone.text);
  const count = logprobs.tokens.length - alone.logprobs.tokens.length;
  assert.equal(logprobs.tokens.slice(0, count).join(""), prompt);
  const first = logprobs.token_logprobs.indexOf(null);
  assert.deepEqual([first, logprobs.token_logprobs.lastIndexOf(null), logprobs.top_logprobs[0]], [0, 0, null]);
  assert.deepEqual(logprobs.token_logprobs.slice(count), alone.logprobs.token_logprobs);
  for (const [i, token] of logprobs.tokens.entries()) assert.ok(text.startsWith(token, logprobs.text_offset[i]), `offset of token ${i}`);
  // Each is what the model gives the token after the ones before it.
  const { tokens } = await ask(base, "/tokenize", { content: prompt, add_special: true });
  for (const place of [1, 2, 7, tokens.length - 1]) {
    const before = (await ask(base, completions, { prompt: tokens.slice(0, place), max_tokens: 1, temperature: 0, logprobs: 2 })).choices[0].logprobs;
    const [likeliest, logprob] = [before.tokens[0], before.token_logprobs[0]];
    assert.ok(Math.abs(logprobs.top_logprobs[place][likeliest] - logprob) < 1e-3, `token ${place}: ${JSON.stringify(logprobs.top_logprobs[place])}, ${likeliest} ${logprob}`);
  }
  const scored = (await ask(base, completions, { ...body, echo: true, max_tokens: 0 })).choices[0];
  assert.equal(scored.text, prompt);
  assert.deepEqual(scored.logprobs.token_logprobs, logprobs.token_logprobs.slice(0, count));
  const [streamed] = await chunksOf(completions, { ...body, echo: true });
  assert.deepEqual(streamed.choices[0].logprobs, scored.logprobs);
});
check("penalties look at the answer alone", async () => {
  const prompt = "a a a a a a a a a a a a a a a a a a a a a a a a";
  const text = async (more) => (await ask(base, completions, { prompt, temperature: 0, max_tokens: 1, ...more })).choices[0].text;
  const first = await text();
  for (const penalty of ["frequency_penalty", "presence_penalty"]) {
    assert.equal(await text({ [penalty]: 2 }), first, penalty);
    assert.equal(await text({ [penalty]: -2 }), first, penalty);
  }
  // All of it: a token counts also beyond the latest 64.
  const [token] = await tokensOf(" a");
  const biased = { max_tokens: 200, logit_bias: { [token]: 100 }, logprobs: 0 };
  const { tokens } = (await ask(base, completions, { prompt, temperature: 0, frequency_penalty: 1, ...biased })).choices[0].logprobs;
  const times = tokens.filter((one) => one === " a").length;
  assert.ok(times > 64 && times < 140, `${times} times, until the penalty outweighs the bias`);
});

// ---- biases ----

check("logit_bias forces and forbids tokens, with every drafter", async () => {
  const [wanted] = await tokensOf("x");
  const body = { prompt: "def binary_search(items, target):\n", max_tokens: 24, logprobs: 0 };
  const choice = async (more) => (await ask(base, completions, { ...body, ...more })).choices[0];
  assert.equal((await choice({ temperature: 0, logit_bias: { [wanted]: 100 } })).text, "x".repeat(24));
  const [likeliest] = (await choice({ temperature: 0 })).logprobs.tokens;
  const [{ id }] = (await ask(base, "/tokenize", { content: likeliest, with_pieces: true })).tokens;
  const without = await choice({ temperature: 0, logit_bias: { [id]: -100 } });
  assert.ok(!without.logprobs.tokens.includes(likeliest), without.text);
  for (const sampled of [{ temperature: 0 }, { temperature: 0.9, seed: 5 }, { temperature: 1, seed: 6, top_k: 40, top_p: 0.9 }]) {
    const logit_bias = { [id]: -3, [wanted]: 4 };
    const texts = new Set();
    for (const draft of ["none", "auto", "suffix", "asd", "lookup", "exit"]) texts.add((await choice({ ...sampled, logit_bias, draft })).text);
    assert.equal(texts.size, 1, [...texts].join("\n---\n"));
    assert.notEqual([...texts][0], (await choice(sampled)).text);
  }
  assert.equal((await ask(base, chat, { messages, max_tokens: 3, temperature: 0, logit_bias: { [wanted]: 100 } })).choices[0].message.content, "xxx");
  const outside = await post(base, completions, { ...body, logit_bias: { 99999999: 1 } });
  assertError(await outside.json(), { param: "logit_bias" });
  assert.equal(outside.status, 400);
});

// ---- choices side by side ----

check("n choices are made side by side, and each has the text of its seed", async () => {
  const body = { prompt: "import os\n\ndef walk(path):\n", max_tokens: 60, seed: 40, temperature: 1 };
  const wanted = [];
  for (let i = 0; i < 5; ++i) wanted.push((await ask(base, completions, { ...body, seed: 40 + i })).choices[0].text);
  for (const where of [base, narrow.base]) {
    assert.deepEqual((await ask(where, completions, { ...body, n: 5 })).choices.map(({ text }) => text), wanted);
  }
  const order = [], texts = [], reasons = [];
  for await (const { data } of events(await post(base, completions, { ...body, n: 5, stream: true }))) {
    if (data === "[DONE]") break;
    const [{ index, text, finish_reason }] = data.choices;
    order.push(index);
    texts[index] = (texts[index] ?? "") + text;
    if (finish_reason) reasons.push(index);
  }
  assert.deepEqual(texts, wanted);
  assert.deepEqual([...reasons].sort(), [0, 1, 2, 3, 4]);
  const turns = order.filter((index, i) => i > 0 && index !== order[i - 1]).length;
  assert.ok(turns > 8, `the choices take turns: ${order.join("")}`);
});
check("a client that leaves ends all of its choices", async () => {
  const leave = new AbortController();
  const response = await post(base, completions, { prompt: "x", max_tokens: 1900, n: 8, stream: true, ...(await endless()) }, { signal: leave.signal });
  assert.equal(response.status, 200);
  await response.body.getReader().read();
  await until("more than one choice is made", async () => JSON.parse((await get(base, "/slots")).text).filter((slot) => slot.is_processing).length > 1, 5);
  leave.abort();
  await until("the places are free", async () => JSON.parse((await get(base, "/slots")).text).every((slot) => !slot.is_processing), 5);
});

// ---- the queue ----

check("a client that leaves while it waits gives its place to others", async () => {
  const leave = await occupy();
  for (const stream of [false, true]) {
    const waits = new AbortController();
    const waiting = post(narrow.base, completions, { ...small[completions], stream }, { signal: waits.signal }).catch(() => {});
    await until("it waits", async () => (await metric(narrow.base, "requests_waiting")) === 1);
    const refused = await exchange(narrow.base, posted(completions, JSON.stringify(small[completions]), `Origin: ${page}\r\n`));
    assert.equal(refused.status, 429);
    assertReadable(refused);
    const other = await exchange(narrow.base, posted(anthropic, JSON.stringify(small[chat]), `Origin: ${page}\r\n`));
    assert.deepEqual([other.status, other.headers["retry-after"]], [429, "1"]);
    assertReadable(other);
    assertAnthropicError(other.json(), "rate_limit_error");
    waits.abort();
    await waiting;
    await until("its place is free", async () => (await metric(narrow.base, "requests_waiting")) === 0, 2);
  }
  leave();
});
check("/tokenize waits for nobody", async () => {
  const leave = await occupy();
  const large = JSON.stringify({ content: "lorem ipsum ".repeat(160000) });
  const texts = Array.from({ length: 2 }, () => post(narrow.base, "/tokenize", large).then((response) => response.text()));
  await sleep(30);
  const begin = Date.now();
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(narrow.base, "/tokenize", { content: "Hello" })));
  const ms = Date.now() - begin;
  assert.ok(answers.every(({ tokens }) => tokens.length > 0));
  await Promise.all(texts);
  leave();
  assert.ok(ms < 2000, `${ms} ms`);
  return `20 in ${ms} ms`;
});

// ---- routes ----

check("routes have their usual other names", async () => {
  const body = { prompt: "x", max_tokens: 1, temperature: 0 };
  const { text } = (await ask(base, completions, body)).choices[0];
  for (const path of ["/completions", "/v1/completions/", "/completions/", "/completions?x=y"]) {
    assert.equal((await ask(base, path, body)).choices[0].text, text, path);
  }
  for (const path of ["/chat/completions", "/v1/chat/completions/"]) await ask(base, path, small[chat]);
  await ask(base, "/responses", { input: "x", max_output_tokens: 1 });
  const list = JSON.parse((await get(base, "/v1/models")).text);
  for (const path of ["/models", "/v1/models/", "/models/"]) assert.deepEqual(JSON.parse((await get(base, path)).text), list, path);
  const name = encodeURIComponent(list.data[0].id);
  for (const path of [`/v1/models/${name}`, `/models/${name}`]) assert.deepEqual(JSON.parse((await get(base, path)).text), list.data[0], path);
  assert.equal((await get(base, "/health/")).status, 200);
  assert.ok((await metric(base, "requests_total", '{route="/v1/models",status="200"}')) >= 5);
});
check("/v1/models has the context length", async () => {
  const [one] = JSON.parse((await get(base, "/v1/models")).text).data;
  assert.deepEqual([one.context_length, one.max_model_len, one.meta.n_ctx], [2048, 2048, 2048]);
});
check("404 names the nearest route", async () => {
  for (const [path, nearest] of [
    ["/v1/chat/completion", "POST /v1/chat/completions"],
    ["/v1/v1/chat/completions", "POST /v1/chat/completions"],
    ["/chat/completons", "POST /v1/chat/completions"],
    ["/v1/response", "POST /v1/responses"],
    ["/v1/model", "GET /v1/models"],
    ["/Tokenise", "POST /tokenize"],
    ["/healthz", "GET /health"],
  ]) {
    const { status, text } = await get(base, path);
    assert.equal(status, 404, path);
    const { error } = JSON.parse(text);
    assert.ok(error.message.endsWith(nearest), `${path}: ${error.message}`);
  }
});

// ---- templates and schemas ----

check("serve --chat-template takes a file", async () => {
  const { prompt } = await ask(base, "/apply-template", { messages });
  assert.ok(prompt.endsWith("(user) Go on.\n(answer)"), prompt);
});
check("deep schemas are taken, hostile ones are not", async () => {
  const schema = (levels) => `${'{"type":"object","properties":{"inner":'.repeat(levels)}{"type":"string"}${"}}".repeat(levels)}`;
  const body = (levels) =>
    `{"messages":${JSON.stringify(messages)},"max_tokens":1,"tools":[{"type":"function","function":{"name":"f","parameters":${schema(levels)}}}]}`;
  await ask(base, chat, body(64));
  for (const levels of [100, 200]) await ask(base, "/apply-template", body(levels)); // more tokens than the context
  for (const levels of [300, 20000]) assert.equal((await post(base, chat, body(levels))).status, 400);
});
check("a server that ends refuses in the form of each API", async () => {
  const leave = await occupy();
  const stopped = narrow.stop();
  await until("it ends", async () => (await get(narrow.base, "/health")).status === 503);
  const refused = await exchange(narrow.base, posted(anthropic, JSON.stringify(small[chat]), `Origin: ${page}\r\n`));
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
  assertReadable(refused);
  assertAnthropicError(refused.json(), "overloaded_error");
  const other = await post(narrow.base, chat, small[chat]);
  assert.equal(other.status, 503);
  assertError(await other.json(), { type: "server_error" });
  leave();
  assert.equal((await stopped).code, 0);
});

await run();
