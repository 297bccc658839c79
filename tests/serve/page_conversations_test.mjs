// page_conversations_test.mjs BASE_URL: the chat page's list of conversations, in Chromium: what survives, deleting and its undo, two tabs,
// storage that is full or forbidden. The answers are made up.
import assert from "node:assert/strict";
import { check, run, sleep, until } from "./harness.mjs";
import { contrasts, idle, open, piece, replies, send, silence, stream, texts, tooWide } from "./page.mjs";

const prefix = "skipstone.conversation.";
const yes = replies(stream([piece({ content: "Yes." })]));
const titles = (page) => texts(page, "#list .open");
const marked = (page) => texts(page, "#list [aria-current=true]");
const stored = (page) => page.evaluate((start) => Object.keys(localStorage).filter((key) => key.startsWith(start)).length, prefix);

async function ask(page, ...questions) {
  for (const question of questions) {
    await page.click("#new");
    await send(page, question);
    await idle(page);
  }
}

for (const width of [360, 1000]) {
  check(`conversations at ${width} pixels: a list that survives a reload and a closed tab`, async () => {
    const first = await open({ width, reply: yes }), narrow = width < 900;
    const show = async (page) => narrow && page.click("#open-list");
    await ask(first.page, "one", `two ${"long ".repeat(50)}`, " three \n lines ");
    const long = `two ${"long ".repeat(11)}`.slice(0, 59).trim();
    const expected = ["three lines", `${long}\u2026`, "one"];
    assert.deepEqual(await titles(first.page), expected);
    assert.deepEqual(await marked(first.page), ["three lines"]);
    await first.page.reload();
    await first.page.waitForSelector(".answer");
    assert.deepEqual(await texts(first.page, ".question"), [" three \n lines "]);
    assert.deepEqual(await marked(first.page), ["three lines"]);
    await first.page.close();
    const { page, errors } = await open({ width, reply: yes, context: first.context });
    assert.deepEqual(await titles(page), expected);
    assert.deepEqual(await marked(page), []);
    await show(page);
    await page.click("#list li:last-child .open");
    assert.equal(await page.$("dialog[open]"), null);
    assert.deepEqual(await texts(page, ".question, .words"), ["one", "Yes."]);
    await send(page, "one more");
    await idle(page);
    assert.deepEqual(await titles(page), ["one", ...expected.slice(0, 2)], "the newest question is first");
    await show(page);
    assert.equal(await page.$eval("#open-list", (button) => button.checkVisibility()), narrow);
    assert.deepEqual(await tooWide(page), []);
    for (const value of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
      await page.click("#list li:last-child .delete");
      const written = await contrasts(page, "#conversations :is(h2, button, p, span)");
      for (const [what, ratio] of written) assert.ok(ratio >= 4.5, `${value}: ${what} has ${ratio.toFixed(2)}`);
    }
    assert.deepEqual(await tooWide(page), []);
    assert.deepEqual(errors, []);
  });
}

check("a message that is not sent yet survives a reload, in its tab alone", async () => {
  const { page: one, context } = await open();
  await one.type("#input", "half a mess");
  await one.reload();
  await one.waitForFunction(() => document.getElementById("input").value === "half a mess");
  const { page: two } = await open({ context });
  assert.equal(await two.$eval("#input", ({ value }) => value), "");
});

check("a deleted conversation can be brought back, by the keyboard too", async () => {
  const { page } = await open({ reply: yes });
  await ask(page, "one", "two");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  for (const [entry, shown] of [["li:last-child", "two"], ["li:first-child", undefined]]) {  // another one, and the one that is shown
    const before = await titles(page), [deleted] = await texts(page, `#list ${entry} .open`);
    await page.focus(`#list ${entry} .delete`);
    await page.keyboard.press("Enter");
    assert.deepEqual(await titles(page), before.filter((title) => title !== deleted));
    assert.equal(await stored(page), 1, "it leaves the storage at once");
    assert.deepEqual(await texts(page, ".question"), shown ? [shown] : []);
    assert.equal(await page.$eval("[role=status]#undo-text", (text) => text.textContent), `Deleted \u201c${deleted}\u201d.`);
    assert.equal(await focused(), "Undo");
    await page.keyboard.press("Enter");
    assert.deepEqual(await titles(page), before);
    assert.deepEqual(await texts(page, ".question"), ["two"]);
    assert.equal(await page.$eval("#undo-text", (text) => text.textContent), `\u201c${deleted}\u201d is back.`);
    assert.equal(await focused(), deleted);
    assert.equal(await page.$eval("#undo", (button) => button.hidden), true);
  }
  await page.reload();
  await page.waitForSelector(".answer");
  assert.deepEqual(await titles(page), ["two", "one"]);
});

check("the offer to undo ends after some seconds, but not under the keyboard's focus", async () => {
  const { page } = await open({ reply: yes, before: () => {
    const real = window.setTimeout;
    window.setTimeout = (act, ms) => real(act, ms === 10000 ? 100 : ms);
  } });
  await ask(page, "one");
  await page.focus("#list .delete");
  await page.keyboard.press("Enter");
  await sleep(400);
  assert.equal(await page.$eval("#undo", (button) => button.hidden), false);
  await page.focus("#input");
  await page.waitForFunction(() => document.getElementById("undo").hidden);
  assert.equal(await stored(page), 0);
});

