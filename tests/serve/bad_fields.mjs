// Bodies that are no requests: JSON that is none, fields of wrong types and out of range.
import assert from "node:assert/strict";
import { assertError, post } from "./harness.mjs";
import { exchange, posted } from "./raw_http.mjs";

const chat = "/v1/chat/completions";
const completions = "/v1/completions";
const responses = "/v1/responses";
const messages = [{ role: "user", content: "x" }];

/** A request that is right but for `more`. */
const right = {
  [chat]: (more) => ({ messages, max_tokens: 1, ...more }),
  [completions]: (more) => ({ prompt: "x", max_tokens: 1, ...more }),
  [responses]: (more) => ({ input: "x", max_output_tokens: 1, ...more }),
};

// Field, values that are wrong, routes.
const wrong = [
  ["model", [5, [], {}], [chat, completions, responses]],
  ["stream", ["yes", 1], [chat, completions, responses]],
  ["seed", ["x", 1.5, [], 1e30], [chat, completions, responses]],
  ["temperature", ["hot", -0.1, 101, [], true], [chat, completions, responses]],
  ["top_p", [-1, 1.1, "x"], [chat, completions, responses]],
  ["min_p", [-1, 1.1, "x"], [chat, completions, responses]],
  ["top_k", [-2, 1.5, "x", 1e20], [chat, completions, responses]],
  ["frequency_penalty", [-3, 3, "x"], [chat, completions]],
  ["presence_penalty", [-3, 3, "x"], [chat, completions]],
  ["repeat_penalty", [0, -1, "x"], [chat, completions]],
  ["n", [0, -1, 17, 1.5, "2", 1e18], [chat, completions]],
  ["max_tokens", [-2, -1.5, 1.5, "x", 1e18], [chat, completions]],
  ["max_completion_tokens", [-2, "x"], [chat]],
  ["max_output_tokens", [0, -2, "x"], [responses]],
  [
    "logit_bias",
    [5, "x", [], { x: 1 }, { "": 1 }, { "05": 1 }, { "-1": 1 }, { 1.5: 1 }, { 1: "x" }, { 1: 101 }, { 1: -101 }, { 1: null }, { 99999999: 1 }, { 99999999999: 1 }],
    [chat, completions],
  ],
  ["stop", [5, [5], {}, Array(65).fill("x"), "x".repeat(5000), ["x".repeat(5000)], "\u0000", ["x\u0000y"]], [chat, completions]],
  ["stream_options", [5, "x", []], [chat, completions]],
  ["logprobs", [1, "x"], [chat]],
  ["logprobs", [true, -1, 21, "x"], [completions]],
  ["top_logprobs", [-1, 21, "x", 1], [chat]], // 1: without logprobs
  ["echo", [1, "x"], [completions]],
  ["suffix", ["x", 5], [completions]],
  ["best_of", [0, 2, "x"], [completions]],
  ["draft", [5, "", "nobody", "sequential", "asd:no=1", "\u0000"], [chat, completions, responses]],
  ["response_format", [5, {}, { type: "json" }, { type: "json_schema" }, { type: "json_schema", schema: 5 }, { type: 5 }], [chat]],
  ["json_schema", [5, "x", { type: 5 }, { type: "object", not: {} }], [chat, completions]],
  ["grammar", [5, "", "root ::= missing", 'root ::= root "a"'], [chat, completions]],
  ["text", [5, "x"], [responses]],
  ["previous_response_id", ["resp_1", 5], [responses]],
  ["instructions", [5, []], [responses]],
  ["tools", [5, {}, [5], [{}], [{ type: "web_search" }], [{ type: "function" }], [{ type: "function", function: 5 }]], [chat]],
  ["tools", [5, {}, [5], [{}], [{ type: 5 }]], [responses]],
  ["tool_choice", ["required", 5, { type: "function", function: { name: "f" } }], [chat, responses]],
  ["chat_template_kwargs", [5, "x", []], [chat, responses]],
  ["documents", [1, "no", {}], [chat, responses]],
  ["enable_thinking", [1, "no", []], [chat, responses]],
  ["add_generation_prompt", [1, "no"], [chat, responses]],
  ["continue_final_message", [1, "no"], [chat, responses]],
  ["reasoning", [5, "x", []], [responses]],
  ["reasoning_effort", [5, []], [chat]],
  [
    "messages",
    [5, "x", {}, [], [5], [{}], [{ role: 5, content: "x" }], [{ role: "user", content: 5 }], [{ role: "user", content: [5] }], [{ role: "nobody", content: "x" }]],
    [chat],
  ],
  ["prompt", [5, [], {}, [-1], [1.5], ["a", "b"], [[]], [1e9], [2 ** 40]], [completions]],
  ["input", [5, [], {}, [5], [{ type: "x" }], [{ role: "user", content: [{ type: "input_image" }] }]], [responses]],
];

