// A server of several models: each answers as on a server of its own, whatever is loaded and unloaded meanwhile, and memory stays under its limit.
//   node models_test.mjs PROGRAM MODEL WRITE_TINY_MODELS
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chance } from "./chance.mjs";
import { ask, assertError, check, events, get, metric, post, run, sanitized, sleep, startServer, until, within } from "./harness.mjs";

const [program, , writeTinyModels] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "skipstone-models-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const names = ["ant", "bee", "cat"];
execFileSync(writeTinyModels, [folder, ...names]);
const file = (name) => join(folder, `${name}.gguf`);
writeFileSync(file("damaged"), readFileSync(file("ant")).subarray(0, 5000));
mkdirSync(join(folder, "empty"));

const completions = "/v1/completions";
const label = (name) => `{model="${name}"}`;
const options = ["--ctx", "131072", "--parallel", "4", "--request-seconds", "600"];

/** Starts a server of all models; the first is ant. */
const startAll = (...args) => startServer(program, file("ant"), ["--models", folder, ...options, ...args]);

const prompts = ["the quick brown fox", "and then the", "one two three four five six seven", "the the the the the"];
const requests = names.flatMap((model) => prompts.flatMap((prompt, i) => [
  { path: completions, body: { model, prompt, max_tokens: 8 + 4 * i, temperature: 0 } },
  { path: completions, body: { model, prompt, max_tokens: 12, seed: i, draft: i % 2 ? "suffix" : "auto", logprobs: 1 } },
]));

const form = (choices) => choices.map(({ text, finish_reason, logprobs }) => ({ text, finish_reason, tokens: logprobs?.tokens }));

async function whole(base, { path, body }) {
  return form((await ask(base, path, body)).choices);
}

async function streamed(base, { path, body }) {
  const response = await post(base, path, { ...body, stream: true });
  assert.equal(response.status, 200);
  const all = { text: "", finish_reason: null, logprobs: undefined };
  for await (const { data } of events(response)) {
    if (data === "[DONE]") break;
    assert.ok(!data.error, JSON.stringify(data));
    for (const choice of data.choices) {
      all.text += choice.text;
      all.finish_reason = choice.finish_reason ?? all.finish_reason;
      if (choice.logprobs) all.logprobs = { tokens: [...(all.logprobs?.tokens ?? []), ...choice.logprobs.tokens] };
    }
  }
  return form([all]);
}

/** What servers of one model each answer, and the memory that each takes. */
const single = { answers: [], used: [] };
check("one model is as ever", async () => {
  for (const model of names) {
    const { base, stop } = await startServer(program, file(model), options);
    const [entry] = JSON.parse((await get(base, "/v1/models")).text).data;
    assert.equal(entry.status, undefined);
    await Promise.all(requests.map(async (request, i) => {
      if (request.body.model === model) single.answers[i] = await whole(base, { path: request.path, body: { ...request.body, model: entry.id } });
    }));
    assert.equal(await metric(base, "model_loaded"), 1);
    assert.ok(await metric(base, "kv_pages") > 0);
    single.used.push(await metric(base, "models_memory_bytes"));
    assert.equal(single.used.at(-1), await metric(base, "model_memory_bytes"));
    assert.equal((await stop()).code, 0);
  }
  const distinct = new Set(names.map((model) => JSON.stringify(requests.flatMap((request, i) => (request.body.model === model ? single.answers[i] : [])))));
  assert.equal(distinct.size, names.length, "the models answer differently");
});

/** Room for two models with their blocks' unused ends, and not for three without them. */
const three = names.length * JSON.parse(execFileSync(program, ["inspect", file("ant"), "--json", "--ctx", "131072"])).memory_plan.total;
const limit = () => Math.floor((2 * Math.max(...single.used) + three) / 2);