check("deleting or leaving a conversation stops its answer, and does not bring it back", async () => {
  const { page } = await open({ reply: replies(silence) });
  await send(page, "one");
  await page.waitForSelector("#list .delete");
  await page.click("#list .delete");
  await idle(page);
  await sleep(100);
  assert.equal(await stored(page), 0);
  await send(page, "two");
  await page.waitForSelector("#list .open");
  await page.click("#new");
  await idle(page);
  await page.click("#list .open");
  assert.deepEqual(await texts(page, ".note"), ["You stopped this answer, so it is incomplete."]);
});

check("two tabs keep each other's conversations, and share one that neither is answering", async () => {
  const { page: one, context } = await open({ reply: yes });
  await ask(one, "from one");
  const { page: two } = await open({ context, reply: replies(silence) });
  const questions = (page, count) => until(`${count} questions`, async () => (await page.$$(".question")).length === count, 60);
  const entries = (page, count) => until(`${count} conversations`, async () => (await page.$$("#list .open")).length === count);
  await two.click("#list .open");
  await one.bringToFront();
  await ask(one, "again from one");
  await entries(two, 2);
  assert.deepEqual(await texts(two, ".question"), ["from one"]);
  await one.click("#list li:last-child .open");
  await send(one, "more");
  await idle(one);
  await questions(two, 2);
  assert.deepEqual(await texts(two, ".question"), ["from one", "more"]);

  await two.bringToFront();
  await send(two, "mine");  // while this waits for its answer, the other tab asks too
  await questions(one, 3);
  assert.deepEqual(await texts(one, ".note"), ["Another tab is answering this question."]);
  await one.bringToFront();
  await send(one, "yours");
  await idle(one);
  await entries(two, 3);
  await two.bringToFront();
  await two.click("#send");
  await idle(two);
  const all = await two.evaluate((start) => Object.keys(localStorage).filter((key) => key.startsWith(start))
    .map((key) => JSON.parse(localStorage.getItem(key)).turns.map(({ question }) => question).join()).sort(), prefix);
  assert.deepEqual(all, ["again from one", "from one,more,mine", "from one,more,mine,yours"]);
});

/** Puts conversations of a million characters into the storage, the first the oldest. */
const fill = (page, count) =>
  page.evaluate((start, many) => {
    for (let i = 0; i < many; ++i) {
      const turns = [{ question: `old ${i}`, answer: { pieces: [{ kind: "text", text: "x".repeat(1000000), drafter: "" }] } }];
      localStorage.setItem(`${start}old${i}`, JSON.stringify({ id: `old${i}`, time: i + 1, turns }));
    }
  }, prefix, count);

check("in a full storage the oldest conversations go first, and the current one stays", async () => {
  const { page, errors } = await open({ reply: replies(stream([piece({ content: "y".repeat(1500000) })])) });
  await fill(page, 5);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#list .open").length === 5);
  await send(page, "new");
  await idle(page);
  const left = await titles(page);
  assert.equal(left[0], "new");
  assert.ok(left.length < 6 && left.length > 2, left.join());
  assert.deepEqual(left.slice(1), ["old 4", "old 3", "old 2", "old 1"].slice(0, left.length - 1));
  assert.match((await texts(page, "#notice"))[0], /^The browser.s storage is full: the oldest conversations were deleted/);
  await page.reload();
  await page.waitForSelector(".words");
  assert.equal((await texts(page, ".words"))[0].length, 1500000);
  assert.deepEqual(errors, []);
});

check("a conversation that is too long for the storage costs no other", async () => {
  const { page } = await open({ reply: replies(stream([piece({ content: "y".repeat(6000000) })])) });
  await fill(page, 3);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#list .open").length === 3);
  await send(page, "new");
  await idle(page);
  await page.waitForFunction(() => document.getElementById("notice").textContent);
  assert.match((await texts(page, "#notice"))[0], /^The browser.s storage is full: this conversation is lost/);
  for (const old of ["old 2", "old 1", "old 0"]) assert.ok((await titles(page)).includes(old), old);
});

check("without storage the page works, and says what is lost", async () => {
  const { page, errors } = await open({ reply: yes, before: () => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get() { throw new DOMException("forbidden", "SecurityError"); } });
    }
  } });
  await send(page, "Hello");
  await idle(page);
  assert.deepEqual(await texts(page, ".words"), ["Yes."]);
  assert.deepEqual(await texts(page, "#notice"), ["The browser forbids storage: conversations are lost when the page is closed."]);
  assert.deepEqual(errors, []);
});

check("what is no conversation in the storage is left alone", async () => {
  const { page, errors } = await open({ reply: yes });
  const turns = [[{ question: 1 }], [{ question: "q", answer: { pieces: [1] } }]].map((all) => JSON.stringify({ id: "x", time: 1, turns: all }));
  const strange = ["{", "null", "[]", '{"id":"x"}', ...turns];
  await page.evaluate((start, all) => all.forEach((text, i) => localStorage.setItem(`${start}${i}`, text)), prefix, strange);
  await page.reload();
  await ask(page, "Hello");
  assert.deepEqual(await titles(page), ["Hello"]);
  assert.equal(await stored(page), strange.length + 1);
  assert.deepEqual(errors, []);
});

await run();
