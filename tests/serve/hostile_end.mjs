// Servers at their limits: of descriptors, of memory, of connections, and at their end.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chat, completions, endAll, endless, openMany, responses, small } from "./attacks.mjs";
import { ask, check, free, get, metric, post, sanitized, sleep, startServer, until, within } from "./harness.mjs";
import { Raw, exchange, posted, request } from "./raw_http.mjs";

const health = request("GET /health HTTP/1.1");

/** A new client is answered. */
async function assertServed(base, seconds = 3) {
  assert.equal((await within(seconds, () => exchange(base, health), "a new connection"))?.status, 200, "a new connection is not served");
  const answer = await within(10, () => exchange(base, posted(completions, JSON.stringify(small))), "a generation");
  assert.equal(answer?.status, 200, answer?.text);
}

/** Asks on a connection again and again until the server is gone, and counts the answers by status. */
async function askUntilTheEnd(base, bytes, state) {
  while (!state.ended) {
    const raw = new Raw(base).send(Buffer.concat(Array(20).fill(bytes)));
    for (let answer; (answer = await Promise.race([raw.answer(), state.end])) && answer !== "ended"; ) {
      state.statuses[answer.status] = (state.statuses[answer.status] ?? 0) + 1;
      raw.send(bytes);
    }
    raw.end();
    await sleep(5);
  }
}

function addEnding(program, model) {
  check("a server that is asked while it ends ends with 0", async () => {
    const said = [];
    for (const drain of ["0", "1"]) {
      const server = await startServer(program, model, ["--parallel", "2", "--drain-seconds", drain]);
      // Texts that are long to read are what is under way last.
      const text = posted("/tokenize", JSON.stringify({ content: "one two three ".repeat(85000), with_pieces: true }));
      const working = Array.from({ length: 20 }, (_, i) => new Raw(server.base).send(i < 1 ? posted(completions, JSON.stringify(endless)) : text));
      await until("they work", async () => (await metric(server.base, "requests_running")) > 0);
      const state = { ended: false, statuses: {}, end: server.ended.then(() => "ended") };
      state.end.then(() => (state.ended = true));
      const bodies = [[completions, small], [chat, { messages: [] }], [responses, { input: "x" }], ["/tokenize", { content: "x" }]];
      const asked = ["/metrics", "/metrics", "/metrics", "/slots", "/slots", "/slots", "/props", "/v1/models"].map((path) => Buffer.from(request(`GET ${path} HTTP/1.1`)));
      const all = [...asked, ...asked, ...bodies.map(([path, body]) => posted(path, JSON.stringify(body)))].map((bytes) => askUntilTheEnd(server.base, bytes, state));
      await sleep(100);
      const begin = performance.now();
      const how = await within(Number(drain) + 10, () => server.stop(), "the end of a server that is asked");
      const seconds = (performance.now() - begin) / 1000;
      await Promise.all(all);
      endAll(working);
      assert.deepEqual(how, { code: 0, signal: null });
      assert.ok(seconds < Number(drain) + 3, `it ended after ${seconds.toFixed(1)} s`);
      said.push(`after ${seconds.toFixed(1)} s, with answers ${JSON.stringify(state.statuses)}`);
    }
    return said.join("; ");
  });
}

function addConnections(server) {
  const halves = { "nothing": "", "half a request line": "GET /hea", "half a header": "GET /health HTTP/1.1\r\nHost: local", "half a body": posted(completions, JSON.stringify(small)).subarray(0, -3) };
  for (const [what, bytes] of Object.entries(halves)) {
    check(`more connections that send ${what} than the server keeps shut nobody out`, async () => {
      const count = ((await metric(server.base, "connections_limit")) ?? 4096) + 4;
      const raws = await openMany(server.base, count, bytes);
      try {
        for (let i = 0; i < 3; ++i) await assertServed(server.base);
        assert.ok(raws.filter((raw) => !raw.closed).length > count / 2, "the others are kept");
      } finally {
        endAll(raws);
      }
      await assertServed(server.base);
      return `${count} connections`;
    });
  }
}