check("200 requests at random under a limit for two of three models", async () => {
  assert.ok(2 * Math.max(...single.used) < three, `two take ${2 * Math.max(...single.used)} bytes, three need ${three}`);
  const { base, stop } = await startAll("--memory", String(limit()), "--queue", "1000");
  const random = chance(7);
  let done = 0, most = 0;
  const watch = (async () => {
    for (; done < 200; await sleep(20)) most = Math.max(most, await metric(base, "models_memory_bytes"));
  })();
  const different = [];
  let next = 0;
  const client = async () => {
    while (next < 200) {
      ++next;
      const i = random.below(requests.length);
      const work = random.happens(0.5) ? whole : streamed;
      try {
        assert.deepEqual(await work(base, requests[i]), single.answers[i]);
      } catch (error) {
        different.push(`${JSON.stringify(requests[i].body)}: ${error.message}`);
      }
      ++done;
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  await watch;
  assert.deepEqual(different, []);
  assert.ok(most > 0 && most <= limit(), `${most} bytes of ${limit()}`);
  assert.equal(await metric(base, "models_memory_limit_bytes"), limit());
  let loads = 0;
  for (const name of names) {
    loads += await metric(base, "model_loads_total", label(name));
    assert.ok(await metric(base, "generated_tokens_total", label(name)) > 0);
  }
  assert.ok(loads > 2 * names.length, `models leave and come back: ${loads} loads`);
  assert.equal((await stop()).code, 0);
  return `${loads} loads, ${(most / limit() * 100).toFixed(0)} % of the limit`;
});

check("models are listed, found by name, and loaded when a request needs them", async () => {
  const { base, stop } = await startAll();
  const statuses = async () => Object.fromEntries(JSON.parse((await get(base, "/v1/models")).text).data.map(({ id, status }) => [id, status.value]));
  assert.deepEqual(await statuses(), { ant: "unloaded", bee: "unloaded", cat: "unloaded", damaged: "unloaded" });
  assert.equal(JSON.parse((await get(base, "/props")).text).device, undefined);
  await ask(base, completions, { model: "bee.gguf", prompt: "a", max_tokens: 1 });
  assert.deepEqual(await statuses(), { ant: "unloaded", bee: "loaded", cat: "unloaded", damaged: "unloaded" });
  const first = await ask(base, completions, { prompt: "a", max_tokens: 1 });
  assert.equal(first.model, "ant");
  assert.equal(JSON.parse((await get(base, "/v1/models/cat")).text).id, "cat");
  const tokens = await ask(base, "/tokenize", { model: "cat", content: "the end" });
  assert.equal((await ask(base, "/detokenize", { model: "cat", tokens: tokens.tokens })).content.trim(), "the end");
  assert.equal((await statuses()).cat, "loaded");
  assert.equal((await get(base, "/props?model=bee")).status, 200);
  assert.equal(JSON.parse((await get(base, "/props?x=1&model=bee")).text).model, "bee");
  assert.equal(JSON.parse((await get(base, "/props")).text).model, "ant");
  assert.equal(JSON.parse((await get(base, "/slots?model=cat")).text).length, 4);
  for (const path of ["/props?model=dog", "/slots?model=dog", "/v1/models/dog"]) {
    const { status, text } = await get(base, path);
    assert.equal(status, 404, path);
    assertError(JSON.parse(text), { code: "model_not_found" });
  }
  for (const path of [completions, "/tokenize"]) {
    const response = await post(base, path, { model: "dog", prompt: "a", content: "a" });
    assert.equal(response.status, 404);
    assertError(await response.json(), { param: "model", code: "model_not_found", message: /'dog'.*'ant', 'bee', 'cat', 'damaged'/ });
  }
  assert.equal((await stop()).code, 0);
});

check("a file that cannot be loaded fails its own requests alone", async () => {
  const { base, stop } = await startAll();
  for (let i = 0; i < 2; ++i) {
    const response = await post(base, completions, { model: "damaged", prompt: "a" });
    assert.equal(response.status, 500);
    assertError(await response.json(), { param: "model", code: "model_not_loaded", message: /'damaged'.*damaged/ });
    const stream = await post(base, completions, { model: "damaged", prompt: "a", stream: true });
    assert.match(await stream.text(), /model_not_loaded/);
    assert.deepEqual(await whole(base, requests[0]), single.answers[0]);
  }
  rmSync(file("cat"));
  const gone = await post(base, completions, { model: "cat", prompt: "a" });
  assert.equal(gone.status, 500);
  execFileSync(writeTinyModels, [folder, ...names]);
  const cat = requests.findIndex(({ body }) => body.model === "cat");
  assert.deepEqual(await whole(base, requests[cat]), single.answers[cat]);
  assert.equal((await stop()).code, 0);
});

check("a model that is larger than the limit is refused, and no other leaves for it", async () => {
  const { base, stop } = await startAll("--memory", "1MiB");
  const response = await post(base, completions, { model: "bee", prompt: "a" });
  assert.equal(response.status, 503);
  assertError(await response.json(), { code: "model_not_loaded", message: /memory limit/ });
  assert.equal((await get(base, "/health")).status, 200);
  assert.equal((await stop()).code, 0);
});

check("a model that is in use stays until its requests have ended", async () => {
  const { base, stop } = await startAll("--memory", String(Math.ceil(1.3 * Math.max(...single.used))));
  const long = post(base, completions, { model: "ant", prompt: "the", max_tokens: 1500, temperature: 0, stream: true });
  const reader = (await long).body.getReader();
  await reader.read();
  const bee = requests.findIndex(({ body }) => body.model === "bee");
  const waiting = whole(base, requests[bee]);
  await until("it takes no new requests", async () => JSON.parse((await get(base, "/v1/models/ant")).text).status.value === "unloading");
  assert.equal(await metric(base, "model_loaded", label("ant")), 1, "its memory is not free yet");
  assert.ok(await metric(base, "model_memory_bytes", label("ant")) > 0);
  assert.ok(JSON.parse((await get(base, "/props?model=ant")).text).device);
  let text = "";
  for (let part; !(part = await reader.read()).done;) text += Buffer.from(part.value).toString();
  assert.match(text, /\[DONE\]/);
  assert.deepEqual(await waiting, single.answers[bee]);
  assert.equal(await metric(base, "model_unloads_total", label("ant")), 1);
  assert.equal((await stop()).code, 0);
});

check("models that share two devices make room on both", async () => {
  if (sanitized) return "skipped: drivers without the sanitizer start on two threads, whose locks it does not see";
  const shell = { limits: "export SKIPSTONE_SAME_DEVICE=1" }; // device 0 is both
  const start = (...args) => startServer(program, file("ant"), ["--models", folder, ...options, "--devices", "0,0", ...args], shell);
  const measured = await start();
  await ask(measured.base, completions, { model: "ant", prompt: "a", max_tokens: 1 });
  const one = await metric(measured.base, "models_memory_bytes");
  await measured.stop();
  const { base, stop } = await start("--memory", String(Math.ceil(1.4 * one)));
  const different = [];
  let next = 0;
  const client = async () => {
    for (let i; (i = next++) < requests.length;) {
      const answer = await whole(base, requests[i]).catch((error) => error.message);
      if (JSON.stringify(answer) !== JSON.stringify(single.answers[i])) different.push(`${JSON.stringify(requests[i].body)}: ${JSON.stringify(answer)}`);
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  assert.deepEqual(different, []);
  assert.ok(await metric(base, "models_memory_bytes") <= Math.ceil(1.4 * one));
  assert.ok(await metric(base, "model_unloads_total", label("ant")) > 0);
  assert.equal((await stop()).code, 0);
});

check("a device that is lost while a text's model is loaded ends the server", async () => {
  const shell = { limits: "export SKIPSTONE_TEST_DEVICE_LOST=2" };
  const server = await startServer(program, file("ant"), ["--models", folder, ...options], shell);
  const response = await post(server.base, "/tokenize", { model: "bee", content: "a" });
  assert.equal(response.status, 503);
  await response.text();
  assert.notEqual((await within(20, () => server.ended)).code, 0);
  assert.match(server.said, /the device is lost/);
});

check("a model that nothing asks for is unloaded, and comes back", async () => {
  for (const [start, name] of [[startAll, label("ant")], [(...args) => startServer(program, file("ant"), [...options, ...args]), ""]]) {
    const { base, stop } = await start("--idle-unload", "0.01");
    const { model, ...body } = requests[0].body;
    assert.deepEqual(await whole(base, { path: completions, body }), single.answers[0]);
    await until("the model leaves", async () => (await metric(base, "model_loaded", name)) === 0);
    await until("its memory is given back", async () => (await metric(base, "models_memory_bytes")) === 0);
    assert.deepEqual(await whole(base, { path: completions, body }), single.answers[0]);
    assert.equal((await stop()).code, 0);
  }
});

check("a server that ends answers what waits for models", async () => {
  const { base, stop } = await startAll("--memory", String(limit()), "--drain-seconds", "600");
  const answers = Promise.all(requests.map((request) => whole(base, request)));
  await until("all have come", async () => (await metric(base, "requests_running", label("cat"))) > 0);
  await sleep(200);
  const ended = stop();
  assert.deepEqual(await answers, single.answers);
  assert.equal((await ended).code, 0);
});

check("wrong options are refused with a sentence", async () => {
  for (const [args, sentence] of [
    [["--models", join(folder, "none")], /cannot be read/],
    [["--models", join(folder, "empty")], /no GGUF file/],
    [["-m", file("bee"), "--alias", "x"], /--alias/],
    [["-m", file("ant")], /one name/],
    [["--memory", "much"], /--memory/],
  ]) {
    await assert.rejects(startServer(program, file("ant"), args), sentence);
  }
});

await run();
