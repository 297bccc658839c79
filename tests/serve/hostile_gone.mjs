// Clients that are gone but seem to be there, and texts that hold up others.
import assert from "node:assert/strict";
import { bigTools, chat, completions, endAll, endless, responses, small } from "./attacks.mjs";
import { ask, assertError, check, free, get, metric, post, sleep, slowness, until, within } from "./harness.mjs";
import { Raw, exchange, posted, request } from "./raw_http.mjs";

const asked = posted(completions, JSON.stringify(endless));
const busy = async (base) => JSON.parse((await get(base, "/slots")).text).filter((slot) => slot.is_processing).length;

function addBehind(server) {
  const behind = {
    "one byte": "x", "a blank line": "\r\n", "a request": request("GET /health HTTP/1.1"), "a request to generate": asked.toString("latin1"),
    "a header without an end": `GET /health HTTP/1.1\r\nA: ${"x".repeat(4000)}`, "more than is read ahead": "x".repeat(60000),
  };
  for (const how of ["closes", "resets"]) {
    check(`a client that sent more than its request and ${how} its connection has gone`, async () => {
      const { base } = server;
      for (const stream of [false, true]) {
        for (const [what, more] of Object.entries(behind)) {
          const raw = new Raw(base).send(Buffer.concat([posted(completions, JSON.stringify({ ...endless, stream })), Buffer.from(more, "latin1")]));
          await until("it works", async () => (await busy(base)) === 1);
          if (how === "closes") raw.end();
          else raw.socket.resetAndDestroy();
          await until(`with ${what} behind a request, ${stream ? "streamed" : "whole"}: its place is free`, async () => (await busy(base)) === 0, 3);
        }
      }
    });
  }
  check("requests that were sent at once are answered in their order, also behind a long one", async () => {
    const raw = new Raw(server.base);
    const long = { ...small, prompt: endless.prompt, max_tokens: 30 };
    raw.send(Buffer.concat([posted(completions, JSON.stringify(long)), ...[1, 2, 3].map((i) => Buffer.from(request(`GET /nothing/${i} HTTP/1.1`)))]));
    assert.equal((await raw.answer()).json().usage.completion_tokens, 30);
    for (const i of [1, 2, 3]) assert.match((await raw.answer()).json().error.message, new RegExp(`/nothing/${i}`));
    raw.end();
  });
}

function addQueue(server) {
  check("clients that have gone leave the queue at once", async () => {
    const { base } = server; // one place, a queue of 8
    const first = new Raw(base).send(asked);
    await until("it works", async () => (await busy(base)) === 1);
    const again = async (leave) => {
      const waiting = Array.from({ length: 8 }, () => new Raw(base).send(asked));
      await until("they wait", async () => (await metric(base, "requests_waiting")) === 8, 5);
      assert.equal((await post(base, completions, small)).status, 429);
      waiting.forEach(leave);
      await until("nobody waits", async () => (await metric(base, "requests_waiting")) === 0, 2);
    };
    await again((raw) => raw.end());
    await again((raw) => raw.socket.resetAndDestroy());
    const next = new Raw(base).send(posted(completions, JSON.stringify(small)));
    await until("another waits", async () => (await metric(base, "requests_waiting")) === 1, 2);
    first.end();
    assert.equal((await within(5, () => next.answer(), "its answer")).status, 200);
    next.end();
    await free(base);
  });
}

const refusedText = async (base, path, body, expected) => {
  const begin = performance.now();
  const answer = await within(5, () => exchange(base, posted(path, JSON.stringify(body))), `${path}: an answer`);
  assert.equal(answer?.status, 400, `${path}: ${answer?.text.slice(0, 200)}`);
  assertError(answer.json(), expected);
  return performance.now() - begin;
};

function addTexts(server, single) {
  const { base } = server;
  check("texts to tokenize have limits", async () => {
    await refusedText(base, "/tokenize", { content: "x".repeat((2 << 20) + 1) }, { param: "content" });
    await refusedText(base, "/detokenize", { tokens: Array(262145).fill(300) }, { param: "tokens" });
    assert.equal((await ask(base, "/detokenize", { tokens: Array(262144).fill(413) })).content.length, 2 * 262144);
    assert.ok((await ask(base, "/tokenize", { content: "one two three ".repeat(60000) })).tokens.length > 180000);
  });
  check("tools and what else a template reads count against the context, at once", async () => {
    const messages = [{ role: "user", content: "x" }];
    const expected = { code: "context_length_exceeded" };
    const took = [
      await refusedText(base, chat, { messages, tools: bigTools(100, 80000) }, { ...expected, param: "tools" }), // 8 MB
      await refusedText(base, "/apply-template", { messages, tools: bigTools(100, 80000) }, { ...expected, param: "tools" }),
      await refusedText(base, responses, { input: "x", tools: bigTools(100, 80000, "responses") }, { ...expected, param: "tools" }),
      await refusedText(base, chat, { messages, tools: bigTools(15000, 400) }, { param: "tools" }),
      await refusedText(base, chat, { messages: [{ role: "user", content: "x ".repeat(3500000) }] }, expected),
      await refusedText(base, "/apply-template", { messages: Array(200000).fill(messages[0]) }, expected),
    ];
    const variables = Object.fromEntries(Array.from({ length: 200000 }, (_, i) => [`v${i}`, "x"]));
    const answer = await within(5, () => exchange(base, posted("/apply-template", JSON.stringify({ messages, chat_template_kwargs: variables }))), "an answer to many variables");
    assert.ok([200, 400].includes(answer.status), answer.text.slice(0, 200));
    assert.ok(Math.max(...took) < 2000 * slowness, `${took.map((ms) => ms.toFixed(0))} ms`);
    return `after ${Math.max(...took).toFixed(0)} ms at most`;
  });
  check("texts take no places of generations", async () => {
    const raw = new Raw(single.base).send(asked);
    await until("it works", async () => (await busy(single.base)) === 1);
    const bodies = [["/tokenize", { content: "x" }], ["/detokenize", { tokens: [300] }], ["/apply-template", { messages: [{ role: "user", content: "x" }] }]];
    for (const [path, body] of bodies) assert.equal((await within(5, () => post(single.base, path, body), `${path} beside a generation`)).status, 200);
    raw.end();
    await free(single.base);
  });
  check("texts whose clients have gone end, and hold up no generation", async () => {
    const content = "one two three ".repeat(85000); // 255,001 tokens
    const begin = performance.now();
    const raws = Array.from({ length: 24 }, () => new Raw(base).send(posted("/tokenize", JSON.stringify({ content, with_pieces: true }))));
    await sleep(100);
    const ms = await within(5, async () => {
      const time = performance.now();
      await ask(base, completions, small);
      return performance.now() - time;
    }, "a generation beside texts");
    endAll(raws);
    await until("no text is read", async () => (await metric(base, "text_requests_waiting")) === 0 && (await metric(base, "text_requests_running")) === 0, 2);
    return `a generation beside them took ${ms.toFixed(0)} ms; all ended after ${(performance.now() - begin).toFixed(0)} ms`;
  });
}

/** single: one place and no queue; queued: one place and a queue of 8. */
export function addGone(server, single, queued) {
  addBehind(server);
  addQueue(queued);
  addTexts(server, single);
}
