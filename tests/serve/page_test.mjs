// page_test.mjs BASE_URL [SCREENSHOT.png]: the chat page of a server without keys, in Chromium: answers, settings, errors, keys, colours.
// Answers that no server gives at will, such as errors, are made up here; all others are the server's.
import assert from "node:assert/strict";
import { check, free, run, sleep } from "./harness.mjs";
import { base, chat, contentOf, contrasts, eventsOf, idle, letters, open, origin, piece, props, refusal, replies, screenshot, send, set, shown, stream,
  texts, timings, tooWide } from "./page.mjs";

const code = "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result\n";

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
  await set(page, { temperature: 0, max_tokens: 240 });  // some seconds on the slowest of machines, one on the fastest
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
  assert.equal(letters(await shown(page)), letters(contentOf(events)));
  assert.ok((await page.evaluate(() => window.lengths.size)) > 2, "the text grows");  // the page draws it some times a second
  const [status] = await texts(page, ".status");
  const drafts = t.draft_n > 0 ? `${t.draft_n_accepted} of ${t.draft_n} drafts accepted` : "no drafts";
  const rate = `${t.predicted_per_second.toFixed(1)} tokens/s`, round = `${t.tokens_per_round.toFixed(2)} tokens per round`;
  for (const part of [rate, round, drafts, "to the first token"]) assert.ok(status.includes(part), `${part}: ${status}`);
  assert.equal(status.includes("\u00d7 plain"), t.plain_ms > 0, status);
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
  } while (!(await texts(page, ".note")).join("").includes("You stopped this answer"));
  assert.equal(await page.$eval(".words", (words) => words.dataset.stopped), "Stop");
  assert.equal(await page.$eval("#send", (button) => button.textContent), "Send");
  await free(base);
  const kept = await page.evaluate(() => current.turns[0].answer.pieces.map(({ text }) => text).join(""));
  assert.ok(kept.length > 0);
  assert.equal(letters(await shown(page)), letters(kept));
  assert.equal(await page.$(".error"), null);
  await send(page, "go on");
  await idle(page);
  assert.equal(letters(await shown(page, "article:nth-of-type(2) .words")), letters(kept));
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
  assert.equal(letters(await shown(page)), letters(contentOf(await eventsOf(seen))));
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
  assert.equal(letters(await shown(page, ".words .drafted")), letters(contentOf(drafted)));
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
  await page.waitForFunction(() => document.querySelectorAll("#settings [name=draft] option").length > 1); // they come with /props
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
  const half = Math.ceil(props.default_generation_settings.n_ctx / 2);
  assert.deepEqual(seen.streams.at(-1).body, { messages: [{ role: "user", content: "Anew" }], stream: true, max_tokens: half });
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
  assert.deepEqual(await texts(page, ".note"), Array(2).fill("The answer was interrupted, so it is incomplete."));
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
  for (const plain_ms of [760, 0, null, undefined]) {
    const answer = stream([piece({ content: "Yes." }), { choices: [], timings: { ...timings, plain_ms } }]);
    const { page } = await open({ reply: replies(answer) });
    await send(page, "Hello");
    await idle(page);
    const [status] = await texts(page, ".status");
    assert.equal(status.includes("1.9 \u00d7 plain"), plain_ms === 760, status);
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
  const fits = async () => assert.deepEqual(await tooWide(page), []);
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
  for (let i = 0; i < 16; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
  }
  const missed = ["new", "open-settings", "open", "delete", "log", "retry", "colours", "input", "send"].filter((name) => !reached.has(name));
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
  const thoughts = props.drafters.map((name) => piece({ reasoning_content: `> [${name}](https://a.example) \n` }, name));
  const markdown = piece({ content: "\n# T\n> quote\n\n`a` [l](https://a.example)\n\n```c\nx\n```\n" });
  const linked = props.drafters.map((name) => piece({ content: `[${name}](https://a.example) \`b\` ` }, name));
  const answer = stream([...thoughts, ...drafters, markdown, ...linked, { choices: [], timings }]);
  const { page } = await open({ reply: replies(answer, refusal("no")) });
  await send(page, "Hello");
  await idle(page);
  await send(page, "Hello");
  await idle(page);
  const written = "h1, h2, #about, button, #input, .question div, .words, .drafted, .status, .error, .note, summary, #legend, #list button, .markdown *";
  let least = 21;
  for (const value of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    const ratios = await contrasts(page, written);
    for (const [what, ratio] of ratios) assert.ok(ratio >= 4.5, `${value}: ${what} has ${ratio.toFixed(2)}`);
    least = Math.min(least, ...ratios.map(([, ratio]) => ratio));
  }
  return `at least ${least.toFixed(1)} : 1`;
});

await run();