async function assertRefused(base, path, body, status, expected) {
  const response = await post(base, path, body);
  const text = await response.text();
  const asked = `${path} ${(typeof body === "string" ? body : JSON.stringify(body)).slice(0, 120)}`;
  assert.equal(response.status, status, `${asked}: ${text.slice(0, 200)}`);
  assert.match(response.headers.get("content-type"), /^application\/json/);
  try {
    assertError(JSON.parse(text), expected);
  } catch (error) {
    throw new Error(`${asked}: ${error.message}`, { cause: error });
  }
}

function addJson(base, checkServed) {
  checkServed("bodies that are no JSON object", async () => {
    for (const path of [chat, completions, responses, "/tokenize", "/detokenize", "/apply-template"]) {
      for (const body of ["", "x", "{", "[]", "5", '"x"', "null", "{}{}", '{"a":1,}', "{'a':1}", '{"a":NaN}', '{"a":1e999}', "\u0000", '{"a":1}\u0000']) {
        await assertRefused(base, path, body, 400, { type: "invalid_request_error" });
      }
    }
  });
  checkServed("bytes that are no UTF-8, and lone surrogates", async () => {
    const bodies = [[0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0xff, 0xfe, 0x7b, 0]];
    for (const bytes of bodies) {
      const body = Buffer.concat([Buffer.from('{"max_tokens":1,"prompt":'), Buffer.from(bytes), Buffer.from("}")]);
      const answer = await exchange(base, posted(completions, body));
      assert.equal(answer.status, 400, bytes.join());
      assertError(answer.json());
    }
    for (const text of ["\\ud800", "\\udc00", "\\ud800x", "\\ud800\\ud800", "\\udbff\\u0041"]) {
      await assertRefused(base, completions, `{"max_tokens":1,"prompt":"${text}"}`, 400);
    }
  });
  checkServed("JSON that nests deeply", async () => {
    for (const depth of [40, 1000, 100000, 4000000]) {
      await assertRefused(base, chat, `{"messages":${"[".repeat(depth)}`, 400);
      await assertRefused(base, chat, `{"messages":${"[".repeat(depth)}${"]".repeat(depth)}}`, 400);
      await assertRefused(base, chat, '{"a":'.repeat(Math.min(depth, 1000000)), 400);
    }
  });
  checkServed("a key that stands twice", () => assertRefused(base, chat, '{"messages":[{"role":"user","content":"x"}],"n":1,"n":2}', 400));
  checkServed("NUL and other control characters in texts are text", async () => {
    for (const prompt of ["\u0000", "a\u0000b", "\u0001\u001b[2J", "\ufffe", "\u202e"]) {
      assert.equal((await post(base, completions, { prompt, max_tokens: 1 })).status, 200, JSON.stringify(prompt));
      assert.equal((await post(base, chat, { messages: [{ role: "user", content: prompt }], max_tokens: 1 })).status, 200, JSON.stringify(prompt));
    }
  });
}

