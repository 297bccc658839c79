// Requests that are wrong at the level of bytes, several on a connection, sent to the server and through HAProxy: it answers as many as a strict reader
// of RFC 9112 finds in the bytes (strict_http.mjs), and no answer has another request's mark. What two readers understand differently lets one client's
// bytes become another's request (request smuggling).
// Then bodies that are wrong as JSON (structures.mjs), to the routes of both APIs: none ends the server, is answered with a fault of the server's or with
// nothing, and an error names the field.
//   node mutated_test.mjs PROGRAM MODEL [--requests N] [--structures N] [--seed N] [--at-once N] [--show N]
// --requests: to the server, and as many through HAProxy (SKIPSTONE_HAPROXY, else haproxy on PATH, if it is there); --structures: bodies; --show: failures that
// are printed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { chance } from "./chance.mjs";
import { startHaproxy } from "./haproxy.mjs";
import { ask, check, free, run, sleep, startServer } from "./harness.mjs";
import { bytesOf, makeRequest, marks, mutated } from "./mutations.mjs";
import { startParrot } from "./parrot.mjs";
import { Raw } from "./raw_http.mjs";
import { readRequests } from "./strict_http.mjs";
import { mutatedBody, routes, wrongAnswerTo } from "./structures.mjs";

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(["requests", "structures", "seed", "at-once", "show"].map((name) => [name, { type: "string" }])),
});
const [program, model] = positionals;
const number = (name, otherwise) => Number(given[name] ?? otherwise);
const requests = number("requests", 1000), structures = number("structures", 600), atOnce = number("at-once", 16), most = number("show", 12);
const haproxy = process.env.SKIPSTONE_HAPROXY ?? "haproxy";

const sent = new Set(); // all marks

/** Bytes for one connection, and the marks in them. */
function makeConnection(random, host) {
  const own = [];
  const pieces = Array.from({ length: 1 + random.below(4) }, () => {
    const request = makeRequest(random, host);
    own.push(request.mark);
    sent.add(request.mark);
    return random.happens(0.5) ? mutated(random, request, host) : bytesOf(request);
  });
  return { bytes: Buffer.concat(pieces), own };
}

const after = (ms) => sleep(ms).then(() => "late");

/** All answers to these bytes, up to the end of the connection. `expected`: number waited for before this side ends. */
async function answersTo(base, bytes, { requests: expected, error, rest }) {
  const raw = new Raw(base).send(bytes);
  const answers = [];
  const read = async (ms) => {
    const answer = await Promise.race([raw.answer(), after(ms)]);
    if (answer && answer !== "late" && answer.status >= 200) answers.push(answer);
    return answer;
  };
  const wait = async (enough, ms) => {
    const end = Date.now() + ms;
    while (!enough() && Date.now() < end) if (["late", undefined].includes(await read(end - Date.now()))) break;
  };
  await wait(() => answers.length >= expected.length, 10000);
  // A server may wait for the rest of bytes that the strict reader has refused already.
  if (error) await wait(() => answers.length > expected.length, 300);
  else if (rest !== "") await sleep(20);
  if (!raw.closed) raw.socket.end();
  await wait(() => false, 10000);
  const ended = raw.closed;
  raw.end();
  return { answers, ended };
}

/** The status that a request has to have; undefined where that does not follow from what it is. */
function statusOf({ method, target, version, body, refusal, choice, fields }) {
  if (refusal || choice || fields.some(({ name }) => ["expect", "origin"].includes(name)) || version !== "HTTP/1.1") return undefined;
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(fields.find(({ name }) => name === "host")?.value)) return undefined;
  if (method === "GET" && /^\/tk[0-9a-f]{12}$/.test(target)) return 404;
  if (method !== "POST" || !["/tokenize", "/v1/completions"].includes(target) || /[^\n\r -~]/.test(body)) return undefined;
  try {
    const { content, model: named, with_pieces: pieces, prompt } = JSON.parse(body);
    if (target === "/tokenize") return /^tk[0-9a-f]{12}$/.test(content) && pieces === true ? 200 : undefined;
    return /^tk[0-9a-f]{12}$/.test(named) && prompt === "x" ? 404 : undefined;
  } catch {
    return 400;
  }
}

/** The text of an answer with chunks put together, so that a mark is there in one part. */
function saidBy(answer) {
  try {
    return answer.json().tokens?.map(({ piece }) => piece).join("") ?? answer.text;
  } catch {
    return answer.text;
  }
}

/** Why an answer is not that of its request, or undefined. */
function wrongAnswer(request, answer) {
  const said = saidBy(answer).match(marks) ?? [];
  const stranger = said.find((one) => sent.has(one) && !(request.bytes + request.body).includes(one));
  if (stranger) return `has another's mark, ${stranger}`;
  const expected = statusOf(request);
  if (expected && answer.status !== expected) return `is ${answer.status}, not ${expected}`;
  if (expected === 200 && said.length === 0) return "has no mark";
  if (request.refusal && answer.status < 400) return `is ${answer.status}, but ${request.refusal}`;
  return undefined;
}

/** Why marks are another connection's, or not in the order that this one sent them, each once, or undefined. A mark that a mutation made is no connection's. */
function wrongMarks(own, answers) {
  let at = -1;
  for (const one of answers.flatMap((answer) => saidBy(answer).match(marks) ?? []).filter((one) => sent.has(one))) {
    const place = own.indexOf(one);
    if (place < 0) return `an answer has the mark of another connection, ${one}`;
    if (place <= at) return `the answer with ${one} is out of order`;
    at = place;
  }
  return undefined;
}

