// A server under siege: hostile clients that do everything at once (siege_hostile.mjs), beside honest ones whose every answer has to be that of a quiet server.
//   node siege_test.mjs PROGRAM MODEL [--minutes N] [--honest N] [--seed N]
// Without arguments: some 30 seconds and 4 honest clients. An honest client asks again where it was refused (429, 503) or cut off before an answer; it may
// not be kept waiting like that for more than a second. Memory and descriptors of the idle server have to be what they were.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chat, completions, responses } from "./attacks.mjs";
import { chance } from "./chance.mjs";
import { check, events, free, post, residentMemory, run, sleep, start, startServer, until, waitWithoutLimit, within } from "./harness.mjs";

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["minutes", "honest", "seed"].map((name) => [name, { type: "string" }])),
});
const [program, model] = positionals;
const number = (name, otherwise) => Number(given[name] ?? otherwise);
const seconds = number("minutes", 15 / 60) * 60, honest = number("honest", 4), seed = number("seed", 1);
const first = Math.min(60, seconds / 4), rest = seconds < 60 ? 6 : 10, drain = 4, mostRefused = 1000;
const here = dirname(fileURLToPath(import.meta.url));

// ---- honest requests ----

const prompts = ["def binary_search(items, target):", "class Stack:\n    def push(self", "import os\n\ndef walk(path):", "for i in range(10):\n    print("];
const requests = prompts.flatMap((prompt, i) => {
  const body = { max_tokens: 6 + 3 * i, seed: i + 1 };
  return [
    { path: completions, body: { ...body, prompt } },
    { path: completions, body: { ...body, prompt, temperature: 0, stream: true } },
    { path: chat, body: { ...body, messages: [{ role: "user", content: prompt }] } },
    { path: chat, body: { ...body, messages: [{ role: "user", content: prompt }], stream: true } },
    { path: responses, body: { max_output_tokens: 8 + i, seed: i, input: prompt, stream: i % 2 === 0 } },
    { path: "/tokenize", body: { content: prompt.repeat(20), with_pieces: true } },
  ];
});

const textOf = (document) =>
  document.tokens?.map(({ id, piece }) => `${id}:${piece}`).join("|") ??
  document.output?.flatMap(({ content }) => content ?? []).map(({ text }) => text).join("") ??
  document.choices[0].text ?? document.choices[0].message.content;

/** The text of an answer, whole or in chunks; throws where it breaks off. */
async function read(response, { path, body }) {
  if (!body.stream) return textOf(await response.json());
  let text = "", last;
  for await (const { data } of events(response)) {
    last = data;
    assert.ok(!data.error, JSON.stringify(data));
    text += path === responses ? (data.type === "response.output_text.delta" ? data.delta : "") : (data.choices?.[0]?.text ?? data.choices?.[0]?.delta?.content ?? "");
  }
  assert.ok(last === "[DONE]" || ["response.completed", "response.incomplete"].includes(last?.type), "the stream broke off");
  return text;
}

/** Asks until it is taken: the response, and the milliseconds for which it was refused. */
async function askUntilTaken(base, { path, body }, refusals) {
  const begin = performance.now();
  let refused = 0;
  for (;;) {
    // A connection that was idle for longest may be closed when it is used again: that is asked again too.
    const response = await post(base, path, body).catch((error) => ({ status: 0, error: error.cause?.code ?? error.cause?.message ?? error.message }));
    if (response.status === 200) return { response, refused };
    refusals[response.error ?? response.status] = (refusals[response.error ?? response.status] ?? 0) + 1;
    if (![0, 429, 503].includes(response.status)) throw new Error(`${response.status}: ${await response.text()}`);
    await response.body?.cancel();
    await sleep(20);
    refused = performance.now() - begin;
    if (refused > 20000) throw new Error(`refused for ${refused.toFixed(0)} ms: ${JSON.stringify(refusals)}`);
  }
}

// ---- the siege ----

