// Time between two tokens of a stream, with and without long prompts that come in beside it.
//   node delay.mjs BASE_URL [--streams N] [--prompt TOKENS] [--seconds N] [--rounds N]
// Rounds without and with prompts take turns. A prompt's slice, 256 tokens, is what the server reads between two passes of decoding; the last one takes
// longest, since it sees most keys: a prompt's time less that of one which is a slice shorter, both alone. The server has to be started with --prefixes off, and a context that the prompts fit.
import { parseArgs } from "node:util";
import { ask, events, post } from "./harness.mjs";

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["streams", "prompt", "seconds", "rounds"].map((name) => [name, { type: "string" }])),
});
const base = positionals[0];
const streams = Number(given.streams ?? 4), length = Number(given.prompt ?? 1500), seconds = Number(given.seconds ?? 8), rounds = Number(given.rounds ?? 3);

const tokens = (count, seed) => Array.from({ length: count }, (_, i) => 300 + ((i * 31 + seed * 97) % 2000));
let asked = 0;
const prompt = (count = length) => ask(base, "/v1/completions", { prompt: tokens(count, ++asked), max_tokens: 1, temperature: 0, draft: "none" });

async function follow(end, gaps) {
  while (performance.now() < end) {
    const response = await post(base, "/v1/completions", { prompt: tokens(12, ++asked), max_tokens: 200, temperature: 1, seed: asked, draft: "none", stream: true });
    let last = 0;
    for await (const { data } of events(response)) {
      if (data === "[DONE]" || !data.choices?.length || data.choices[0].finish_reason) continue;
      const now = performance.now();
      if (last > 0) gaps.push(now - last);
      last = now;
    }
  }
}

async function measure(prompts) {
  const end = performance.now() + seconds * 1000, gaps = [];
  const long = async () => {
    while (prompts && performance.now() < end) await prompt();
  };
  await Promise.all([long(), ...Array.from({ length: streams }, () => follow(end, gaps))]);
  return gaps;
}

const share = (gaps, part) => [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length * part)];
await measure(false);
const slices = [];
for (let i = 0; i < 5; ++i) slices.push((await prompt()).timings.prompt_ms - (await prompt(length - 256)).timings.prompt_ms);
const slice = share(slices, 0.5), without = [], with_ = [];
for (let round = 0; round < rounds; ++round) {
  without.push(...(await measure(false)));
  with_.push(...(await measure(true)));
}
console.log(`${streams} streams, prompts of ${length} tokens one after another; the last slice of 256 tokens takes ${slice.toFixed(1)} ms`);
console.log("ms between tokens    median      99 %     99.9 %   largest");
for (const [name, gaps] of [["without prompts", without], ["with prompts", with_]])
  console.log(`${name.padEnd(16)} ${[0.5, 0.99, 0.999, 0.999999].map((part) => share(gaps, part).toFixed(1).padStart(10)).join("")}   of ${gaps.length}`);
console.log(`99 %: ${((share(with_, 0.99) - share(without, 0.99)) / slice).toFixed(2)} slices more with prompts`);
