// Requests, and what can be wrong with them at the level of bytes, for tests/serve/mutated_test.mjs.

/** A mark that is in one request alone, and in its answer. */
export const marks = /tk[0-9a-f]{12}/g;
let made = 0;
const mark = (random) => `tk${random.below(2 ** 24).toString(16).padStart(6, "0")}${(++made % 2 ** 24).toString(16).padStart(6, "0")}`;

const chunked = (random, body) => {
  let text = "";
  for (let at = 0; at < body.length; ) {
    const length = Math.min(body.length - at, 1 + random.below(20));
    text += `${length.toString(16)}\r\n${body.slice(at, at + length)}\r\n`;
    at += length;
  }
  return `${text}0\r\n\r\n`;
};

/** A request that is right, in parts; its answer repeats the mark that it has. */
export function makeRequest(random, host) {
  const own = mark(random);
  const kind = random.below(4);
  const request = { mark: own, before: "", method: "POST", target: "/tokenize", version: "HTTP/1.1", fields: [`Host: ${host}`], body: "", end: "\r\n" };
  if (kind === 0) return Object.assign(request, { method: "GET", target: `/${own}` });
  request.body = JSON.stringify(kind === 1 ? { prompt: "x", max_tokens: 1, model: own } : { content: own, with_pieces: true });
  if (kind === 1) request.target = "/v1/completions";
  if (random.happens(0.5)) {
    request.fields.push("Transfer-Encoding: chunked");
    request.body = chunked(random, request.body);
  } else {
    request.fields.push(`Content-Length: ${request.body.length}`);
  }
  if (random.happens(0.3)) request.fields.splice(random.below(3), 0, "Accept: */*");
  return request;
}

export const bytesOf = ({ before, method, target, version, fields, body, end }) =>
  Buffer.from(`${before}${method} ${target} ${version}${end}${fields.map((field) => field + end).join("")}${end}${body}`, "latin1");

// ---- what can be wrong; each changes a request, or does nothing where it does not apply ----

const lineEnds = ["\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", "\0\r\n", "\v\r\n", " \r\n"];
const lengths = ["-1", "+5", "0x5", "", "5,5", "5, 5", "5 5", "1_0", "5.0", "1e1", "99999999999999999999999", "\v5", "0", "5;x"];
const codings = [
  "xchunked", "identity", "chunked, identity", "gzip, chunked", "chunked, chunked", "gzip", "chunked;q=1", "\vchunked", "chunked\v", ", chunked", "chunked,", "",
  "\"chunked\"", "Chunked", "chunke", "chunked gzip", "\u00c7hunked",
];
const sizes = ["0x4", "+4", "-4", " 4", "4 ", "4\t", "", "g", "4;", "4;x", "4;x=y", "4;x=\"y;\"", "4;\n", "4;x\r", "004", "ffffffffffffffff", "100000000000000004", "4 ;x", "4,4", "4_"];
const targets = (target, host) => [
  `http://${host}${target}`, `HTTP://${host}${target}`, `http://evil.example${target}`, `https://${host}${target}`, `http:/${host}${target}`, `//${host}${target}`, "*",
  target.slice(1), `${target}#x`, `${target} x`, `${target}\tx`, `${target}\u00ff`, `${target}?x=/%2e%2e`, `${target}%`, `${target}%0d%0aX: y`, `http://${target}`,
  `http://x@${host}${target}`, `${target}\0`, `\\${target}`, `${target}\v`,
];
const hosts = (host) => [
  [], [`Host: ${host}`, `Host: ${host}`], [`Host: ${host}`, "Host: evil.example"], ["Host:"], ["Host: evil.example"], [`Host: x@${host}`], [`Host: ${host}, ${host}`],
  ["Host: 127.0.0.1.nip.io"], ["Host: a b"], [`Host: ${host}/x`], ["Host: LOCALHOST."], [`host:${host}`], [`Host : ${host}`], [` Host: ${host}`],
];
const badFields = [
  "A B: x", ": x", "A", "A(: x", "A\x01: x", "A: x\x01y", "A: x\0y", "A: x\ry", "A: x\ny", "A: \u00ff", "A:\tx\t", "A: x\r\n folded", "A: x\r\n\tContent-Length: 3",
  "A\u00ff: x", "A: x\x7f", "Expect: 100-continue", "Expect: 200-ok", "Connection: close", "Connection: keep-alive", "Content-Length: 3", "Transfer-Encoding: chunked",
  "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", "Content-Length : 3", "Content_Length: 3", "Transfer_Encoding: chunked", "Transfer-Encoding:\r\n chunked",
  "Content-Length:\r\n 3", "Upgrade: h2c", "Trailer: A", "TE: trailers", "X-HTTP-Method-Override: GET",
];
const versions = ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "HTTP/11", "HTTP/1.10", "HTTP/01.1", "", "HTTP/1.x", "HTTPS/1.1"];
const methods = ["get", "G@T", "GET\t", "", " GET", "GET ", "BREW", "G\0T", "OPTIONS", "PUT", "CONNECT", "TRACE"];
const fronts = ["\r\n", "\r\n\r\n", "\n", "\r", " ", "\0", "\r\n ", "\x16\x03\x01"];

