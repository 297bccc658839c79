// A server that keeps running: pages of clients that are gone, a server that is killed and started again, one that is asked to end under load, and many
// short requests without a pause.
//   node endurance_test.mjs PROGRAM MODEL [REQUESTS]
import assert from "node:assert/strict";
import { ask, check, events, free, get, post, residentMemory, run, sleep, startServer, until } from "./harness.mjs";

const [program, model, count = "10000"] = process.argv.slice(2);
const short = { prompt: "Once upon a time", max_tokens: 8, temperature: 0 };
const use = async (base) => JSON.parse((await get(base, "/props")).text).engine;

check("a client that goes away frees its pages within a pass", async () => {
  const server = await startServer(program, model, ["--prefixes", "off"]);
  const took = [];
  for (let i = 0; i < 10; ++i) {
    const leave = new AbortController();
    const response = await post(server.base, "/v1/completions", { ...short, max_tokens: 400, stream: true, seed: i, temperature: 1.2 }, { signal: leave.signal });
    let seen = 0;
    for await (const { data } of events(response)) if (data !== "[DONE]" && ++seen === 3) break;
    leave.abort();
    const begin = performance.now();
    const passes = (await use(server.base)).passes.decoding;
    const now = await until("its pages are free", async () => {
      const engine = await use(server.base);
      return engine.pages.used === 0 && engine;
    });
    took.push({ ms: performance.now() - begin, passes: now.passes.decoding - passes });
  }
  assert.ok(took.filter(({ passes }) => passes <= 2).length >= 8, JSON.stringify(took));  // one runs while the news is on its way
  await server.stop();
  return `${Math.max(...took.map(({ passes }) => passes))} passes at most`;
});

check("a server that is to end under load finishes what it has begun", async () => {
  const server = await startServer(program, model);
  const answers = Array.from({ length: 6 }, (_, i) => ask(server.base, "/v1/completions", { ...short, max_tokens: 150, seed: i, temperature: 1 }));
  await until("they run", async () => JSON.parse((await get(server.base, "/slots")).text).filter((slot) => slot.is_processing).length === 6);
  const ended = server.stop();
  await until("it says that it ends", async () => (await get(server.base, "/health")).status === 503);
  assert.equal((await post(server.base, "/v1/completions", short)).status, 503);
  for (const answer of await Promise.all(answers)) assert.ok(answer.choices[0].finish_reason);
  assert.deepEqual(await ended, { code: 0, signal: null });
});

check("a server that was killed serves again on the same port", async () => {
  const first = await startServer(program, model);
  const port = new URL(first.base).port;
  const broken = ask(first.base, "/v1/completions", { ...short, max_tokens: 300 }).then(() => false, () => true);
  await sleep(100);
  await first.stop("SIGKILL");
  assert.ok(await broken);
  const again = await startServer(program, model, ["--port", port]);
  assert.equal(new URL(again.base).port, port);
  assert.equal((await ask(again.base, "/v1/completions", short)).usage.completion_tokens, 8);
  await again.stop();
});

check(`${count} requests without a pause`, async () => {
  const server = await startServer(program, model);
  const expected = (await ask(server.base, "/v1/completions", short)).choices[0].text;
  let left = Number(count);
  const loop = async () => {
    while (left-- > 0) assert.equal((await ask(server.base, "/v1/completions", short)).choices[0].text, expected);
  };
  const all = left;
  const window = async () => {
    left = Math.ceil(all / 5);
    await Promise.all(Array.from({ length: 8 }, loop));
    return residentMemory(server.pid);
  };
  const memory = [await window()];
  const begin = performance.now();
  for (let i = 1; i < 5; ++i) memory.push(await window());
  const seconds = (performance.now() - begin) / 1000;
  await free(server.base);
  // What every request leaves grows in every window; an allocator's arena that a thread takes when it first has to grows once.
  const least = Math.min(...memory.slice(1).map((mib, i) => mib - memory[i]));
  const said = `resident memory behind each fifth: ${memory.join(", ")} MiB`;
  if (memory[0] !== undefined) assert.ok(least < ((all / 5) * 2) / 1024 && memory[4] < memory[0] + 16, said);  // 2 KiB a request
  await server.stop();
  return `${(all * 0.8 / seconds).toFixed(0)} a second; ${memory[0]?.toFixed(1)} MiB after a fifth of them, ${memory[4]?.toFixed(1)} at the end`;
});

await run({ seconds: 3600 });
