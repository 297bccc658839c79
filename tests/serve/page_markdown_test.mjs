// page_markdown_test.mjs BASE_URL: answers of the chat page as Markdown, in Chromium: what is shown, that nothing in it acts or is fetched,
// that hostile text ends soon, and that a streamed answer is the same as a whole one. The answers are made up.
import assert from "node:assert/strict";
import { chance } from "./chance.mjs";
import { check, run, sleep } from "./harness.mjs";
import { contrasts, idle, letters, open, origin, piece, replies, send, shown, stream, texts, tooWide } from "./page.mjs";

/** A visitor who gets this answer, a text or a list of [text, drafter]. */
async function answered(answer, options = {}) {
  const pieces = typeof answer === "string" ? [[answer, null]] : answer;
  const seen = await open({ reply: replies(stream(pieces.map(([content, drafter]) => piece({ content }, drafter)))), ...options });
  await send(seen.page, "Hello");
  await idle(seen.page);
  return seen;
}

/** The nodes below .words as text: tags, what distinguishes them, texts. */
const structure = (page) =>
  page.$eval(".words", (words) => {
    const kept = ["href", "start"];
    const write = (node) => {
      if (node.nodeType === Node.TEXT_NODE) return node.data;
      if (node.className === "code-head") return "";
      const tag = node.localName, inner = [...node.childNodes].map(write).join("");
      if (["span", "div", "tbody", "thead"].includes(tag)) return inner;
      const attributes = kept.filter((name) => node.hasAttribute(name)).map((name) => ` ${name}=${node.getAttribute(name)}`).join("");
      return ["br", "hr"].includes(tag) ? `<${tag}>` : `<${tag}${attributes}>${inner}</${tag}>`;
    };
    return [...words.childNodes].map(write).join("");
  });

/** Makes the page show a text as it does an answer, and returns its structure, for many texts on one page. */
async function render(page, source) {
  await page.evaluate((text) => {
    const root = element("div", "words markdown"), view = new MarkdownView(root);
    log.replaceChildren(root);
    view.add(text, null);
    view.render();
  }, source);
  return structure(page);
}

