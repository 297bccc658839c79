// Tokens per second of all streams together, cell by cell in turns, so that what else the machine does meets all cells alike.
//   node load.mjs NAME=URL... [--streams 1,2,4,8,16] [--drafts none,auto] [--tokens N] [--requests N] [--rounds N] [--json FILE]
// A cell is (server, drafter, streams); a round of it asks each stream for `requests` answers, one after another. Answers come whole, since a client
// that reads events of many streams would take its share of the processor. Servers without drafters (--drafts "") get no such field.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ask, get } from "./harness.mjs";

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["streams", "drafts", "tokens", "requests", "rounds", "json", "plot"].map((name) => [name, { type: "string" }])),
});
const numbers = (text) => text.split(",").map(Number);
const streams = numbers(given.streams ?? "1,2,4,8,16"), drafts = (given.drafts ?? "none,auto").split(",");
const tokens = Number(given.tokens ?? 64), requests = Number(given.requests ?? 2), rounds = Number(given.rounds ?? 5);

const names = ["count", "merge", "split", "find", "invert", "reverse", "clamp", "group", "flatten", "select", "rotate", "encode", "parse", "weight", "order", "pack"];
const promptOf = (stream, request) => `def ${names[stream % names.length]}_${names[(stream + request) % names.length]}(values, width):\n    """`;

async function measure({ base, draft, count }) {
  let made = 0;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, stream) => {
      for (let request = 0; request < requests; ++request) {
        const body = { prompt: promptOf(stream, request), max_tokens: tokens, temperature: 0, ...(draft ? { draft } : {}) };
        const { usage } = await ask(base, "/v1/completions", body);
        made += usage.completion_tokens;
      }
    }),
  );
  return (made / (performance.now() - begin)) * 1000;
}

const cells = [];
for (const server of positionals) {
  const [name, base] = server.split(/=(.*)/s);
  const own = (await get(base, "/props")).text.includes('"drafters"');
  for (const draft of own ? drafts : [""]) for (const count of streams) cells.push({ name, base, draft, count, rates: [] });
}
for (let round = -1; round < rounds; ++round) {  // the first one is not counted: pages, pipelines, caches
  for (const cell of round % 2 ? cells : [...cells].reverse()) {
    const rate = await measure(cell);
    if (round >= 0) cell.rates.push(rate);
  }
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const of = (cell, draft, count) => cells.find((one) => one.name === cell.name && one.draft === draft && one.count === count);
/** The median over rounds of one cell's rate over another's. */
const ratio = (cell, other) => (other ? median(cell.rates.map((rate, i) => rate / other.rates[i])) : NaN);
console.log("server     drafter  streams  tokens/s   to one stream   to none");
for (const cell of cells) {
  const scale = ratio(cell, of(cell, cell.draft, streams[0])), gain = ratio(cell, of(cell, "none", cell.count));
  console.log(`${cell.name.padEnd(10)} ${(cell.draft || "-").padEnd(8)} ${String(cell.count).padStart(7)} ${median(cell.rates).toFixed(1).padStart(9)} ${scale.toFixed(2).padStart(15)} ${gain.toFixed(2).padStart(9)}`);
}
if (given.json) writeFileSync(given.json, JSON.stringify(cells.map(({ base, ...cell }) => cell), null, 1));
