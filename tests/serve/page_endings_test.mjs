// page_endings_test.mjs BASE_URL: how answers of the chat page end, in Chromium: by Escape, by a reload or a closed tab in the middle, at limits
// and in a full context; and what the page says of a base model. Long answers are the server's, all others are made up.
import assert from "node:assert/strict";
import { check, free, run, sleep, until } from "./harness.mjs";
import { base, idle, json, letters, open, piece, props, refusal, replies, send, set, shown, silence, stream, texts, timings } from "./page.mjs";

const code = "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result\n";
const notes = (page) => texts(page, ".answer:last-of-type .note");
const visible = (page, selector) => page.$$eval(selector, (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent));
const ways = (page) => visible(page, ".answer:last-of-type .ways button");

/** Asks for an answer of the server's that lasts, and waits until a part of it is kept. */
async function begin(page) {
  await set(page, { temperature: 0 });
  await send(page, code.repeat(2));
  const isKept = () => localStorage.getItem(`skipstone.conversation.${current.id}`)?.includes('"kind":"text"');
  await page.waitForFunction(isKept);
}

check("Escape stops an answer, but not while a dialog is open", async () => {
  const { page } = await open({ reply: replies(silence) });
  const busy = () => page.evaluate(() => document.body.classList.contains("busy"));
  await send(page, "Hello");
  await page.click("#open-settings");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  await sleep(100);
  assert.ok(await busy(), "Escape closes the dialog alone");
  await page.keyboard.press("Escape");
  await idle(page);
  assert.deepEqual(await notes(page), ["You stopped this answer, so it is incomplete."]);
  assert.deepEqual(await ways(page), ["Retry"]);
  await page.keyboard.press("Escape");  // without an answer it does nothing
  assert.deepEqual(await texts(page, ".question"), ["Hello"]);
});

check("an answer in the middle of a reload is kept, says so, and can be tried again", async () => {
  const { page } = await open();
  await begin(page);
  await page.reload();
  await page.waitForSelector(".answer");
  assert.deepEqual(await notes(page), ["The page was closed or reloaded during this answer, so it is incomplete."]);
  assert.ok(letters(await shown(page)).length > 0, "what had come is kept");
  assert.equal(await page.$(".error"), null);
  await free(base);
  await set(page, { max_tokens: 8 });
  await page.click(".retry");
  await idle(page);
  assert.deepEqual(await notes(page), ["The answer ended at its limit of 8 tokens (Max tokens in Settings)."]);
  assert.deepEqual(await texts(page, ".question"), [code.repeat(2)]);
});

check("so is one in the middle of a closed tab", async () => {
  const first = await open();
  await begin(first.page);
  await first.page.close();
  const { page } = await open({ context: first.context });
  assert.deepEqual(await texts(page, ".question"), []);
  await page.click("#list .open");
  assert.deepEqual(await notes(page), ["The page was closed or reloaded during this answer, so it is incomplete."]);
  assert.ok(letters(await shown(page)).length > 0, "what had come is kept");
  assert.deepEqual(await ways(page), ["Retry"]);
  await free(base);
});

check("the earlier answer is back where the page is closed before a retry has an answer", async () => {
  const { page } = await open({ reply: replies(stream([piece({ content: "Fine." })]), silence) });
  await send(page, "Hello");
  await idle(page);
  await page.click(".retry");
  await page.reload();
  await page.waitForSelector(".answer");
  assert.deepEqual(await texts(page, ".words"), ["Fine."]);
  assert.deepEqual(await texts(page, ".note"), []);
});

check("an answer that is left in the middle marks nothing in the next conversation", async () => {
  const { page } = await open();
  await begin(page);
  await page.click("#new");
  await idle(page);
  await sleep(300);
  assert.deepEqual(await texts(page, "#names .drafted"), []);
  assert.deepEqual(await texts(page, ".answer"), []);
  await free(base);
});

check("the list keeps the focus while an answer comes", async () => {
  const { page } = await open();
  await begin(page);
  await page.focus("#list .open");
  const length = () => page.evaluate(() => localStorage.getItem(`skipstone.conversation.${current.id}`).length);
  const before = await length();
  await until("the conversation is stored again", async () => (await length()) > before);
  assert.equal(await page.evaluate(() => document.activeElement.className), "open");
  await idle(page);
});

check("a full context offers a new conversation", async () => {
  const full = stream([piece({ content: "Yes" }), { choices: [{ index: 0, delta: {}, finish_reason: "length" }] }]);
  const error = refusal("the prompt does not fit", 400, "context_length_exceeded");
  for (const [answer, note] of [[full, /^The context is full/], [error, /^The conversation does not fit/]]) {
    const { page } = await open({ reply: replies(answer) });
    await send(page, "Hello");
    await idle(page);
    assert.match((await notes(page))[0], note);
    assert.deepEqual(await ways(page), ["Retry", "New conversation"]);
    await page.click(".anew");
    assert.deepEqual(await texts(page, ".question, .answer"), []);
    assert.deepEqual(await texts(page, "#list .open"), ["Hello"], "the full one stays in the list");
  }
});

check("the server's own full context is recognized", async () => {
  const { page } = await open();
  await set(page, { temperature: 0 });
  await send(page, "x = 1\n".repeat(330));
  await idle(page);
  const { reason, timings: t } = await page.evaluate(() => current.turns[0].answer);
  if (reason !== "length") return "skipped: the answer ended by itself";
  assert.ok(t.prompt_n + t.cache_n + t.predicted_n >= props.default_generation_settings.n_ctx - 1);
  assert.match((await notes(page))[0], /^The context is full/);
  await send(page, "x = 1\n".repeat(2000));
  await idle(page);
  assert.match((await notes(page))[0], /^The conversation does not fit/);
  assert.deepEqual(await ways(page), ["Retry", "New conversation"]);
});

check("a limit of tokens is not a full context", async () => {
  const ended = { choices: [{ index: 0, delta: {}, finish_reason: "length" }], timings };
  const { page } = await open({ reply: replies(stream([piece({ content: "Yes" }), ended])) });
  await send(page, "Hello");
  await idle(page);
  assert.match((await notes(page))[0], /^The answer ended at a limit of the server/);
  await set(page, { max_tokens: timings.predicted_n });
  await page.click(".retry");
  await idle(page);
  assert.deepEqual(await notes(page), [`The answer ended at its limit of ${timings.predicted_n} tokens (Max tokens in Settings).`]);
  assert.deepEqual(await ways(page), ["Retry"]);
});

check("an answer takes half of the context at most, unless Settings says otherwise", async () => {
  const half = Math.ceil(props.default_generation_settings.n_ctx / 2);
  const { page, streams } = await open({ reply: replies(stream([piece({ content: "Yes" })])) });
  await send(page, "Hello");
  await idle(page);
  await set(page, { max_tokens: half + 1 });
  await send(page, "Hello again");
  await idle(page);
  assert.deepEqual(streams.map(({ body }) => body.max_tokens), [half, half + 1]);
});

check("a base model is said to be one", async () => {
  const { page } = await open();
  assert.equal((await visible(page, "#base")).length, props.base_model ? 1 : 0, "the server's model");
  for (const base_model of [true, false, undefined]) {
    const { page } = await open({ reply: (path) => (path === "/props" ? json({ ...props, base_model }) : undefined) });
    const expected = base_model ? ["This is a base model, which continues texts rather than answers."] : [];
    assert.deepEqual(await visible(page, "#base"), expected);
  }
});

await run();
