// page_test.mjs BASE_URL [SCREENSHOT.png]: the chat page of a server without keys, in Chromium (SKIPSTONE_CHROMIUM; /usr/bin/chromium).
// Packages: SKIPSTONE_NODE_MODULES. Answers that no server gives at will, such as errors, are made up here; all others are the server's.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, free, load, run, sleep } from "./harness.mjs";

const [base, screenshot] = process.argv.slice(2);
if (!base) {
  console.error("usage: page_test.mjs BASE_URL [SCREENSHOT.png]");
  process.exit(2);
}
const origin = new URL(base).origin;
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
const props = await (await fetch(`${base}/props`)).json();
const code = "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result\n";
const chat = "/v1/chat/completions";

// ---- the page ----

/** A page of a visitor who was never here. `reply` gets a path and a request and returns the answer; undefined leaves it to the server. */
async function open({ width = 1000, reply } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
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
    answer ? request.respond(answer) : request.continue();
  });
  if (reply) await page.setRequestInterception(true);
  seen.response = await page.goto(`${base}/`);
  await page.waitForFunction(() => document.querySelector("dialog[open]") || document.getElementById("about").textContent);
  return seen;
}

const idle = (page) => page.waitForFunction(() => !document.body.classList.contains("busy"));
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
const input = (page, text) => page.$eval("#input", (element, value) => (element.value = value), text);

async function send(page, text) {
  await input(page, text);
  await page.focus("#input");
  await page.keyboard.press("Enter");
}

async function set(page, values) {
  await page.click("#open-settings");
  for (const [name, value] of Object.entries(values)) {
    const field = `#settings [name=${name}]`;
    if (name === "draft") await page.select(field, value);
    else await page.type(field, String(value));
  }
  await page.click("#settings .main");
}

/** The events of the last stream. */
async function eventsOf({ streams }) {
  const body = await streams.at(-1).request.response().text();
  assert.ok(body.endsWith("data: [DONE]\n\n"), body.slice(-200));
  const sent = body.split("\n\n").slice(0, -2).filter((event) => !event.startsWith(":")); // without comments
  return sent.map((event) => JSON.parse(event.slice("data: ".length)));
}

const contentOf = (events) => events.map((event) => event.choices[0]?.delta.content ?? "").join("");

// ---- answers that are made up ----

const json = (document, status = 200) => ({ status, contentType: "application/json", body: JSON.stringify(document) });
const refusal = (message, status = 400) => json({ error: { message, type: "invalid_request_error", param: null, code: null } }, status);
const piece = (delta, drafter = null) => ({ choices: [{ index: 0, delta, finish_reason: null }], skipstone: { drafter } });
const stream = (events, end = "data: [DONE]\n\n") => ({
  status: 200,
  contentType: "text/event-stream",
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end,
});
const timings = {
  prompt_n: 5, cache_n: 2, prompt_ms: 30, predicted_n: 40, predicted_ms: 400, predicted_per_second: 100,
  draft_n: 31, draft_n_accepted: 24, rounds: 16, tokens_per_round: 2.5, seed: 7,
};
/** Answers for the chat alone, the next of them each time and the last one again and again. */
function replies(...answers) {
  return (path) => (path === chat ? (answers.length > 1 ? answers.shift() : answers[0]) : undefined);
}

// ---- with the server ----

