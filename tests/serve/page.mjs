// What the tests of the chat page share: Chromium (SKIPSTONE_CHROMIUM; /usr/bin/chromium), visitors of the page, answers that are made up.
// The address of the server is the first argument of the test. Packages: SKIPSTONE_NODE_MODULES.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "./harness.mjs";

export const [base, screenshot] = process.argv.slice(2);
if (!base) {
  console.error(`usage: ${process.argv[1]} BASE_URL [SCREENSHOT.png]`);
  process.exit(2);
}
export const origin = new URL(base).origin;
const { default: puppeteer } = await load("puppeteer-core");
const userDataDir = mkdtempSync(join(tmpdir(), "skipstone-page-"));
const browser = await puppeteer.launch({
  executablePath: process.env.SKIPSTONE_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  userDataDir,
});
process.on("exit", () => {
  browser.process().kill("SIGKILL");
  rmSync(userDataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });  // its processes end one by one
});
export const props = await (await fetch(`${base}/props`)).json();
export const chat = "/v1/chat/completions";

// ---- the page ----

/** What `reply` returns for a request that is never answered. */
export const silence = {};

/** A page of a visitor who was never here, or of one who has `context`, before whose scripts `before` runs. `reply` gets a path and a request
 *  and returns the answer; undefined leaves it to the server. */
export async function open({ width = 1000, reply, context, before } = {}) {
  context ??= await browser.createBrowserContext();
  const page = await context.newPage();
  if (before) await page.evaluateOnNewDocument(before);
  const seen = { page, context, errors: [], requests: [], streams: [] };
  page.setDefaultTimeout(120000);
  await page.setViewport({ width, height: 720 });
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("request", (request) => {
    const path = request.url().slice(origin.length);
    seen.requests.push(request.url());
    if (path === chat) seen.streams.push({ request, body: JSON.parse(request.postData()) });
    if (!reply) return;
    const answer = reply(path, request);
    if (answer !== silence) answer ? request.respond(answer) : request.continue();
  });
  if (reply) await page.setRequestInterception(true);
  seen.response = await page.goto(`${base}/`);
  await page.waitForFunction(() => document.querySelector("dialog[open]") || document.getElementById("about").textContent);
  return seen;
}

export const idle = (page) => page.waitForFunction(() => !document.body.classList.contains("busy"));
export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
export const input = (page, text) => page.$eval("#input", (element, value) => (element.value = value), text);

export async function send(page, text) {
  await input(page, text);
  await page.focus("#input");
  await page.keyboard.press("Enter");
}

export async function set(page, values) {
  await page.click("#open-settings");
  for (const [name, value] of Object.entries(values)) {
    const field = `#settings [name=${name}]`;
    if (name === "draft") await page.select(field, value);
    else await page.type(field, String(value));
  }
  await page.click("#settings .main");
}

/** The events of the last stream. */
export async function eventsOf({ streams }) {
  const body = await streams.at(-1).request.response().text();
  assert.ok(body.endsWith("data: [DONE]\n\n"), body.slice(-200));
  const sent = body.split("\n\n").slice(0, -2).filter((event) => !event.startsWith(":")); // without comments
  return sent.map((event) => JSON.parse(event.slice("data: ".length)));
}

export const contentOf = (events) => events.map((event) => event.choices[0]?.delta.content ?? "").join("");

// ---- answers that are made up ----

export const json = (document, status = 200) => ({ status, contentType: "application/json", body: JSON.stringify(document) });
export const refusal = (message, status = 400, code = null) => json({ error: { message, type: "invalid_request_error", param: null, code } }, status);
export const piece = (delta, drafter = null) => ({ choices: [{ index: 0, delta, finish_reason: null }], skipstone: { drafter } });
export const stream = (events, end = "data: [DONE]\n\n") => ({
  status: 200,
  contentType: "text/event-stream",
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end,
});
export const timings = {
  prompt_n: 5, cache_n: 2, prompt_ms: 30, predicted_n: 40, predicted_ms: 400, predicted_per_second: 100,
  draft_n: 31, draft_n_accepted: 24, rounds: 16, tokens_per_round: 2.5, seed: 7,
};
/** Answers for the chat alone, the next of them each time and the last one again and again. */
export function replies(...answers) {
  return (path) => (path === chat ? (answers.length > 1 ? answers.shift() : answers[0]) : undefined);
}

// ---- what is seen ----

/** The letters of the answers, without the headings of code: these are the same in Markdown and on the page. */
export const letters = (text) => text.replace(/[^\p{L}]/gu, "");
export const shown = (page, selector = ".words") =>
  page.$$eval(selector, (all) =>
    all.map((one) => {
      const copy = one.cloneNode(true);
      copy.querySelectorAll(".code-head").forEach((head) => head.remove());
      return copy.textContent;
    }).join(""),
  );

/** What is wider than its place, and so makes the page scroll sideways. */
export const tooWide = (page) =>
  page.$$eval("html, body, header, #log, #log > *, footer, dialog[open]", (all) =>
    all.filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline").map(({ id, tagName }) => id || tagName),
  );

/** What of `selector` has which contrast of text and background: [what, ratio]. */
export const contrasts = (page, selector) =>
  page.$$eval(selector, (all) => {
    const numbers = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
      const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      const [r, g, b] = numbers(color).map((part) => linear(part / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (one) => {
      const color = getComputedStyle(one).backgroundColor;
      return numbers(color)[3] === 0 ? behind(one.parentElement) : color;
    };
    return all.map((one) => {
      const [low, high] = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => a - b);
      return [`${one.className || one.id || one.tagName} ${one.title}`, (high + 0.05) / (low + 0.05)];
    });
  });
