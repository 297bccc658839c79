// Clients that are slow, many, or gone: the others are served meanwhile.
import assert from "node:assert/strict";
import { assertError, ask, events, free, get, post, residentMemory, sleep } from "./harness.mjs";
import { Raw, posted, request } from "./raw_http.mjs";

const completions = "/v1/completions";
const small = { prompt: "def f(x):", max_tokens: 4, seed: 1 };

/** Milliseconds of a small request. */
async function timed(base) {
  const begin = Date.now();
  await ask(base, completions, small);
  return Date.now() - begin;
}

function addHalfSent(base, checkServed) {
  checkServed("requests that are sent by half do not hold up others, and end", async () => {
    const whole = posted(completions, JSON.stringify(small));
    const pieces = [whole.subarray(0, 1), whole.subarray(0, 30), whole.subarray(0, whole.length - 1), Buffer.from("POST ")];
    const held = [];
    for (let i = 0; i < 40; ++i) held.push(new Raw(base).send(pieces[i % pieces.length]));
    const ms = await timed(base);
    const begin = Date.now();
    for (const raw of held) {
      const answer = await raw.answer(); // 408, or the end of the connection
      assert.ok(answer === undefined || answer.status === 408, `${answer?.status}`);
      raw.end();
    }
    const seconds = (Date.now() - begin) / 1000;
    assert.ok(seconds < 60, `they are let go of after ${seconds} s`);
    return `others after ${ms} ms, they end after ${seconds.toFixed(0)} s`;
  });
  checkServed("a request that comes a byte at a time", async () => {
    const raw = new Raw(base);
    for (const byte of posted(completions, JSON.stringify(small))) {
      raw.send(Buffer.from([byte]));
      await sleep(2);
    }
    assert.equal((await raw.answer()).status, 200);
    raw.end();
  });
}

function addMany(base, checkServed) {
  checkServed("a thousand idle connections", async () => {
    const idle = Array.from({ length: 1000 }, () => new Raw(base));
    await Promise.all(idle.map((raw) => Promise.race([raw.open, raw.gone])));
    await sleep(300);
    const alive = idle.filter((raw) => !raw.closed).length;
    const ms = await timed(base);
    const answer = await idle[999].send(request("GET /health HTTP/1.1")).answer();
    for (const raw of idle) raw.end();
    assert.equal(alive, 1000);
    assert.equal(answer.status, 200);
    return `others after ${ms} ms`;
  });
  checkServed("one connection's requests are all answered, each sent as soon as the answer before it is there", async () => {
    const ask = async (bytes, requests) => {
      const raw = new Raw(base);
      for (let i = 0; i < requests; ++i) {
        const answer = await raw.send(bytes).answer();
        assert.ok(answer !== undefined, `the connection ended without an answer to request ${i + 1} of ${requests}`);
      }
      raw.end();
    };
    const health = Buffer.from(request("GET /health HTTP/1.1"));
    await Promise.all([ask(health, 6000), ask(health, 6000), ask(posted(completions, JSON.stringify({ ...small, n: 0 })), 6000)]);
  });
  checkServed("connections that come and go", async () => {
    for (let round = 0; round < 20; ++round) {
      const raws = Array.from({ length: 100 }, () => new Raw(base));
      await Promise.all(raws.map((raw) => Promise.race([raw.open, raw.gone])));
      for (const raw of raws) raw.end();
    }
  });
  checkServed("more requests than wait in line", async () => {
    const total = JSON.parse((await get(base, "/props")).text).total_slots + 64 + 40; // --queue
    const abort = new AbortController();
    const statuses = [];
    const answers = Array.from({ length: total }, async () => {
      const response = await post(base, completions, { ...small, max_tokens: 500 }, { signal: abort.signal });
      statuses.push(response.status);
      if (response.status === 429) {
        assert.equal(response.headers.get("retry-after"), "1");
        assertError(await response.json(), { type: "rate_limit_error", code: "queue_full" });
      }
    });
    for (let i = 0; i < 250 && statuses.filter((status) => status === 429).length < 20; ++i) await sleep(20);
    abort.abort();
    await Promise.allSettled(answers);
    assert.ok(statuses.filter((status) => status === 429).length >= 20);
    return `free after ${await free(base)} ms`;
  });
  checkServed("clients that go away while their answers are made", async () => {
    for (let i = 0; i < 60; ++i) {
      const raw = new Raw(base);
      raw.send(posted(completions, JSON.stringify({ ...small, max_tokens: 1500, stream: i % 2 === 0 })));
      await sleep(i % 7);
      raw.end();
    }
    return `free after ${await free(base)} ms`;
  });
}