function addFewDescriptors(program, model) {
  check("a server that may open 64 files serves 16 clients, and outlives 200 silent connections", async () => {
    const server = await startServer(program, model, [], { limits: "ulimit -n 64" });
    const clients = Array.from({ length: 16 }, (_, i) => ask(server.base, completions, { ...small, seed: i }));
    assert.equal((await Promise.all(clients)).length, 16);
    for (const bytes of ["", "GET /hea", posted(completions, JSON.stringify(small)).subarray(0, -3)]) {
      const raws = await openMany(server.base, 200, bytes);
      try {
        await assertServed(server.base);
        assert.equal((await within(10, () => Promise.all(Array.from({ length: 16 }, (_, i) => ask(server.base, completions, { ...small, seed: i }))), "16 clients")).length, 16);
      } finally {
        endAll(raws);
      }
    }
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });
}

function addLittleMemory(program, model) {
  if (sanitized) return; // it would not start
  check("a server that has no memory left refuses, and lives", async () => {
    const measured = await startServer(program, model);
    await ask(measured.base, completions, { ...small, max_tokens: 20 });
    const kib = Number(/VmPeak:\s+(\d+)/.exec(readFileSync(`/proc/${measured.pid}/status`, "utf8"))[1]);
    await measured.stop("SIGKILL");
    const said = [];
    for (const more of [256, 1024]) { // MiB: less than the server's own account, and more
      const server = await startServer(program, model, [], { limits: `ulimit -v ${kib + more * 1024}` });
      await ask(server.base, completions, { ...small, max_tokens: 20 });
      const announced = `POST ${completions} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${8 << 20}\r\n\r\n`;
      const raws = await openMany(server.base, 1200, `${announced}x`);
      await sleep(300);
      const full = Buffer.alloc((8 << 20) - 2, "x");
      for (const raw of raws.slice(0, 100)) raw.send(full);
      await sleep(1000);
      assert.equal(server.child.exitCode ?? server.child.signalCode, null, `with ${more} MiB it ended: ${server.said.slice(-300)}`);
      const refused = raws.filter((raw) => raw.bytes.length > 0).length;
      endAll(raws);
      await until("it serves", async () => (await post(server.base, completions, small).catch(() => ({}))).status === 200, 10);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
      said.push(`with ${more} MiB ${refused} were refused`);
    }
    return said.join(", ");
  });
}

function addAccount(program, model) {
  check("a small account of memory: who finds no room has 503, and what is given back is there again", async () => {
    const server = await startServer(program, model, ["--memory-bytes", String(32 << 20)]);
    const { base } = server;
    assert.equal(await metric(base, "memory_limit_bytes"), 32 << 20);
    const used = () => Promise.all(["connections", "bodies", "answers", "events"].map((kind) => metric(base, "memory_bytes", `{kind="${kind}"}`)));
    for (const bytes of await used()) assert.ok(bytes >= 0 && bytes < 1 << 20, `${bytes}`);
    const content = "one two three ".repeat(60000);
    const text = posted("/tokenize", JSON.stringify({ content, with_pieces: true }));
    const raws = Array.from({ length: 24 }, (_, i) => new Raw(base, { slow: i % 2 === 0 }).send(text));
    const answers = await within(30, () => Promise.all(raws.filter((_, i) => i % 2).map((raw) => raw.answer())), "answers to those who read");
    for (const answer of answers.filter((one) => one && one.status !== 200)) {
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers["retry-after"]) >= 1);
    }
    assert.ok((await used()).reduce((sum, bytes) => sum + bytes) <= 32 << 20);
    await ask(base, completions, small);
    endAll(raws);
    await until("the account is empty", async () => (await used()).slice(1).every((bytes) => bytes === 0), 5);
    const { choices } = await ask(base, completions, small);
    assert.equal(choices.length, 1);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    const refused = answers.filter((one) => one?.status === 503).length;
    assert.ok(refused > 0 || answers.includes(undefined), "24 answers of 5 MB do not fit 32 MiB");
    return `${refused} of 12 were refused`;
  });
}

export function addEnds(program, model, server) {
  addConnections(server);
  addEnding(program, model);
  addFewDescriptors(program, model);
  addLittleMemory(program, model);
  addAccount(program, model);
  check("after all of it the server serves and ends with 0", async () => {
    await free(server.base);
    await assertServed(server.base);
    assert.equal((await get(server.base, "/health")).status, 200);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });
}