const forms = [
  ["one\ntwo", "<p>one\ntwo</p>"],
  ["one  \ntwo\\\nthree", "<p>one  <br>two<br>three</p>"],
  ["one\n\n\ntwo", "<p>one</p><p>two</p>"],
  ["# A *b* #\n###### C\nD\n===\nE\n---", "<h3>A <em>b</em></h3><h6>C</h6><h3>D</h3><h4>E</h4>"],
  ["#no heading", "<p>#no heading</p>"],
  ["- a\n- b\n  - c\n\n    d\n- e", "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p><p>d</p></li></ul></li><li><p>e</p></li></ul>"],
  ["3. a\n   more\n4. b\n\ntext", "<ol start=3><li><p>a\nmore</p></li><li><p>b</p></li></ol><p>text</p>"],
  ["1. a\n  - b\n2. c", "<ol start=1><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>"],
  ["- a\n* b", "<ul><li><p>a</p></li></ul><ul><li><p>b</p></li></ul>"],
  ["text\n- item", "<p>text</p><ul><li><p>item</p></li></ul>"],
  ["> a\nb\n> > c\n\nd", "<blockquote><p>a\nb</p><blockquote><p>c</p></blockquote></blockquote><p>d</p>"],
  ["> # T\n> ```\n> x\n> ```", "<blockquote><h3>T</h3><pre><code>x</code></pre></blockquote>"],
  ["`a` ``b`c`` `` ` `` `d", "<p><code>a</code> <code>b`c</code> <code>`</code> `d</p>"],
  ["```js\nlet *a* = `b`;\n\n  <i>\n```\nafter", "<pre><code>let *a* = `b`;\n\n  <i></code></pre><p>after</p>"],
  ["~~~\n```\n~~~", "<pre><code>```</code></pre>"],
  ["```\nunfinished", "<pre><code>unfinished</code></pre>"],
  ["- a\n\n  ```\n    b\n  ```", "<ul><li><p>a</p><pre><code>  b</code></pre></li></ul>"],
  ["    four\n\n      six\n\nend", "<pre><code>four\n\n  six</code></pre><p>end</p>"],
  ["| a | b |\n|:--|--:|\n| *1* | x \\| y |\n| 2 |\n\nend",
    "<table><tr><th>a</th><th>b</th></tr><tr><td><em>1</em></td><td>x | y</td></tr><tr><td>2</td></tr></table><p>end</p>"],
  ["a | b\nno table", "<p>a | b\nno table</p>"],
  ["*a* **b** ***c*** _d_ __e__ ~~f~~ *g **h** i*",
    "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <em>d</em> <strong>e</strong> <del>f</del> <em>g <strong>h</strong> i</em></p>"],
  ["snake_case_name 2 * 3 * 4 **open \\*no\\* ~one~", "<p>snake_case_name 2 * 3 * 4 **open *no* ~one~</p>"],
  ["***\n- - -\n___", "<hr><hr><hr>"],
  ["[a *b*](https://x.example/p_(q) \"t\") <mailto:a@b.example>",
    "<p><a href=https://x.example/p_(q)>a <em>b</em></a> <a href=mailto:a@b.example>mailto:a@b.example</a></p>"],
  ["See https://x.example/a_b, (http://y.example).",
    "<p>See <a href=https://x.example/a_b>https://x.example/a_b</a>, (<a href=http://y.example/>http://y.example</a>).</p>"],
  ["![alt](https://x.example/i.png) ![](https://x.example/j.png) ![no](i.png)",
    "<p><a href=https://x.example/i.png>alt</a> <a href=https://x.example/j.png>https://x.example/j.png</a> ![no](i.png)</p>"],
  ["[![a](https://x.example/i.png)](https://y.example/)", "<p><a href=https://y.example/>a</a></p>"],
  ["[a](javascript:alert(1)) [b](data:text/html,x) [c](/props) [d](//e.example) [e](JaVaScRiPt:x) [f]( java\tscript:x)",
    "<p>[a](javascript:alert(1)) [b](data:text/html,x) [c](/props) [d](//e.example) [e](JaVaScRiPt:x) [f]( java\tscript:x)</p>"],
  ["<b>x</b> &lt; <img src=x>", "<p><b>x</b> &lt; <img src=x></p>"],
];

check("Markdown has the structure that it writes", async () => {
  const { page, errors } = await answered("x");
  for (const [source, expected] of forms) assert.equal(await render(page, source), expected, JSON.stringify(source));
  assert.deepEqual(errors, []);
  return `${forms.length} forms`;
});

check("a streamed answer is the same as a whole one, and settled blocks stay", async () => {
  const { page } = await answered("x");
  const random = chance(7), all = forms.map(([source]) => source);
  let settled = 0;
  for (let i = 0; i < 60; ++i) {
    const parts = Array.from({ length: 6 }, () => random.one(all));
    const source = parts.join(random.happens(0.5) ? "\n" : "\n\n"), cuts = Array.from({ length: source.length }, () => random.happens(0.6));
    const whole = await render(page, source);
    const kept = await page.evaluate((text, ends) => {
      const root = element("div", "words markdown"), view = new MarkdownView(root);
      log.replaceChildren(root);
      let begin = 0, stays = true;
      for (let end = 1; end <= text.length; ++end) {
        if (!ends[end - 1] && end < text.length) continue;
        const first = view.settled > 0 ? root.firstChild : null;
        view.add(text.slice(begin, end), null);
        view.render();
        stays &&= first === null || first === root.firstChild;
        begin = end;
      }
      return { stays, tail: view.tail.length };
    }, source, cuts);
    assert.equal(await structure(page), whole, JSON.stringify(source));
    assert.ok(kept.stays, "a block that is settled stays the same node");
    settled += kept.tail < source.length;
  }
  assert.ok(settled > 40, `${settled} of 60 texts have settled blocks, which are not read again`);
});