const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** Hostile clients in a process of their own: what they do may not slow down how honest ones are measured. */
function besiege(base, which) {
  const child = start(process.execPath, [join(here, "siege_hostile.mjs"), base, String(which)], ["ignore", "pipe", "inherit"]);
  const siege = { last: "" };
  child.stdout.on("data", (data) => (siege.last = String(data).trim().split("\n").at(-1)));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  ended.then(() => (siege.ended = true));
  siege.end = async () => {
    assert.ok(!siege.ended, "the hostile clients ended by themselves");
    child.kill("SIGKILL");
    await ended;
    return JSON.parse(siege.last || "{}");
  };
  return siege;
}

/** Everything idle: nothing in work, connections of the siege closed. */
async function atRest(server) {
  // The connection that is asked over may be one that had to make room.
  await until("nothing is in work", () => free(server.base, undefined, 30).then(() => true, () => false), 60);
  await sleep(rest * 1000);
  return { memory: residentMemory(server.pid), descriptors: descriptors(server.pid) };
}

await waitWithoutLimit();
check(`${honest} honest clients beside hostile ones for ${seconds.toFixed(0)} s`, async () => {
  const server = await startServer(program, model, ["--drain-seconds", String(drain)]);
  const expected = [];
  for (const request of requests) expected.push(await read((await askUntilTaken(server.base, request, {})).response, request));
  const begin = { descriptors: descriptors(server.pid) };

  const seen = { asked: 0, longest: 0, refusals: {}, wrong: [] };
  let going = true, paused = Promise.resolve();
  const client = async (random) => {
    while (going) {
      await paused;
      const i = random.below(requests.length);
      try {
        const { response, refused } = await askUntilTaken(server.base, requests[i], seen.refusals);
        seen.longest = Math.max(seen.longest, refused);
        assert.equal(await read(response, requests[i]), expected[i], "another text than from a quiet server");
        ++seen.asked;
      } catch (error) {
        if (going) seen.wrong.push(`${requests[i].path}, ${JSON.stringify(requests[i].body).slice(0, 80)}: ${error.cause?.message ?? error.message}`);
        await sleep(100);
      }
    }
  };
  const pause = async (work) => {
    let go;
    paused = new Promise((resolve) => (go = resolve));
    const result = await work();
    go();
    return result;
  };

  const hostile = {};
  const spell = async (which, time) => {
    const siege = besiege(server.base, which);
    await sleep(time * 1000);
    for (const [name, times] of Object.entries(await siege.end())) hostile[name] = (hostile[name] ?? 0) + times;
  };
  const clients = Array.from({ length: honest }, (_, i) => client(chance(seed * 100 + i)));
  await spell(seed, first);
  const early = await pause(() => atRest(server));
  const asked = seen.asked;
  await spell(seed + 1, seconds - first);
  const late = await pause(() => atRest(server));
  const counted = `${seen.asked} answers, refused for ${seen.longest.toFixed(0)} ms at most (${JSON.stringify(seen.refusals)}); resident memory ${early.memory.toFixed(0)} MiB after ${first.toFixed(0)} s and ${late.memory.toFixed(0)} at the end, descriptors ${begin.descriptors} and ${late.descriptors}`;

  // The end comes in the midst of it.
  const siege = besiege(server.base, seed + 2);
  await sleep(3000);
  going = false;
  const time = performance.now();
  const how = await within(drain + 20, () => server.stop(), "the end under siege");
  const ended = (performance.now() - time) / 1000;
  await siege.end();
  await Promise.race([Promise.all(clients), sleep(5000)]);

  console.log(`      hostile: ${JSON.stringify(hostile)}`);
  assert.deepEqual(seen.wrong.slice(0, 10), [], counted);
  assert.ok(asked > honest && seen.asked > asked, `honest clients were served: ${counted}`);
  assert.ok(seen.longest < mostRefused, counted);
  assert.ok(late.memory < early.memory * 1.1, counted);
  assert.ok(late.descriptors <= begin.descriptors + 2, counted);
  assert.deepEqual(how, { code: 0, signal: null });
  assert.ok(ended < drain + 2, `it ended after ${ended.toFixed(1)} s`);
  return `${counted}; it ended after ${ended.toFixed(1)} s`;
});
await run({ seconds: seconds + 300 });
