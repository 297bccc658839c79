// compare_page_test.mjs PROGRAM: the page of `skipstone compare` and the pictures of docs/results, in Chromium, at two widths, light and dark.
// Packages: SKIPSTONE_NODE_MODULES. SKIPSTONE_SCREENSHOTS: a folder for pictures of all that is looked at.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { check, load, run } from "./harness.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const [program] = process.argv.slice(2);
if (!program) {
  console.error("usage: compare_page_test.mjs PROGRAM");
  process.exit(2);
}
const records = ["laptop", "desktop"].map((name) => join(root, `tests/e2e/records/${name}.json`));
const folder = mkdtempSync(join(tmpdir(), "skipstone-compare-"));
const [html, bars] = ["page.html", "bars.svg"].map((name) => join(folder, name));
execFileSync(program, ["compare", ...records, "--html", html, "--svg", bars]);
const plots = join(root, "docs/results/plots");
const pictures = [bars, ...readdirSync(plots).filter((name) => name.endsWith(".svg")).map((name) => join(plots, name))];

const { default: puppeteer } = await load("puppeteer-core");
const browser = await puppeteer.launch({
  executablePath: process.env.SKIPSTONE_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  userDataDir: join(folder, "profile"),
});
process.on("exit", () => {
  browser.process().kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const schemes = ["light", "dark"];

/** A page at `url` in one of the schemes; it is closed after `look`. */
async function open(url, scheme, width, look) {
  const page = await browser.newPage();
  const errors = [], requests = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url);
  const said = await look(page, errors, requests);
  await page.close();
  return said;
}

/** Run in the page: {text: contrast} of what is read less easily than WCAG 2 asks of ordinary text, which is 4.5. */
function weakTexts(least) {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    for (let at = element; at instanceof HTMLElement; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return getComputedStyle(document.querySelector("rect.page") ?? document.body)[document.querySelector("rect.page") ? "fill" : "backgroundColor"];
  };
  const weak = {};
  for (const element of document.querySelectorAll("h1, h2, p, li, th, td, caption, figcaption, text")) {
    const style = getComputedStyle(element), svg = element instanceof SVGElement;
    const [a, b] = [light(svg ? style.fill : style.color), light(paper(svg ? element.closest(".scroll") : element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least) weak[element.textContent] = contrast;
  }
  return weak;
}

/** Run in the page: texts of pictures that reach over the picture's edge, or over each other. */
function badTexts() {
  const bad = [];
  for (const svg of document.querySelectorAll("svg")) {
    const edge = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((box, i) => {
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1 || box.bottom > edge.bottom + 1) bad.push(`${texts[i].textContent}: cut`);
      for (let k = 0; k < i; ++k) {
        const across = Math.min(box.right, boxes[k].right) - Math.max(box.left, boxes[k].left);
        const down = Math.min(box.bottom, boxes[k].bottom) - Math.max(box.top, boxes[k].top);
        if (across > 1 && down > 4) bad.push(`${texts[i].textContent} over ${texts[k].textContent}`);
      }
    });
  }
  return bad;
}

for (const scheme of schemes) {
  for (const width of [360, 1000]) {
    check(`the page, ${scheme}, ${width} wide: conclusions first, nothing cut, tables scroll in their boxes`, () =>
      open(pathToFileURL(html).href, scheme, width, async (page, errors, requests) => {
        const found = await page.evaluate(() => {
          const boxes = [...document.querySelectorAll(".scroll")];
          const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth);
          for (const box of wide) box.scrollLeft = box.scrollWidth;
          return {
            wide: wide.length,
            reached: wide.every((box) => box.scrollLeft + box.clientWidth >= box.scrollWidth - 1),
            sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            order: [...document.querySelector("main").children].map((child) => child.className || child.localName),
          };
        });
        assert.equal(found.sideways, 0, "the page itself scrolls sideways");
        if (width === 360) assert.ok(found.wide > 0, "no table is wider than a phone: this checks nothing");
        assert.ok(found.reached);
        assert.deepEqual(found.order.slice(0, 6), ["h1", "conclusion", "conclusion", "conclusion", "warning", "scroll"]);
        assert.deepEqual(await page.evaluate(weakTexts, 4.5), {});
        assert.deepEqual(await page.evaluate(badTexts), []);
        assert.deepEqual(errors, []);
        assert.equal(requests.length, 1, "it loads nothing besides");
        if (process.env.SKIPSTONE_SCREENSHOTS) await page.screenshot({ path: join(process.env.SKIPSTONE_SCREENSHOTS, `compare-${width}-${scheme}.png`), fullPage: true });
      }));
  }

  check(`the pictures, ${scheme}: one style, a name and a description, no text cut, weak or over another`, async () => {
    const style = readFileSync(join(root, "apps/skipstone/results/picture.css"), "utf8").trim();
    for (const picture of pictures) {
      await open(pathToFileURL(picture).href, scheme, 1000, async (page) => {
        const found = await page.evaluate(() => {
          const svg = document.documentElement, named = svg.getAttribute("aria-labelledby").split(" ").map((id) => document.getElementById(id));
          return { role: svg.getAttribute("role"), named: named.map((one) => [one.localName, one.textContent.length > 0]), style: document.querySelector("style").textContent.trim() };
        });
        assert.deepEqual(found, { role: "img", named: [["title", true], ["desc", true]], style }, picture);
        assert.deepEqual(await page.evaluate(weakTexts, 4.5), {}, picture);
        assert.deepEqual(await page.evaluate(badTexts), [], picture);
      });
    }
    return `${pictures.length} pictures`;
  });

  check(`a picture in a page, ${scheme}: the page's scheme, not a white box`, () =>
    open("about:blank", scheme, 800, async (page) => {
      const data = `data:image/svg+xml;base64,${readFileSync(bars).toString("base64")}`;
      await page.setContent(`<!DOCTYPE html><style>:root { color-scheme: light dark; } body { margin: 0; }</style><img src="${data}">`, { waitUntil: "load" });
      const shot = `data:image/png;base64,${await page.screenshot({ encoding: "base64", clip: { x: 2, y: 2, width: 1, height: 1 } })}`;
      const corner = await page.evaluate(async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const context = document.createElement("canvas").getContext("2d");
        context.drawImage(image, 0, 0);
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
      }, shot);
      assert.deepEqual(corner, scheme === "dark" ? [0x0d, 0x11, 0x17] : [255, 255, 255]);
    }));
}

await run();
