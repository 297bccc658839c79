// Tokens per second of all streams together, cell by cell in turns, so that what else the machine does meets all cells alike.
//   node load.mjs NAME=URL... [--streams 1,2,4,8,16] [--drafts none,auto] [--tokens N] [--requests N] [--rounds N] [--json FILE] [--plot FILE.svg]
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

/** Bars of the medians, side by side for one number of streams. */
function plot() {
  const rows = [...new Set(cells.map(({ name, draft }) => `${name} ${draft}`.trim()))], colours = ["#4477aa", "#ee7733", "#228833", "#aa3377"];
  const top = Math.max(...cells.map(({ rates }) => median(rates))) * 1.1, left = 60, right = 600, bottom = 300, high = 250;
  const group = (right - left) / streams.length, width = (group * 0.8) / rows.length;
  const text = (x, y, said, more = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${said}</text>`;
  const parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 340" font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>'];
  parts.push(text(left, 24, "Tokens per second of all streams together", 'font-size="15"'));
  for (let at = 0; at < top; at += 100) {
    const y = bottom - (at / top) * high;
    parts.push(`<line x1="${left}" x2="${right}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}" stroke="#ddd"/>`, text(left - 8, y + 4, at, 'text-anchor="end"'));
  }
  for (const { name, draft, count, rates } of cells) {
    const row = rows.indexOf(`${name} ${draft}`.trim()), x = left + group * (streams.indexOf(count) + 0.1) + width * row, height = (median(rates) / top) * high;
    parts.push(`<rect x="${x.toFixed(1)}" y="${(bottom - height).toFixed(1)}" width="${(width * 0.9).toFixed(1)}" height="${height.toFixed(1)}" fill="${colours[row % 4]}"/>`);
  }
  streams.forEach((count, i) => parts.push(text(left + group * (i + 0.5), bottom + 18, `${count} stream${count > 1 ? "s" : ""}`, 'text-anchor="middle"')));
  rows.forEach((row, i) => parts.push(`<rect x="620" y="${52 + 20 * i}" width="12" height="12" fill="${colours[i % 4]}"/>`, text(638, 62 + 20 * i, row)));
  return `${parts.join("\n")}\n</svg>\n`;
}
if (given.plot) writeFileSync(given.plot, plot());