function addSlow(base, checkServed) {
  const long = { ...small, max_tokens: 150, stream: true };
  const textOf = async (response) => {
    let text = "";
    for await (const { data } of events(response)) text += data.choices?.[0]?.text ?? "";
    return text;
  };
  checkServed("slow readers of streams get all of them, and hold up nobody", async () => {
    const expected = (await ask(base, completions, { ...long, stream: false })).choices[0].text;
    const slow = Array.from({ length: 4 }, () => new Raw(base, { slow: true }).send(posted(completions, JSON.stringify(long))));
    const ms = await timed(base);
    await free(base, undefined, 60);
    for (const raw of slow) {
      raw.resume();
      const answer = await raw.answer();
      assert.equal(await textOf({ body: [Buffer.from(answer.text)] }), expected);
      raw.end();
    }
    return `others after ${ms} ms`;
  });
  checkServed("a client that asks and never reads", async () => {
    const raw = new Raw(base, { slow: true });
    const memory = process.env.SKIPSTONE_SERVER_PID && residentMemory(process.env.SKIPSTONE_SERVER_PID);
    const ask = Buffer.concat(Array.from({ length: 20000 }, () => Buffer.from(request("GET / HTTP/1.1"))));
    raw.send(ask);
    await sleep(1000);
    const ms = await timed(base);
    raw.end();
    if (memory) assert.ok(residentMemory(process.env.SKIPSTONE_SERVER_PID) < memory + 32, "what nobody reads is not piled up");
    return `others after ${ms} ms`;
  });
  checkServed("a long answer comes back whole", async () => {
    const content = "one two three ".repeat(80000); // pieces of some 6 MB
    const { tokens } = await ask(base, "/tokenize", { content, with_pieces: true });
    assert.equal(tokens.map(({ piece }) => piece).join("").trim().length, content.trim().length);
  });
  checkServed("long texts to tokenize hold up nobody", async () => {
    // A tokenization takes seconds. An idle server is asked in the same moment: what holds up both is this client, which sends megabytes, or the machine.
    const content = "one two three ".repeat(80000);
    const beside = process.env.SKIPSTONE_KEYED_URL ?? base;
    const health = async (url) => {
      const begin = performance.now();
      assert.equal((await get(url, "/health")).status, 200);
      return performance.now() - begin;
    };
    const begin = performance.now();
    const answers = Array.from({ length: 3 }, () => post(base, "/tokenize", { content }));
    const asked = [];
    let done = false;
    const all = Promise.all(answers).finally(() => (done = true));
    while (!done) {
      const [ms, rest] = await Promise.all([health(base), health(beside)]);
      asked.push({ ms, rest: beside === base ? 0 : rest });
      await sleep(50);
    }
    for (const answer of await all) assert.equal(answer.status, 200);
    const took = performance.now() - begin;
    const worst = asked.reduce((one, other) => (other.ms - other.rest > one.ms - one.rest ? other : one));
    const said = `/health took ${worst.ms.toFixed(0)} ms, of a server at rest ${worst.rest.toFixed(0)}; the texts ${took.toFixed(0)}`;
    assert.ok(worst.ms - worst.rest < 1000, said);
    return said;
  });
}

export function addClients(base, checkServed) {
  addHalfSent(base, checkServed);
  addMany(base, checkServed);
  addSlow(base, checkServed);
}