export function addFields(base, checkServed) {
  addJson(base, checkServed);
  for (const path of [chat, completions, responses]) {
    checkServed(`${path}: wrong types and ranges`, async () => {
      let cases = 0;
      for (const [param, values, paths] of wrong) {
        if (!paths.includes(path)) continue;
        for (const value of values) {
          await assertRefused(base, path, right[path]({ [param]: value }), 400, { param });
          ++cases;
        }
      }
      return `${cases} cases`;
    });
  }
  checkServed("fields inside of fields", async () => {
    await assertRefused(base, chat, right[chat]({ stream_options: { include_usage: 3 } }), 400, { param: "stream_options.include_usage" });
    await assertRefused(base, responses, right[responses]({ text: { format: { type: "json_schema" } } }), 400, { param: "text.format" });
  });
  checkServed("what has to be there", async () => {
    await assertRefused(base, chat, {}, 400, { param: "messages" });
    await assertRefused(base, completions, {}, 400, { param: "prompt" });
    await assertRefused(base, responses, {}, 400, { param: "input" });
    await assertRefused(base, "/tokenize", {}, 400, { param: "content" });
    await assertRefused(base, "/detokenize", {}, 400, { param: "tokens" });
    await assertRefused(base, "/apply-template", {}, 400, { param: "messages" });
  });
  checkServed("tokens that are none", async () => {
    for (const tokens of [5, "x", ["x"], [-1], [1e9], [1.5], [null]]) await assertRefused(base, "/detokenize", { tokens }, 400, { param: "tokens" });
    for (const content of [5, [], null]) await assertRefused(base, "/tokenize", { content }, 400, { param: "content" });
    await assertRefused(base, "/tokenize", { content: "x", add_special: "x" }, 400, { param: "add_special" });
  });
  checkServed("null is as if a field was not there", async () => {
    const fields = ["model", "stop", "seed", "n", "temperature", "top_p", "logprobs", "tools", "tool_choice", "response_format", "stream", "draft"];
    const body = right[chat](Object.fromEntries(fields.map((field) => [field, null])));
    assert.equal((await post(base, chat, body)).status, 200);
  });
  checkServed("models that are not here", async () => {
    for (const path of [chat, completions, responses]) {
      await assertRefused(base, path, right[path]({ model: "gpt-4" }), 404, { type: "not_found_error", param: "model", code: "model_not_found" });
      await assertRefused(base, path, right[path]({ model: "\u001b[31m".repeat(1000) }), 404, { code: "model_not_found" });
    }
  });
  checkServed("prompts that are longer than the context", async () => {
    const long = "word ".repeat(20000);
    const expected = { code: "context_length_exceeded" };
    await assertRefused(base, chat, right[chat]({ messages: [{ role: "user", content: long }] }), 400, { ...expected, param: "messages" });
    await assertRefused(base, completions, right[completions]({ prompt: long, stream: true }), 400, { ...expected, param: "prompt" });
    await assertRefused(base, completions, right[completions]({ prompt: Array(5000).fill(5) }), 400, { ...expected, param: "prompt" });
    await assertRefused(base, responses, right[responses]({ input: long }), 400, { ...expected, param: "input" });
  });
  checkServed("many messages, tools and stop strings", async () => {
    const many = Array.from({ length: 20000 }, () => messages[0]);
    await assertRefused(base, chat, right[chat]({ messages: many }), 400, { code: "context_length_exceeded" });
    const tools = Array.from({ length: 2000 }, (_, i) => ({ type: "function", function: { name: `f${i}`, parameters: { type: "object" } } }));
    assert.ok([200, 400].includes((await post(base, chat, right[chat]({ tools }))).status));
    assert.equal((await post(base, chat, right[chat]({ stop: Array(64).fill("y".repeat(4000)) }))).status, 200);
  });
}
