// A request's answer depends on the request alone: random requests beside others at random, some of them cancelled, each compared with the answer of a
// fresh server that was asked nothing else. Texts, log-probabilities, reasons and counts of tokens have to be the same.
//   node concurrent_test.mjs PROGRAM MODEL [--requests N] [--distinct N] [--most N] [--seed N] [--longest TOKENS] [--reference FILE]
// --distinct: number of requests that are made up, and asked again and again; --most: requests at a time; --reference: a file that keeps the answers of
// fresh servers for another run with the same program, model and options.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chance } from "./chance.mjs";
import { check, events, get, post, run, startServer, until, waitWithoutLimit } from "./harness.mjs";

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["requests", "distinct", "most", "seed", "longest", "reference"].map((name) => [name, { type: "string" }])),
});
const [program, model] = positionals;
const number = (name, otherwise) => Number(given[name] ?? otherwise);
const requests = number("requests", 100), distinct = number("distinct", requests), most = number("most", 16), longest = number("longest", 1500);
const options = ["--ctx", "2048", "--parallel", String(most), "--queue", "1000", "--request-seconds", "3600"];

// ---- requests ----

const here = dirname(fileURLToPath(import.meta.url));
const corpus = readFileSync(join(here, "../../models/prompts/code_editing.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line).prompt)
  .join("\n\n");

function textOf(random, characters) {
  let text = "";
  while (text.length < characters) {
    const start = random.below(corpus.length - 1);
    text += corpus.slice(start, start + Math.min(characters - text.length, 40 + random.below(4000)));
  }
  return text;
}

/** About four characters a token: prompts of 5 to `longest` tokens, half of them with a prefix that others have too. */
function promptOf(random, beginnings) {
  const characters = 12 + Math.floor(random.below(1000) ** 2 / 1e6 * longest * 2.2);
  if (random.happens(0.5)) return textOf(random, characters);
  const beginning = random.one(beginnings);
  return beginning + textOf(random, 12 + random.below(300));
}

function samplingOf(random) {
  if (random.happens(0.4)) return { temperature: 0 };
  const sampling = { temperature: random.one([0.3, 0.8, 1, 1.5]), seed: random.below(2 ** 31) };
  if (random.happens(0.5)) sampling.top_k = random.one([1, 5, 40, 200]);
  if (random.happens(0.5)) sampling.top_p = random.one([0.5, 0.9, 0.95]);
  if (random.happens(0.3)) sampling.min_p = random.one([0.02, 0.1]);
  if (random.happens(0.2)) sampling.repeat_penalty = 1.1;
  if (random.happens(0.2)) sampling.frequency_penalty = random.one([-0.5, 0.7]);
  if (random.happens(0.2)) sampling.presence_penalty = random.one([-0.5, 0.7]);
  return sampling;
}

const formats = [
  { grammar: 'root ::= ("- " [a-z ]{3,20} "\\n")+' },
  { json_schema: { type: "object", properties: { name: { type: "string", maxLength: 12 }, certain: { const: "this is certain" } }, required: ["name", "certain"] } },
];

function requestOf(random, beginnings, drafters) {
  const body = { ...samplingOf(random), seed: random.below(2 ** 31), max_tokens: 1 + random.below(64), draft: random.one(drafters) };
  if (random.happens(0.15)) body.stop = random.one([["\n"], ["return", "  #"], [")", ":"]]);
  if (random.happens(0.1)) body.n = 2;
  const chat = random.happens(0.3);
  if (random.happens(0.2)) Object.assign(body, chat ? { logprobs: true, top_logprobs: random.below(4) } : { logprobs: random.below(4) });
  if (random.happens(0.2)) {
    Object.assign(body, random.one(formats));
    if (random.happens(0.5)) body.draft = random.one(["grammar", "grammar+suffix"]);
  }
  const prompt = promptOf(random, beginnings);
  if (chat) return { path: "/v1/chat/completions", body: { ...body, messages: [{ role: "user", content: prompt }] } };
  return { path: "/v1/completions", body: { ...body, prompt } };
}

/** All but those that need a head, experts or a grammar where there is none. */
async function usableDrafters(base) {
  const usable = [];
  for (const draft of JSON.parse((await get(base, "/props")).text).drafters) {
    const answer = await post(base, "/v1/completions", { prompt: "x", max_tokens: 1, draft });
    if (answer.status === 200) usable.push(draft), await answer.text();
    else assert.match(await answer.text(), /the model has no (head|experts)|the text has no grammar/, draft);
  }
  assert(usable.length > 8, usable.join());
  return usable;
}

// ---- answers, whole and in chunks, in one form ----

const lists = (logprobs) => logprobs?.content ?? logprobs;

function merge(into, logprobs) {
  const more = lists(logprobs);
  if (!more) return into;
  if (Array.isArray(more)) return [...(into ?? []), ...more];
  return Object.fromEntries(Object.entries(more).map(([name, list]) => [name, [...(into?.[name] ?? []), ...list]]));
}

const formOf = (choice) => ({
  text: choice.message ? [choice.message.reasoning_content ?? "", choice.message.content ?? ""].join("") : choice.text,
  reason: choice.finish_reason,
  logprobs: merge(undefined, choice.logprobs),
});

async function whole(base, { path, body }) {
  const response = await post(base, path, body);
  const document = await response.json();
  assert.equal(response.status, 200, JSON.stringify(document));
  return document.choices.map(formOf);
}

/** The chunks of a stream put together; `pieces`: it is left after that many. */
async function streamed(base, { path, body }, pieces = Infinity) {
  const leave = new AbortController();
  const response = await post(base, path, { ...body, stream: true }, { signal: leave.signal });
  assert.equal(response.status, 200);
  const choices = [];
  let count = 0;
  for await (const { data } of events(response)) {
    if (data === "[DONE]" || ++count > pieces) break;
    assert.ok(!data.error, JSON.stringify(data));
    for (const choice of data.choices) {
      const so = (choices[choice.index] ??= { text: "", reason: null, logprobs: undefined });
      so.text += choice.delta ? (choice.delta.reasoning_content ?? "") + (choice.delta.content ?? "") : choice.text;
      so.reason = choice.finish_reason ?? so.reason;
      so.logprobs = merge(so.logprobs, choice.logprobs);
    }
  }
  leave.abort();
  return choices;
}

/** As a file gives answers back: a property that is undefined is not there. */
const written = (answers) => JSON.parse(JSON.stringify(answers));

// ---- fresh servers ----

async function answersOfFreshServers(made) {
  const known = given.reference && existsSync(given.reference) ? JSON.parse(readFileSync(given.reference, "utf8")) : {};
  let next = 0;
  const worker = async () => {
    while (next < made.length) {
      const request = made[next++];
      const key = JSON.stringify(request);
      if (known[key]) continue;
      const server = await startServer(program, model, options);
      known[key] = await whole(server.base, request);
      await server.stop("SIGKILL");
    }
  };
  await Promise.all([worker(), worker()]);
  if (given.reference) writeFileSync(given.reference, JSON.stringify(known));
  return written(made.map((request) => known[JSON.stringify(request)]));
}

// ---- concurrent requests ----

async function askOne(base, random, request, answer, seen) {
  const way = random.below(10);
  if (way < 4) {
    assert.deepEqual(written(await whole(base, request)), answer);
  } else if (way < 8) {
    ++seen.streamed;
    assert.deepEqual(written(await streamed(base, request)), answer);
  } else {
    ++seen.cancelled;
    for (const [i, part] of (await streamed(base, request, random.below(20))).entries()) {
      if (part) assert.ok(answer[i].text.startsWith(part.text), `${JSON.stringify(part.text)} does not begin ${JSON.stringify(answer[i].text)}`);
    }
  }
}

await waitWithoutLimit();
check(`${requests} requests in company`, async () => {
  const random = chance(number("seed", 1));
  const server = await startServer(program, model, options);
  const drafters = await usableDrafters(server.base);
  const beginnings = Array.from({ length: 8 }, (_, i) => textOf(random, 100 + i * longest * 0.3));
  const made = Array.from({ length: distinct }, () => requestOf(random, beginnings, drafters));
  const answers = await answersOfFreshServers(made);
  const seen = { streamed: 0, cancelled: 0 };
  const different = [];
  let next = 0;
  // At most that many at a time; the number changes as it continues.
  const worker = async (place) => {
    while (next < requests) {
      if (place >= 1 + (Math.floor(next / 40) * 5 + most - 1) % most) {
        await until("the others go on", () => next >= requests || place < 1 + (Math.floor(next / 40) * 5 + most - 1) % most, 3600);
        continue;
      }
      const index = next++ % distinct;
      try {
        await askOne(server.base, random, made[index], answers[index], seen);
      } catch (error) {
        different.push(`request ${index} ${JSON.stringify(made[index]).slice(0, 300)}: ${String(error.message).slice(0, 2000)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: most }, (_, place) => worker(place)));
  assert.deepEqual(different, []);
  const props = await until("all requests end", async () => {
    const now = JSON.parse((await get(server.base, "/props")).text).engine;
    return now.pages.used === now.prefixes.pages && now;
  });
  const { code } = await server.stop();
  assert.equal(code, 0, server.said);
  const { passes, prefixes } = props;
  assert.ok(passes.batched > 0 || most === 1, "no pass was of several requests");
  return `${seen.streamed} streamed, ${seen.cancelled} cancelled; ${passes.batched} of ${passes.decoding} passes of several, ${(passes.rows / passes.decoding).toFixed(2)} rows each; ${prefixes.tokens} tokens of prompts known`;
});

await run({ seconds: 7200 });