check("a long block that grows by letters is not made anew for each of them", async () => {
  const pieces = Array.from({ length: 20000 }, () => piece({ content: "code " }));
  const { page } = await open({ reply: replies(stream([piece({ content: "```\n" }), ...pieces])) });
  await page.evaluate(() => {
    const { render } = MarkdownView.prototype;
    window.renders = 0;
    MarkdownView.prototype.render = function counted() { ++window.renders; return render.call(this); };
  });
  await send(page, "Hello");
  await idle(page);
  assert.equal((await texts(page, "pre code"))[0], "code ".repeat(20000));
  const renders = await page.evaluate(() => window.renders);
  assert.ok(renders < 1000, `${renders} for ${pieces.length} pieces`);
  return `${renders} times for ${pieces.length} pieces`;
});

check("what a drafter guessed is marked wherever it comes to lie", async () => {
  const source = "# Head\n\nsome **bold** `code` [link](https://x.example)\n\n- item\n\n```py\ncode();\n```\n\n| a | b |\n|--|--|\n| c | d |\n";
  const pieces = source.match(/\S+|\s+/g).map((part, i) => [part, i % 4 === 0 ? "skip" : i % 4 === 2 ? "suffix" : null]);
  const { page } = await answered(pieces);
  for (const drafter of ["skip", "suffix"]) {
    const visible = pieces.filter(([, by]) => by === drafter).map(([text]) => text.replace(/\(https.*\)|^```py$/, "")).join("");
    assert.equal(letters(await shown(page, `.words .drafted[title="drafted by ${drafter}"]`)), letters(visible));
  }
  assert.deepEqual((await texts(page, "#names .drafted")).sort(), ["skip", "suffix"]);
  assert.match((await texts(page, "#legend"))[0], /Without a colour: the model's own/);
  await page.click("#colours");
  assert.equal(await page.$eval(".words .drafted", (span) => getComputedStyle(span).backgroundColor), "rgba(0, 0, 0, 0)");
});

check("nothing in an answer acts, and nothing is fetched", async () => {
  const hostile = [
    '<img src="https://evil.example/a" onerror="hurt = 1"><script>hurt = 1</script>', "![x](https://evil.example/b.png)",
    "[x](javascript:hurt=1)", '[x](https://a.example/"onmouseover="hurt=1)', '```"><img src=x onerror=hurt=1>\n<svg onload=hurt=1>\n```',
    "<iframe src=https://evil.example></iframe>", "| <script>hurt = 1</script> |\n|---|\n| <b>x</b> |", "<https://a.example/><b>",
  ];
  const { page, errors, requests, response } = await answered(hostile.join("\n\n"));
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /img-src data:;/);
  assert.equal(await page.$("#log :is(img, script, iframe, svg, b, object, style, [onmouseover], [onerror])"), null);
  const links = await page.$$eval("#log a", (all) => all.map(({ href, rel, target }) => [new URL(href).protocol, rel, target]));
  assert.ok(links.length >= 3);
  for (const link of links) assert.deepEqual(link, ["https:", "noopener noreferrer", "_blank"]);
  await sleep(200);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.deepEqual(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")), []);
  assert.deepEqual(errors, []);
});

// Quadratic time would take minutes, and the limit of a check ends it.
check("hostile text costs linear time and bounded depth", async () => {
  const size = 200000, fill = (text) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const hostile = ["*", "[", "`", "|", ">", "_", "~~", "#", "\\", "![", "- ", "1. ", "> - ", "*a ", "a**", "*_", "[a](", "[](", '[a](b "', "`a",
    "|\n", "|a|\n|-|\n", "<http://", "http://a(", "- a\n", "```\n", "a\n", "\t", "\n"].map(fill);
  hostile.push(
    `${"*".repeat(size / 2)}a${"*".repeat(size / 2)}`, `[a](${" ".repeat(size)}x`, `# ${" ".repeat(size)}x`, `a|b\n${"|-".repeat(size / 2)}x`,
    Array.from({ length: 600 }, (_, i) => `${" ".repeat(i)}- a`).join("\n"), Array.from({ length: 600 }, (_, i) => "`".repeat(i)).join(" "),
    `${"|".repeat(1000)}\n${"|-".repeat(999)}|\n${"|\n".repeat(size / 2)}`, `${"|".repeat(61)}\n${"|-".repeat(60)}|\n${"|\n".repeat(size / 2)}`);
  const { page, errors } = await answered("x");
  let worst = 0;
  for (const text of hostile) {
    const { ms, depth } = await page.evaluate((source) => {
      const root = element("div", "words markdown"), view = new MarkdownView(root), begin = performance.now();
      view.add(source, "skip");
      view.render();
      const elapsed = performance.now() - begin;
      const walker = document.createTreeWalker(root);
      let deepest = 0;
      for (let node = walker.nextNode(), i = 0; node && i < 5000; node = walker.nextNode(), ++i) {
        let above = 0;
        for (let one = node; one !== root; one = one.parentNode) ++above;
        deepest = Math.max(deepest, above);
      }
      return { ms: elapsed, depth: deepest };
    }, text);
    assert.ok(depth < 64, `${JSON.stringify(text.slice(0, 20))}: nested ${depth} deep`);
    worst = Math.max(worst, ms);
  }
  assert.deepEqual(errors, []);
  return `at most ${worst.toFixed(0)} ms`;
});

check("a code block names its language and is copied", async () => {
  const code = "def f():\n    return '<b>'", { page } = await answered([["```py", null], ["thon\ndef f():", "skip"], ["\n    return '<b>'\n```", null]]);
  assert.deepEqual(await texts(page, ".code-head span"), ["python"]);
  await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
  await page.click(".copy");
  await page.waitForFunction(() => document.querySelector(".copy").textContent === "Copied");
  assert.equal(await page.evaluate(() => window.copied), code);
  await page.waitForFunction(() => document.getElementById("said").textContent === "Copied");
  await page.evaluate(() => {  // as on a page of another host without TLS
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.addEventListener("copy", () => { window.copied = String(getSelection()); });
    document.querySelector(".copy").textContent = "Copy";
    window.copied = "";
  });
  await page.click(".copy");
  await page.waitForFunction(() => document.querySelector(".copy").textContent === "Copied");
  assert.equal(await page.evaluate(() => window.copied), code);
});

const wide = "x".repeat(300);
for (const width of [360, 1000]) {
  for (const value of ["light", "dark"]) {
    check(`Markdown at ${width} pixels, ${value}: code and tables scroll by themselves, and contrast is that of WCAG's AA`, async () => {
      const table = ["a ", "-", wide].map((cell) => `|${`${cell}|`.repeat(20)}\n`).join("");
      const source = `# ${wide}\n\n> - q ${wide}\n\n\`${wide}\` [l](https://a.example/${wide})\n\n\`\`\`c\n${wide}\n\`\`\`\n\n${table}`;
      const pieces = source.match(/[^]{1,9}/g).map((text, i) => [text, i % 2 ? ["skip", "suffix", "ngram"][i % 3] : null]);
      const { page } = await answered(pieces, { width });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
      assert.deepEqual(await tooWide(page), []);
      for (const scroller of [".code pre", ".table"]) {
        assert.ok(await page.$eval(scroller, (one) => one.scrollWidth > one.clientWidth), `${scroller} scrolls`);
      }
      for (const [what, ratio] of await contrasts(page, ".markdown *")) assert.ok(ratio >= 4.5, `${what} has ${ratio.toFixed(2)}`);
    });
  }
}

await run();