check("the page loads: no error, nothing from elsewhere", async () => {
  const { page, errors, requests, response } = await open();
  assert.match(response.headers()["content-security-policy"], /default-src 'none'/);
  assert.match(await page.$eval("#about", (about) => about.textContent), new RegExp(`^${props.model} on `));
  assert.deepEqual(errors, []);
  assert.deepEqual(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")), []);
});

check("an answer is streamed into the log, with its numbers below", async () => {
  const seen = await open(), { page } = seen;
  await set(page, { temperature: 0, max_tokens: 80 });
  await page.evaluate(() => {
    window.lengths = new Set();
    const observer = new MutationObserver(() => window.lengths.add(document.querySelector(".words")?.textContent.length));
    observer.observe(document.getElementById("log"), { childList: true, subtree: true, characterData: true });
  });
  await send(page, code);
  await idle(page);
  const events = await eventsOf(seen), { timings: t } = events.at(-1);
  assert.ok(contentOf(events).length > 0, "the model says something");
  assert.deepEqual(await texts(page, ".question"), [code]);
  assert.equal((await texts(page, ".answer .words")).join(""), contentOf(events));
  assert.ok((await page.evaluate(() => window.lengths.size)) > 3, "the text grows");
  const [status] = await texts(page, ".status");
  const drafts = t.draft_n > 0 ? `${t.draft_n_accepted} of ${t.draft_n} drafts accepted` : "no drafts";
  const rate = `${t.predicted_per_second.toFixed(1)} tokens/s`, round = `${t.tokens_per_round.toFixed(2)} tokens per round`;
  for (const part of [rate, round, drafts, "to the first token"]) assert.ok(status.includes(part), `${part}: ${status}`);
  assert.equal(status.includes("\u00d7 plain"), Boolean(props.plain_token_ms), status);
  assert.deepEqual(seen.errors, []);
  if (screenshot) await page.screenshot({ path: screenshot });
  return (await texts(page, ".status span")).join(", ");
});

check("Stop keeps what came, and the server stops", async () => {
  const seen = await open(), { page } = seen;
  await page.evaluate(() => {
    const observer = new MutationObserver(() => {
      const words = document.querySelector(".answer:last-of-type .words");
      if (words?.textContent && document.body.classList.contains("busy") && !words.dataset.stopped) {
        words.dataset.stopped = document.getElementById("send").textContent;
        document.getElementById("send").click();
      }
    });
    observer.observe(document.getElementById("log"), { childList: true, subtree: true, characterData: true });
  });
  let tries = 0;
  do {  // an answer may be at its end before anyone can stop it
    assert.ok(++tries <= 5, "no answer was long enough to be stopped");
    await page.click("#new");
    await send(page, code + "#\n".repeat(tries));
    await idle(page);
  } while (!(await texts(page, ".status"))[0].includes("stopped"));
  assert.equal(await page.$eval(".words", (words) => words.dataset.stopped), "Stop");
  assert.equal(await page.$eval("#send", (button) => button.textContent), "Send");
  await free(base);
  const [kept] = await texts(page, ".words");
  assert.ok(kept.length > 0);
  assert.equal(await page.$(".error"), null);
  await send(page, "go on");
  await idle(page);
  assert.equal((await texts(page, ".words"))[0], kept);
  assert.deepEqual(seen.streams.at(-1).body.messages.map(({ role }) => role), ["user", "assistant", "user"]);
  assert.equal(seen.streams.at(-1).body.messages[1].content, kept);
});

check("the log scrolls along until somebody scrolls up", async () => {
  const { page } = await open();
  const away = () => page.$eval("#log", (log) => log.scrollHeight - log.scrollTop - log.clientHeight);
  await set(page, { temperature: 0, max_tokens: 400 });
  await page.emulateCPUThrottling(20);  // so that the text grows by lines from frame to frame
  await send(page, code.repeat(8));
  await idle(page);
  await page.emulateCPUThrottling(null);
  await sleep(200);
  assert.ok((await away()) < 2, `${await away()} pixels below`);
  await send(page, code);
  await page.waitForSelector(".answer:last-of-type .words");
  await page.mouse.move(500, 300);
  await page.mouse.wheel({ deltaY: -300 });
  await sleep(300);
  const top = await page.$eval("#log", (log) => log.scrollTop);
  await idle(page);
  await sleep(100);
  assert.equal(await page.$eval("#log", (log) => log.scrollTop), top);
  assert.ok((await away()) > 100, `${await away()} pixels below`);
});

check("Retry replaces the last answer", async () => {
  const seen = await open(), { page } = seen;
  await set(page, { max_tokens: 24 });
  await send(page, code);
  await idle(page);
  await page.click(".retry");
  await idle(page);
  assert.equal(seen.streams.length, 2);
  assert.deepEqual(seen.streams[1].body, seen.streams[0].body);
  assert.deepEqual(await texts(page, ".question"), [code]);
  assert.equal((await texts(page, ".answer")).length, 1);
  assert.equal((await texts(page, ".words")).join(""), contentOf(await eventsOf(seen)));
});

check("the drafters are those of /props", async () => {
  const { page } = await open();
  const options = await page.$$eval("#settings [name=draft] option", (all) => all.map(({ value }) => value));
  assert.deepEqual(options, ["", ...props.drafters]);
});

check("drafted words name their drafter", async () => {
  const draft = ["suffix", "ngram", "lookup"].find((name) => props.drafters.includes(name));
  if (!draft) return "skipped: no such drafter";
  const seen = await open(), { page } = seen;
  await set(page, { temperature: 0, max_tokens: 120, draft });
  await send(page, code.repeat(3));
  await idle(page);
  assert.equal(seen.streams[0].body.draft, draft);
  const events = await eventsOf(seen), drafted = events.filter((event) => event.skipstone?.drafter), { timings: t } = events.at(-1);
  assert.equal((await texts(page, ".words .drafted")).join(""), contentOf(drafted));
  if (t.draft_n_accepted === 0) return "no draft was accepted";
  const titles = await page.$$eval(".words .drafted", (all) => all.map(({ title }) => title));
  assert.deepEqual([...new Set(titles)], [`drafted by ${draft}`]);
  assert.deepEqual(await texts(page, "#names .drafted"), [draft]);
  const background = () => page.$eval(".words .drafted", (span) => getComputedStyle(span).backgroundColor);
  assert.notEqual(await background(), "rgba(0, 0, 0, 0)");
  await page.click("#colours");
  assert.equal(await background(), "rgba(0, 0, 0, 0)");
  return `${titles.length} runs, ${t.draft_n_accepted} tokens`;
});

check("settings and the conversation survive a reload", async () => {
  const seen = await open(), { page } = seen;
  const values = { system: "Be brief.", temperature: 0.5, top_p: 0.9, top_k: 40, min_p: 0.05, seed: 11, max_tokens: 12, draft: "none" };
  await set(page, values);
  await send(page, "Hello");
  await idle(page);
  const before = await texts(page, ".answer");
  await page.reload();
  await page.waitForSelector(".answer");
  assert.deepEqual(await texts(page, ".answer"), before);
  const shown = await page.$$eval("#settings [name]", (all) => Object.fromEntries(all.map(({ name, value }) => [name, value])));
  assert.deepEqual(shown, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])));
  await send(page, "And again");
  await idle(page);
  const { system, ...numbers } = values, { messages, ...body } = seen.streams.at(-1).body;
  assert.deepEqual(body, { stream: true, ...numbers });
  assert.deepEqual(messages.map(({ role }) => role), ["system", "user", "assistant", "user"]);
  assert.equal(messages[0].content, system);
  await page.click("#open-settings");
  await page.click("#defaults");
  await page.click("#settings .main");
  await page.click("#new");
  assert.deepEqual(await texts(page, ".question, .answer"), []);
  await send(page, "Anew");
  await page.click("#send");
  await idle(page);
  assert.deepEqual(seen.streams.at(-1).body, { messages: [{ role: "user", content: "Anew" }], stream: true });
  assert.deepEqual(seen.errors, []);
});

