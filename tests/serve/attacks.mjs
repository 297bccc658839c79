// What hostile clients send, as hostile_test.mjs tries it alone and siege_test.mjs all at once.
import { sleep } from "./harness.mjs";
import { Raw, request } from "./raw_http.mjs";

export const chat = "/v1/chat/completions", completions = "/v1/completions", responses = "/v1/responses";
export const small = { prompt: "def f(x):", max_tokens: 2, seed: 1 };
/** A valid request that takes minutes unless it is ended. */
export const endless = { prompt: "x = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5,", max_tokens: 1900, n: 16, temperature: 0, draft: "none" };

/** Writes a chunk again and again, as fast as it is taken, up to that many bytes or until something comes back; returns how many were written. */
export async function pour(raw, piece, most) {
  let written = 0;
  for (; written < most && !raw.closed && raw.bytes.length === 0; written += piece.length) {
    const taken = raw.socket.write(Buffer.from(piece, "latin1"));
    if (!taken) await Promise.race([new Promise((resolve) => raw.socket.once("drain", resolve)), raw.gone, new Promise((resolve) => (raw.changed = resolve))]);
    await new Promise(setImmediate);
  }
  return written;
}

const chunkedHead = request(`POST ${completions} HTTP/1.1`, "Host: localhost\r\nTransfer-Encoding: chunked\r\n");

/** Requests that do not end: how they begin, and what comes again and again. */
export const endlessBytes = {
  "an extension of a chunk": [`${chunkedHead}1;`, "x".repeat(65536)],
  "a quoted extension of a chunk": [`${chunkedHead}1;a="`, "x".repeat(65536)],
  "many extensions of a chunk": [`${chunkedHead}1`, ";a=b".repeat(16384)],
  "zeros in front of a chunk's size": [chunkedHead, "0".repeat(65536)],
  "blanks behind a chunk's size": [`${chunkedHead}1`, " ".repeat(65536)],
  "an extension of the last chunk": [`${chunkedHead}0;`, "x".repeat(65536)],
  "trailers": [`${chunkedHead}0\r\n`, "A: x\r\n".repeat(10000)],
  "one trailer": [`${chunkedHead}0\r\nA: `, "x".repeat(65536)],
  "the name of a trailer": [`${chunkedHead}0\r\n`, "x".repeat(65536)],
  "a request line": ["GET /", "x".repeat(65536)],
  "a method": ["", "x".repeat(65536)],
  "a header": ["GET /health HTTP/1.1\r\nA: ", "x".repeat(65536)],
  "headers": ["GET /health HTTP/1.1\r\n", "A: x\r\n".repeat(10000)],
};

/** Transfer codings that are not `chunked` alone, as lines of a header. */
export const badCodings = [
  "xchunked", "identity", "chunked, identity", "gzip, chunked", "chunked, chunked", "gzip", "chunked;q=1", "\"chunked\"", "chunked,", ", chunked", "",
].map((coding) => `Transfer-Encoding: ${coding}\r\n`).concat([
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
  "Transfer-Encoding: identity\r\nContent-Length: 4\r\n",
  "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
  "Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n",
  "Transfer-Encoding:\r\n chunked\r\n",
]);

/** Names that are not this machine's, though some look like it. */
export const strangeHosts = [
  "127.attacker.example", "127.0.0.1.nip.io", "127.0.0.1.", "127.1", "127.0.0", "127.0.0.256", "127.0.0.0.1", "127.0.0.01", "0127.0.0.1", "0x7f.0.0.1", "127.0.0.1x",
  "2130706433", "0.0.0.0", "[::]", "[::2]", "[::1].example", "[::1", "::1", "[::1]x", "[127.0.0.1]", "localhost.example", "localhost..", "xlocalhost", "local", ".localhost", "127.",
  "127.0.0.1:x", "127.0.0.1:80:80", "localhost:80x", "localhost:99999", "127.0.0.1@evil.example", "localhost@127.0.0.1", "evil.example:80", "evil.example",
];
export const ownHosts = ["127.0.0.1", "127.8.9.10", "127.0.0.1:1", "localhost", "LocalHost", "localhost.", "LOCALHOST.:8080", "[::1]", "[::1]:80", "localhost:65535"];

const times = (count, what, by) => Array(count).fill(what).join(by);
/** Drafters that are more than a request may name. */
export const badDrafts = [
  times(9, "suffix", "+"), "suffix+suffix", "suffix+asd+suffix", "auto:suffix,suffix", `auto:${times(17, "suffix", ",")}`, "none+none",
  `suffix:min=2${" ".repeat(1020)}`, `suffix:min=${"0".repeat(1020)}2`, "auto+auto", times(16, "auto", "+"), "auto:asd,asd", "x".repeat(1025), times(20000, "auto", "+"),
  times(20000, "suffix", "+"), `auto:${times(14000, "suffix", ",")}`, `auto:${times(1000000, "asd", ",")}`, times(1000000, "auto", "+"),
];

const pairs = (count, key, value) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${key}${i}`, value]));
/** What is not metadata in OpenAI's API: 16 pairs of texts, keys of 64 characters, values of 512. */
export const badMetadata = [
  { key: "x".repeat(4500000) }, pairs(17, "k", "v"), { ["k".repeat(65)]: "v" }, { k: "v".repeat(513) }, pairs(200000, "k", "v"), { ["k".repeat(4500000)]: "v" }, { k: 5 }, { k: null },
  { k: ["v"] }, { k: { k: "v" } }, ["v"], "v", 5,
];
export const goodMetadata = [{}, pairs(16, "k", "v"), { ["k".repeat(64)]: "v".repeat(512) }, { ["\u00e4".repeat(64)]: "\u{1f600}".repeat(512) }];

/** `count` tools with descriptions of `characters` characters, in the form of chats or of responses. */
export const bigTools = (count, characters, form = "chat") =>
  Array.from({ length: count }, (_, i) => {
    const named = { name: `f${i}`, description: "x ".repeat(characters / 2), parameters: { type: "object", properties: {} } };
    return form === "chat" ? { type: "function", function: named } : { type: "function", ...named };
  });

/** Connections that are open and stay so, as far as the server lets them. `bytes`: what each sends. */
export async function openMany(base, count, bytes = "") {
  const raws = [];
  while (raws.length < count) {
    const some = Array.from({ length: Math.min(100, count - raws.length) }, () => new Raw(base));
    await Promise.race([Promise.all(some.map((raw) => Promise.race([raw.open, raw.gone]))), sleep(5000)]);
    if (bytes) for (const raw of some) raw.send(bytes);
    raws.push(...some);
  }
  return raws;
}

export const endAll = (raws) => raws.forEach((raw) => raw.end());