/** Replaces the `index`th place of `what` in a text. */
function replaceAt(text, what, index, by) {
  const parts = text.split(what);
  return parts.length < 2 ? text : parts.map((part, i) => (i === 0 ? part : (i === 1 + (index % (parts.length - 1)) ? by : what) + part)).join("");
}

const withField = (request, name, fields) => {
  request.fields = request.fields.filter((field) => !field.toLowerCase().startsWith(`${name}:`));
  request.fields.push(...fields);
};
const hasField = (request, name) => request.fields.some((field) => field.toLowerCase().startsWith(`${name}:`));

const changes = [
  (r, random) => (r.end = random.one(["\n", "\r", "\r\n"])),
  (r, random) => hasField(r, "content-length") && withField(r, "content-length", [`Content-Length: ${random.one(lengths)}`]),
  (r, random) => hasField(r, "content-length") && withField(r, "content-length", [`Content-Length: ${Math.max(0, r.body.length + random.one([-5, -1, 1, 7]))}`]),
  (r) => hasField(r, "content-length") && withField(r, "content-length", [`Content-Length: 000${r.body.length}`]),
  (r, random) => {
    if (!hasField(r, "content-length")) return;
    const own = `Content-Length: ${r.body.length}`;
    withField(r, "content-length", random.one([[own, own], [own, "Content-Length: 3"], ["Content-Length: 3", own], [`${own}, ${r.body.length}`]]));
  },
  (r, random) => withField(r, "transfer-encoding", [`Transfer-Encoding: ${random.one(codings)}`]),
  (r) => withField(r, "transfer-encoding", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]),
  (r, random) => hasField(r, "transfer-encoding") && withField(r, "content-length", [`Content-Length: ${random.one([3, r.body.length])}`]),
  (r, random) => hasField(r, "transfer-encoding") && (r.body = r.body.replace(/^[0-9a-f]+/, (size) => random.one([random.one(sizes), random.one(sizes).replace("4", size)]))),
  (r, random) => hasField(r, "transfer-encoding") && (r.body = replaceAt(r.body, "\r\n", random.below(50), random.one(lineEnds))),
  (r, random) => hasField(r, "transfer-encoding") && (r.body = r.body.replace(/0\r\n\r\n$/, `0\r\n${random.one(badFields)}\r\n\r\n`)),
  (r, random, host) => (r.target = random.one(targets(r.target, host))),
  (r, random, host) => withField(r, "host", random.one(hosts(host))),
  (r, random) => r.fields.splice(random.below(r.fields.length + 1), 0, random.one(badFields)),
  (r, random) => r.fields.push(random.one(r.fields)),
  (r, random) => (r.version = random.one(versions)),
  (r, random) => (r.method = random.one(methods)),
  (r, random) => (r.before = random.one(fronts)),
];

const ofBytes = [
  (text, random) => replaceAt(text, "\r\n", random.below(8), random.one(lineEnds)),
  (text, random, at) => text.slice(0, at) + text.slice(at + 1 + random.below(3)),
  (text, random, at) => text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at),
  (text, random, at) => text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1),
  (text, random, at) => text.slice(0, at) + random.one(["\0", "\r", "\n", "\r\n", " ", "\t", ":", "\x7f", "\u00ff"]) + text.slice(at),
];

/** The bytes of a request of which something is wrong, at most in two places. */
export function mutated(random, request, host) {
  const times = 1 + random.below(2);
  const inBytes = random.happens(0.25);
  if (!inBytes) for (let i = 0; i < times; ++i) random.one(changes)(request, random, host);
  const bytes = bytesOf(request);
  if (!inBytes) return bytes;
  let text = bytes.toString("latin1");
  for (let i = 0; i < times; ++i) text = random.one(ofBytes)(text, random, random.below(text.length));
  return Buffer.from(text, "latin1");
}