// ---- with answers that are made up ----

check("Enter sends, Shift+Enter begins a line", async () => {
  const seen = await open({ reply: replies(stream([piece({ content: "Yes." })])) }), { page } = seen;
  await page.type("#input", "one");
  await page.keyboard.down("Shift");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Shift");
  await page.type("#input", "two\n");
  await idle(page);
  assert.equal(seen.streams[0].body.messages[0].content, "one\ntwo");
  assert.equal(await page.$eval("#input", ({ value }) => value), "");
});

check("an error is a sentence in the conversation, and no text is lost", async () => {
  const good = stream([piece({ content: "Fine." })]), bad = refusal("the prompt has 9 tokens too many");
  const seen = await open({ reply: replies(good, bad, good, bad, good) }), { page } = seen;
  const asked = async (act) => {
    await act();
    await idle(page);
    return seen.streams.at(-1).body.messages.map(({ content }) => content);
  };
  await asked(() => send(page, "first"));
  await asked(() => send(page, "second"));
  assert.deepEqual(await texts(page, ".error"), ["The prompt has 9 tokens too many."]);
  assert.deepEqual(await texts(page, ".question"), ["first", "second"]);
  assert.deepEqual(await asked(() => send(page, "third")), ["first", "Fine.", "third"]);
  assert.deepEqual(await asked(() => page.click(".answer:last-of-type .retry")), ["first", "Fine.", "third"]);
  const last = () => texts(page, ".answer:last-of-type :is(.words, .error)");
  assert.deepEqual(await last(), ["Fine.", "The prompt has 9 tokens too many."]);
  await asked(() => page.click(".answer:last-of-type .retry"));
  assert.deepEqual(await last(), ["Fine."]);
});