/** Why these answers of the server are not those to these requests, or undefined. */
function wrongDirectly(own, { requests: found, error, rest }, { answers, ended }) {
  for (const [i, answer] of answers.entries()) {
    const wrong = found[i] && wrongAnswer(found[i], answer);
    if (wrong) return `answer ${i} ${wrong}`;
    if (found[i]) continue;
    if (found.at(-1)?.last || (!error && rest === "")) return `answer ${i}, ${answer.status}, is to no request`;
    if (i > found.length) return `answer ${i}, ${answer.status}, is behind a refusal`;
    if (answer.status < 400) return `answer ${i}, ${answer.status}, is to bytes that are no request: ${error ?? "they do not end"}`;
  }
  const last = answers.at(-1);
  const refused = last?.status >= 400 && last.headers.connection === "close";
  // What is right but for its route or model is no reason to end a connection, unless it has a body that its route does not read.
  const right = (request) => request && statusOf(request) && (request.method === "POST" || request.body === "");
  if (answers.length < found.length && (!refused || right(found[answers.length - 1]))) return `${answers.length} answers to ${found.length} requests`;
  return ended ? wrongMarks(own, answers) : "the connection does not end";
}

/** The same of answers that came through HAProxy: it refuses more than the server, and repairs some of what a strict reader refuses. */
function wrongThroughProxy(own, { requests: found, error, rest }, { answers, ended }) {
  for (const [i, answer] of answers.entries()) {
    const wrong = found[i] && answer.status < 400 && wrongAnswer({ ...found[i], refusal: undefined }, answer);
    if (wrong) return `answer ${i} ${wrong}`;
    if (!found[i] && (found.at(-1)?.last || (!error && rest === ""))) return `answer ${i}, ${answer.status}, is to no request`;
  }
  if (answers.length > own.length + 1) return `${answers.length} answers to ${own.length} requests`;
  if (answers.length < found.length && !(answers.at(-1)?.status >= 400)) return `${answers.length} answers to ${found.length} requests`;
  return ended ? wrongMarks(own, answers) : "the connection does not end";
}

/** Sends that many requests, some connections at once, and returns what was seen. */
async function sendAll(base, host, seed, judge) {
  const random = chance(seed);
  const seen = { connections: 0, answers: 0, good: 0, refused: 0, wrong: [] };
  let left = requests;
  const worker = async () => {
    while (left > 0) {
      const { bytes, own } = makeConnection(random, host);
      left -= own.length;
      const strict = readRequests(bytes);
      const got = await answersTo(base, bytes, strict);
      ++seen.connections;
      seen.answers += got.answers.length;
      seen.good += got.answers.filter((answer) => saidBy(answer).match(marks)).length;
      if (strict.error) ++seen.refused;
      const wrong = judge(own, strict, got);
      if (!wrong) continue;
      const read = `${strict.requests.length} requests, then ${strict.error ?? (strict.rest === "" ? "nothing" : "one that does not end")}`;
      seen.wrong.push(`${wrong}\n        strictly ${read}; answers ${got.answers.map(({ status }) => status)}\n        ${JSON.stringify(bytes.toString("latin1"))}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return seen;
}

function report(seen) {
  const { connections, answers, good, refused, wrong } = seen;
  for (const one of wrong.slice(0, most)) console.log(`      ${one}`);
  assert.equal(wrong.length, 0, `${wrong.length} of ${connections} connections`);
  assert.ok(good > requests / 4, `${good} answers had the mark of their request`);
  return `${connections} connections, ${refused} of them with an error, ${answers} answers, ${good} with their request's mark`;
}

const server = await startServer(program, model);
const { host, port } = new URL(server.base);

check(`${requests} requests, sent to the server`, async () => {
  const seen = await sendAll(server.base, host, number("seed", 1), wrongDirectly);
  await free(server.base);
  return report(seen);
});
if (spawnSync(haproxy, ["-v"]).status === 0) {
  check(`${requests} requests, sent through HAProxy`, async () => {
    const front = await startHaproxy(haproxy, [port]);
    const seen = await sendAll(front, host, number("seed", 1) + 1, wrongThroughProxy);
    await free(server.base);
    return report(seen);
  });
} else {
  console.log(`no ${haproxy} here: nothing is sent through HAProxy`);
}
check(`${structures} bodies that are wrong as JSON`, async () => {
  const parrot = await startParrot(program, { answers: ['Hm.<tool_call>\n{"name": "weather", "arguments": {"city": "Bern"}}\n</tool_call>'], context: 1024 });
  for (const [path, make] of routes) assert.deepEqual(await wrongAnswerTo(parrot.base, path, JSON.stringify(make())), { status: 200 }, path);
  const random = chance(number("seed", 1) + 2);
  const seen = {}, wrong = [];
  let left = structures;
  const worker = async () => {
    while (left-- > 0) {
      const [path, make] = random.one(routes);
      const body = mutatedBody(random, make);
      const { status, fault } = await wrongAnswerTo(parrot.base, path, body);
      seen[status] = (seen[status] ?? 0) + 1;
      if (fault) wrong.push(`${path} ${fault}\n        ${body.slice(0, 2000)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  for (const one of wrong.slice(0, most)) console.log(`      ${one}`);
  assert.equal(wrong.length, 0, `${wrong.length} answers`);
  assert.ok(seen[200] > structures / 20 && seen[400] > structures / 4, JSON.stringify(seen));
  await free(parrot.base);
  assert.equal((await parrot.stop()).code, 0);
  return JSON.stringify(seen);
});
check("and a good one is answered", async () => {
  assert.equal((await ask(server.base, "/v1/completions", { prompt: "def f(x):", max_tokens: 2, seed: 1 })).choices.length, 1);
  assert.equal((await server.stop()).code, 0);
});
await run({ seconds: 7200 });
