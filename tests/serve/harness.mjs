// What the tests of `skipstone serve` share: a runner, servers as processes, requests, events of streams. Node 18 and later, no packages.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** From now on fetch() waits as long as it takes: of itself it gives up after 5 minutes, which a CPU driver under load may need. */
export async function waitWithoutLimit() {
  const dispatcher = Symbol.for("undici.globalDispatcher.1");
  await fetch("data:,"); // makes it
  globalThis[dispatcher] = new globalThis[dispatcher].constructor({ headersTimeout: 0, bodyTimeout: 0 });
}

/** Whether the server is built with a sanitizer, which keeps freed memory and reserves terabytes of addresses: figures of memory say nothing then. */
export const sanitized = Boolean(process.env.SKIPSTONE_SANITIZED);
/** How many times as long as without one everything may take. */
export const slowness = sanitized ? 10 : 1;

// ---- checks ----

const checks = [];

/** A check that run() makes; `work` throws where it fails, and may return a text that is printed after the name. */
export function check(name, work) {
  checks.push({ name, work });
}

/** What `work` resolves to, within `seconds`; `what` names it in the error. */
export async function within(seconds, work, what = "this") {
  let timer;
  const late = new Promise((_, reject) => {
    const limit = seconds * slowness;
    timer = setTimeout(() => reject(new Error(`${what}: not done after ${limit} s`)), limit * 1000);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

/** Makes the checks one after another and ends the process: 1 where one failed. `only`: a part of their names. */
export async function run({ seconds = 180, only = process.env.SKIPSTONE_ONLY ?? "" } = {}) {
  let failed = 0;
  process.on("unhandledRejection", (error) => { // of a request that a check, having failed, no longer waits for
    console.log(`        left behind: ${error?.message ?? error}`);
  });
  const chosen = checks.filter(({ name }) => name.includes(only));
  for (const { name, work } of chosen) {
    try {
      const said = await within(seconds, work);
      console.log(`ok      ${name}${typeof said === "string" ? `: ${said}` : ""}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED  ${name}: ${error?.message ?? error}`);
      if (process.env.SKIPSTONE_STACKS) console.log(error?.stack);
    }
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

/** Waits until `happens` gives something that is true, and returns it. */
export async function until(what, happens, seconds = 10) {
  const end = Date.now() + seconds * slowness * 1000;
  for (;;) {
    const result = await happens();
    if (result) return result;
    assert.ok(Date.now() < end, `${what}: not within ${seconds} s`);
    await sleep(20);
  }
}

// ---- packages ----

/** A package of the folder SKIPSTONE_NODE_MODULES, as import() gives it. */
export async function load(name) {
  const folder = process.env.SKIPSTONE_NODE_MODULES;
  if (!folder) throw new Error("SKIPSTONE_NODE_MODULES does not name a node_modules folder; see tests/serve/package.json");
  return import(pathToFileURL(createRequire(join(folder, "x.js")).resolve(name)).href);
}

// ---- servers ----

/** Nothing is left where a check fails. */
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** A process that ends with this one. */
export function start(program, args, stdio) {
  const child = spawn(program, args, { stdio });
  running.add(child);
  return child;
}

/** Starts `skipstone serve`, on a free port unless `args` name one; resolves when it serves. `limits`: commands of a shell before that, as "ulimit -n 64". */
export async function startServer(program, model, args = [], { limits = "" } = {}) {
  const port = args.includes("--port") ? [] : ["--port", "0"];
  const command = [program, "serve", ...port, "-m", model, ...args];
  const [first, ...rest] = limits ? ["bash", "-c", `${limits} && exec "$@"`, "bash", ...command] : command;
  const child = start(first, rest, ["ignore", "ignore", "pipe"]);
  const server = { child, pid: child.pid, said: "", base: "" };
  server.ended = new Promise((resolve) => child.on("exit", (code, signal) => {
    running.delete(child);
    resolve({ code, signal });
  }));
  child.stderr.on("data", (data) => {
    server.said += data;
  });
  server.stop = async (signal = "SIGTERM") => {
    child.kill(signal);
    return server.ended;
  };
  server.base = await until(
    "the server starts",
    () => {
      if ((child.exitCode ?? child.signalCode) !== null) throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}: ${server.said}`);
      return /^Serving .* at (http:\S+)/m.exec(server.said)?.[1];
    },
    900,
  );
  return server;
}

/** Resident memory of a process in MiB; 0 under a sanitizer; undefined where the system does not tell. */
export function residentMemory(pid) {
  if (sanitized) return 0;
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
  } catch {
    return undefined;
  }
}

// ---- requests ----

const headers = (key) => ({ "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) });

/** Posts `body`, an object or the bytes themselves. */
export function post(base, path, body, { key, signal } = {}) {
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return fetch(base + path, { method: "POST", headers: headers(key), body: bytes, signal });
}

/** The document that comes back; it has to come with 200. */
export async function ask(base, path, body, options) {
  const response = await post(base, path, body, options);
  const document = await response.json();
  assert.equal(response.status, 200, JSON.stringify(document));
  return document;
}

export async function get(base, path, key) {
  const response = await fetch(base + path, { headers: headers(key) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The events of a stream: {event, data}, data parsed unless it is "[DONE]". Comments are left out. */
export async function* events(response) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split("\n");
      const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data === undefined && lines.every((line) => line.startsWith(":"))) continue;
      yield { event: field("event"), data: data === "[DONE]" ? data : JSON.parse(data) };
    }
  }
  assert.equal(text, "", "a stream ends with a whole event");
}

/** A value of /metrics; `labels` as they are printed, with braces. */
export async function metric(base, name, labels = "", key = undefined) {
  const { text } = await get(base, "/metrics", key);
  const line = text.split("\n").find((one) => one.startsWith(`skipstone_${name}${labels} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

/** Waits until nothing is answered or waits, and returns the milliseconds. */
export async function free(base, key = undefined, seconds = 10) {
  const begin = Date.now();
  await until(
    "the server is free",
    async () => {
      const slots = JSON.parse((await get(base, "/slots", key)).text);
      return slots.every((slot) => !slot.is_processing) && (await metric(base, "requests_waiting", "", key)) === 0;
    },
    seconds,
  );
  return Date.now() - begin;
}

/** OpenAI's form of an error, with these values. */
export function assertError(document, { type, param, code, message } = {}) {
  assert.deepEqual(Object.keys(document), ["error"], JSON.stringify(document));
  const { error } = document;
  assert.deepEqual(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  assert.equal(typeof error.message, "string");
  assert.ok(error.message.length > 0, "an error has a sentence");
  if (type !== undefined) assert.equal(error.type, type, error.message);
  if (param !== undefined) assert.equal(error.param, param, error.message);
  if (code !== undefined) assert.equal(error.code, code, error.message);
  if (message !== undefined) assert.match(error.message, message);
}