check("an answer that breaks off stays", async () => {
  const begun = piece({ content: "So far" });
  const lost = stream([begun, { error: { message: "the device is lost", type: "server_error", param: null, code: null } }]);
  const { page } = await open({ reply: replies(lost, stream([begun], ""), { status: 502, body: "<h1>Bad gateway</h1>" }) });
  for (let i = 0; i < 3; ++i) {
    await send(page, "Hello");
    await idle(page);
  }
  assert.deepEqual(await texts(page, ".words"), ["So far", "So far"]);
  const sentences = ["The device is lost.", "The connection ended before the answer did.", "The server answered with status 502."];
  assert.deepEqual(await texts(page, ".error"), sentences);
});

check("markup stays text; reasoning folds; tool calls are shown", async () => {
  const markup = '<img src=x onerror="window.hurt = true"><b>bold</b>';
  const call = (fields, drafter) => piece({ tool_calls: [{ index: 0, ...fields }] }, drafter);
  const events = [
    piece({ role: "assistant", content: "" }),
    piece({ reasoning_content: `Hm, ${markup}` }),
    piece({ reasoning_content: " so" }, "exit"),
    piece({ content: markup }),
    piece({ content: markup }, markup),
    call({ id: "1", type: "function", function: { name: markup, arguments: "" } }),
    call({ function: { arguments: '{"a":' } }),
    call({ function: { arguments: "1}" } }, "exit"),
  ];
  const { page, errors } = await open({ reply: replies(stream(events)) });
  await send(page, markup);
  await idle(page);
  assert.deepEqual(await texts(page, ".question"), [markup]);
  assert.deepEqual(await texts(page, ".words"), [markup + markup]);
  assert.deepEqual(await texts(page, ".reasoning div"), [`Hm, ${markup} so`]);
  assert.equal(await page.$eval(".reasoning", ({ open: unfolded }) => unfolded), false);
  await page.click(".reasoning summary");
  assert.equal(await page.$eval(".reasoning", ({ open: unfolded }) => unfolded), true);
  assert.deepEqual(await texts(page, ".call"), [`Calls ${markup}{"a":1}`]);
  assert.equal(await page.$("#log img, #log b, #names b"), null);
  await sleep(100);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.deepEqual(errors, []);
});

