// siege_hostile.mjs BASE SEED: hostile clients that do all that hostile_test.mjs tries, in random order on many connections at once, until the process is
// ended. The rates leave a machine of two cores the time to serve others. Prints how often it did what, a line of JSON each second.
import {
  badCodings, badDrafts, badMetadata, bigTools, chat, completions, endAll, endless, endlessBytes, openMany, pour, responses, small, strangeHosts,
} from "./attacks.mjs";
import { chance } from "./chance.mjs";
import { sleep } from "./harness.mjs";
import { bytesOf, makeRequest, mutated } from "./mutations.mjs";
import { Raw, posted, request } from "./raw_http.mjs";

const [base, seed] = process.argv.slice(2);
const random = chance(Number(seed));
const { host } = new URL(base);

/** Sends bytes, waits a while, and goes; how it goes is chance. */
async function sendAndGo(bytes, ms, options) {
  const raw = new Raw(base, options).send(bytes);
  await Promise.race([raw.gone, sleep(random.below(ms))]);
  if (random.happens(0.3)) raw.socket.resetAndDestroy();
  else raw.end();
}

const json = (path, body, headers) => posted(path, JSON.stringify(body), headers);
const many = (count, work) => Promise.all(Array.from({ length: count }, work));
const content = "one two three ".repeat(20000);
const forms = [[completions, small], [chat, { messages: [{ role: "user", content: "x" }], max_tokens: 1 }], [responses, { input: "x", max_output_tokens: 1 }]];

const attacks = {
  async "bytes without an end"() {
    const [begin, piece] = random.one(Object.values(endlessBytes));
    const raw = new Raw(base).send(begin);
    await pour(raw, piece, 2 << 20);
    raw.end();
  },
  "drafters": () => {
    const [path, body] = random.one(forms);
    return sendAndGo(json(path, { ...body, draft: random.one(badDrafts.filter(({ length }) => length < 200000)) }), 300);
  },
  "strange names": () => many(4, () => sendAndGo(request("GET /props HTTP/1.1", `Host: ${random.one(strangeHosts)}\r\nOrigin: http://${random.one(strangeHosts)}\r\n`), 50)),
  "codings": () => many(4, () => sendAndGo(`POST /tokenize HTTP/1.1\r\nHost: ${host}\r\n${random.one(badCodings)}\r\n${request("GET /smuggled HTTP/1.1")}`, 50)),
  "mutations": () =>
    many(8, () => sendAndGo(Buffer.concat(Array.from({ length: 1 + random.below(4) }, () => {
      const made = makeRequest(random, host);
      return random.happens(0.5) ? mutated(random, made, host) : bytesOf(made);
    })), 50)),
  "bodies that are announced": () =>
    many(40, () => sendAndGo(`POST ${completions} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${8 << 20}\r\n\r\n${"x".repeat(random.below(1000))}`, 1000)),
  "bodies that are sent": () =>
    many(4, () => sendAndGo(Buffer.concat([Buffer.from(`POST ${completions} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${8 << 20}\r\n\r\n`), Buffer.alloc(random.below(4 << 20), "x")]), 1000)),
  "a storm of requests that are given up": () =>
    many(6, () => sendAndGo(json(completions, { ...endless, stream: random.happens(0.5) }), 60)),
  "requests with something behind them, given up": () =>
    many(4, () => sendAndGo(Buffer.concat([json(completions, endless), Buffer.from(random.one(["x", "\r\n", request("GET / HTTP/1.1")]))]), 60)),
  "texts that nobody reads": () => many(3, () => sendAndGo(json("/tokenize", { content, with_pieces: true }), 500, { slow: true })),
  "texts that are given up": () => many(3, () => sendAndGo(json(random.one(["/tokenize", "/apply-template", "/detokenize"]), { content, messages: [{ role: "user", content }], tokens: Array(20000).fill(300) }), 50)),
  "pages that nobody reads": () => sendAndGo(request("GET / HTTP/1.1").repeat(500), 500, { slow: true }),
  "metadata": () => sendAndGo(json(responses, { input: "x", max_output_tokens: 1, stream: random.happens(0.5), metadata: random.one(badMetadata.filter((one) => JSON.stringify(one).length < 10000)) }), 100),
  "large tools": () => sendAndGo(json(chat, { messages: [{ role: "user", content: "x" }], tools: bigTools(100, 5000) }), 300),
  "refusals, one behind another": () => sendAndGo(Buffer.concat(Array(200).fill(json(completions, { ...small, n: 0 }))), 300),
  "unknown models": () => sendAndGo(Buffer.concat(Array(200).fill(json(completions, { ...small, model: "nobody" }))), 300),
  "expectations": () => sendAndGo(json(completions, small, `Expect: ${random.one(["100-continue", "x"])}\r\n`).subarray(0, -5), 300),
  "questions about the server": () => many(8, () => sendAndGo(request(`GET ${random.one(["/metrics", "/slots", "/props", "/v1/models"])} HTTP/1.1`).repeat(3), 30)),
  "half a request": () => many(30, () => sendAndGo(json(completions, small).subarray(0, random.below(150)), 3000)),
};

/** Rarely: more connections than the server keeps. */
async function crowd() {
  for (;;) {
    await sleep(2000 + random.below(3000));
    const raws = await openMany(base, 4100, random.one(["", "GET /hea", "POST "]));
    await sleep(random.below(2000));
    endAll(raws);
    count("crowds of silent connections");
    await sleep(5000 + random.below(20000));
  }
}

const counts = {};
const count = (name) => (counts[name] = (counts[name] ?? 0) + 1);

async function attacker() {
  for (;;) {
    const name = random.one(Object.keys(attacks));
    await attacks[name]();
    count(name);
    await sleep(random.below(80));
  }
}

setInterval(() => console.log(JSON.stringify(counts)), 1000);
await Promise.all([crowd(), attacker(), attacker(), attacker(), attacker()]);
