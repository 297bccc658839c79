// haproxy_test.mjs: HAProxy in front of two servers with the configuration of examples/serving/haproxy.cfg, its ports replaced. Under load one server is
// drained and started again, the other killed: no request is lost but those in work on the killed one, and every answer is the same as before.
// SKIPSTONE_PROGRAM, SKIPSTONE_MODEL; SKIPSTONE_HAPROXY, else haproxy on PATH. SKIPSTONE_LOAD_SECONDS: of load between events (4).
import assert from "node:assert/strict";
import { freePort, startHaproxy } from "./haproxy.mjs";
import { ask, assertError, check, events, free, get, metric, post, run, sleep, startServer, until } from "./harness.mjs";

const { SKIPSTONE_PROGRAM: program, SKIPSTONE_MODEL: model, SKIPSTONE_HAPROXY: haproxy = "haproxy" } = process.env;
const loadSeconds = Number(process.env.SKIPSTONE_LOAD_SECONDS ?? 4);
const chat = "/v1/chat/completions";
if (!program || !model) {
  console.error("SKIPSTONE_PROGRAM and SKIPSTONE_MODEL have to be set");
  process.exit(2);
}

// ---- servers and the balancer ----

const ports = [await freePort(), await freePort()];
const server = (port) => startServer(program, model, ["--port", String(port), "--parallel", "4"]);
const servers = await Promise.all(ports.map(server));
const bases = servers.map(({ base }) => base);

const front = await startHaproxy(haproxy, ports);