check("the gain over plain decoding, where its cost is known", async () => {
  for (const plain_token_ms of [19, null, undefined]) {
    const answer = stream([piece({ content: "Yes." }), { choices: [], timings }]);
    const answers = { [chat]: answer, "/props": json({ ...props, plain_token_ms }) };
    const { page } = await open({ reply: (path) => answers[path] });
    await send(page, "Hello");
    await idle(page);
    const [status] = await texts(page, ".status");
    assert.equal(status.includes("1.9 \u00d7 plain"), plain_token_ms === 19, status);
    assert.match(status, /100\.0 tokens\/s.*2\.50 tokens per round.*24 of 31 drafts accepted.*seed 7/);
  }
});

check("a key is asked for, and kept for this tab alone", async () => {
  const allowed = (request) => request.headers().authorization === "Bearer right";
  const reply = (path, request) => {
    if (path === "/") return undefined;
    if (!allowed(request)) return refusal("the key is wrong or missing", 401);
    return path === chat ? stream([piece({ content: "Come in." })]) : undefined;
  };
  const { page } = await open({ reply });
  for (const key of ["wrong", "right"]) {
    await page.waitForSelector("#key[open]");
    await page.type("#key-value", `${key}\n`);
  }
  await page.waitForFunction(() => document.getElementById("about").textContent);
  await send(page, "Hello");
  await idle(page);
  assert.deepEqual(await texts(page, ".words"), ["Come in."]);
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("right")), false);
  assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage).includes("right")), true);
});

check("a phone of 360 pixels scrolls in one direction", async () => {
  const words = piece({ content: `${"long".repeat(80)} ${"    indented".repeat(20)}` });
  const drafters = props.drafters.map((name) => piece({ content: `${name} ` }, name));
  const { page } = await open({ width: 360, reply: replies(stream([words, ...drafters, { choices: [], timings }])) });
  const fits = async () => {
    const wide = await page.$$eval("html, body, header, #log, footer, dialog[open]", (all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map(({ id, tagName }) => id || tagName),
    );
    assert.deepEqual(wide, []);
  };
  await send(page, "wide".repeat(100));
  await idle(page);
  await fits();
  assert.equal(await page.$eval("header", (header) => header.clientHeight < 90), true, "the header is two lines");
  await page.click("#open-settings");
  await fits();
});

check("every control has a name and is reached by the keyboard", async () => {
  const { page } = await open({ reply: replies(stream([piece({ content: "Yes." }, "exit")])) });
  await send(page, "Hello");
  await idle(page);
  const reached = new Set();
  for (let i = 0; i < 12; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
  }
  const missed = ["new", "open-settings", "log", "retry", "colours", "input", "send"].filter((name) => !reached.has(name));
  assert.deepEqual(missed, []);
  await page.click("#open-settings");
  const nameless = await page.$$eval("button, input, textarea, select", (all) =>
    all.filter((one) => !one.textContent.trim() && !one.labels?.length).map(({ outerHTML }) => outerHTML),
  );
  assert.deepEqual(nameless, []);
  await page.keyboard.press("Escape");
  assert.equal(await page.$("dialog[open]"), null);
});

check("contrast is that of WCAG's AA, in light and dark", async () => {
  const drafters = props.drafters.map((name) => piece({ content: `${name} ` }, name));
  const answer = stream([piece({ reasoning_content: "Hm." }, "exit"), ...drafters, { choices: [], timings }]);
  const { page } = await open({ reply: replies(answer, refusal("no")) });
  await send(page, "Hello");
  await idle(page);
  await send(page, "Hello");
  await idle(page);
  let least = 21;
  for (const value of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    const written = "h1, #about, button, #input, .question div, .words, .drafted, .status, .error, summary, #legend";
    const ratios = await page.$$eval(written, (all) => {
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
    for (const [what, ratio] of ratios) assert.ok(ratio >= 4.5, `${value}: ${what} has ${ratio.toFixed(2)}`);
    least = Math.min(least, ...ratios.map(([, ratio]) => ratio));
  }
  return `at least ${least.toFixed(1)} : 1`;
});

await run();