/** Requests to generate that a server has answered. */
async function answered(base) {
  const { text } = await get(base, "/metrics");
  return [...text.matchAll(/^skipstone_requests_total\{route="\/v1\/chat\/completions",status="200"\} (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

// ---- load ----

const beginnings = Array.from({ length: 12 }, (_, i) => `def function_${i}(items):\n` + `    total_${i} = sum(item * ${i} for item in items)\n`.repeat(6));
const expected = new Map(); // request, to its text
const done = []; // {begin, end, error}
let loading = true;

async function textOf(body) {
  const response = await post(front, chat, body);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  if (!body.stream) return (await response.json()).choices[0].message.content;
  let text = "";
  let last;
  for await (const { data } of events(response)) {
    text += data.choices?.[0]?.delta.content ?? "";
    last = data;
  }
  assert.equal(last, "[DONE]", "the stream broke off");
  return text;
}

async function loop(client) {
  for (let i = client; loading; i += 5) {
    const messages = [{ role: "user", content: beginnings[i % beginnings.length] }];
    const body = { messages, max_tokens: 12 + 4 * (i % 3), seed: i % 6, stream: i % 2 === 0 };
    const key = JSON.stringify({ ...body, stream: undefined });
    const begin = Date.now();
    let error;
    try {
      const text = await textOf(body);
      if (!expected.has(key)) expected.set(key, text);
      assert.equal(text, expected.get(key), "another text than before");
    } catch (wrong) {
      error = wrong.cause ?? wrong;
      await sleep(50);
    }
    done.push({ begin, end: Date.now(), error });
  }
}

/** What was done since the last call. */
const takeDone = () => done.splice(0);
const assertAllDone = (requests) => {
  const lost = requests.filter(({ error }) => error);
  assert.equal(lost.length, 0, `${lost.length} of ${requests.length} are lost, one with: ${lost[0]?.error.message}`);
  return `${requests.length} requests`;
};

// ---- checks ----

check("a conversation stays on the server that knows it", async () => {
  const before = await Promise.all(bases.map(answered));
  let turns = 0;
  for (const beginning of beginnings) {
    const messages = [
      { role: "system", content: "You continue Python programs. ".repeat(8) },
      { role: "user", content: beginning },
    ];
    for (let turn = 0; turn < 3; ++turn) {
      const { choices, usage } = await ask(front, chat, { messages, max_tokens: 8, seed: turn });
      if (turn > 0) {
        assert.ok(usage.prompt_tokens_details.cached_tokens >= 128, `${usage.prompt_tokens_details.cached_tokens} of ${usage.prompt_tokens} tokens were known`);
        ++turns;
      }
      messages.push(choices[0].message, { role: "user", content: `Go on, ${turn}.` });
    }
  }
  const shares = await Promise.all(bases.map(answered));
  const here = shares.map((share, i) => share - before[i]);
  assert.ok(here.every((share) => share > 0), `both have some: ${here}`);
  return `${turns} turns found their beginning; ${here.join(" and ")} requests`;
});
check("the other routes' beginnings count too, and a caller's key", async () => {
  const long = beginnings[3].replaceAll("3", "77").repeat(2);
  const asks = [
    ["/v1/completions", { prompt: long }, ({ usage }) => usage.prompt_tokens_details.cached_tokens],
    ["/v1/responses", { input: `${long}#` }, ({ usage }) => usage.input_tokens_details.cached_tokens],
    ["/v1/responses", { input: [{ role: "user", content: `${long}##` }] }, ({ usage }) => usage.input_tokens_details.cached_tokens],
    [chat, { messages: [{ role: "user", content: [{ type: "text", text: `${long}###` }] }] }, ({ usage }) => usage.prompt_tokens_details.cached_tokens],
    [chat, { messages: [{ role: "user", content: `${long}####` }], prompt_cache_key: "k" }, ({ usage }) => usage.prompt_tokens_details.cached_tokens],
  ];
  for (const [path, body, cached] of asks) {
    const limit = path === "/v1/responses" ? { max_output_tokens: 1 } : { max_tokens: 1 };
    for (let i = 0; i < 4; ++i) {
      const found = cached(await ask(front, path, { ...body, ...limit }));
      assert.ok(i === 0 || found >= 64, `${path}: ${found} tokens were known`);
    }
  }
});
check("errors come through, also of bodies that are larger than a buffer", async () => {
  for (const body of [{ prompt: "word ".repeat(100000) }, { prompt: "word ".repeat(4000) }]) {
    const response = await post(front, "/v1/completions", body);
    assert.equal(response.status, 400);
    assertError(await response.json(), { code: "context_length_exceeded" });
  }
});
check("clients that go away through HAProxy free the servers", async () => {
  for (const stream of [false, true]) {
    const abort = new AbortController();
    const asked = Array.from({ length: 4 }, (_, i) =>
      post(front, chat, { messages: [{ role: "user", content: beginnings[i] }], max_tokens: 1500, stream }, { signal: abort.signal }).then((response) => response.text()),
    );
    await sleep(400);
    abort.abort();
    await Promise.allSettled(asked);
    for (const base of bases) await free(base, undefined, 5);
  }
});

const loops = [];
check("load on both servers", async () => {
  for (let client = 0; client < 6; ++client) loops.push(loop(client));
  await sleep(loadSeconds * 1000);
  return assertAllDone(takeDone());
});
check("a server is drained under load: nothing is lost", async () => {
  servers[0].child.kill("SIGTERM");
  const { code } = await servers[0].ended;
  assert.equal(code, 0);
  await sleep(loadSeconds * 1000);
  return assertAllDone(takeDone());
});
check("it comes back and has its share again", async () => {
  servers[0] = await server(ports[0]);
  await until("it is asked", async () => (await answered(bases[0])) > 3, 30);
  return assertAllDone(takeDone());
});
check("a server is killed: only what was in work there may be lost", async () => {
  const killed = Date.now();
  servers[1].child.kill("SIGKILL");
  await servers[1].ended;
  await sleep(loadSeconds * 1000);
  const requests = takeDone();
  const lost = requests.filter(({ error }) => error);
  for (const { begin, error } of lost) assert.ok(begin <= killed, `lost though asked ${begin - killed} ms later: ${error.message}`);
  assert.ok(lost.every(({ error }) => !/another text/.test(error.message)), "no text differs");
  return `${lost.length} of ${requests.length} requests, all of them in work when it died`;
});
check("it comes back, and the load ends", async () => {
  servers[1] = await server(ports[1]);
  await until("it is asked", async () => (await answered(bases[1])) > 3, 30);
  loading = false;
  await Promise.all(loops);
  for (const base of bases) await free(base);
  assert.equal(await metric(bases[0], "requests_running"), 0);
  return assertAllDone(takeDone());
});
await run();
