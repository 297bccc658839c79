// Bodies of requests, and what can be wrong with them as JSON: values of other types, missing and doubled members, items in other places. For
// tests/serve/mutated_test.mjs.
import assert from "node:assert/strict";
import { assertError, events, post } from "./harness.mjs";

const weather = () => ({ type: "object", properties: { city: { type: "string" }, days: { type: ["integer", "null"] } }, required: ["city"] });

const chat = () => ({
  model: "parrot", seed: 1, temperature: 0.5, max_tokens: 4, stop: ["\n\n"], n: 1, logprobs: true, top_logprobs: 2, stream_options: { include_usage: true },
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "The weather" }, { type: "text", text: " in Bern?" }] },
    { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }] },
    { role: "tool", tool_call_id: "call_1", content: "cold" },
  ],
  tools: [{ type: "function", function: { name: "weather", description: "Tells it", parameters: weather() } }],
  tool_choice: "auto",
  chat_template_kwargs: { enable_thinking: false },
});
const responses = () => ({
  model: "parrot", seed: 1, instructions: "Be brief.", max_output_tokens: 4, metadata: { a: "b" },
  input: [
    { role: "user", content: [{ type: "input_text", text: "The weather in Bern?" }] },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Bern"}' },
    { type: "function_call_output", call_id: "call_1", output: "cold" },
  ],
  tools: [{ type: "function", name: "weather", parameters: weather(), strict: false }],
});
const completions = () => ({ model: "parrot", seed: 1, prompt: "x", max_tokens: 4, stop: "y", logprobs: 1, echo: true });
const messages = () => ({
  model: "parrot", seed: 1, max_tokens: 4, temperature: 0.5, top_k: 3, stop_sequences: ["\n\n"], metadata: { user_id: "x" },
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  messages: [
    { role: "user", content: [{ type: "text", text: "The weather" }, { type: "text", text: " in Bern?", cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: [{ type: "thinking", thinking: "Hm.", signature: "x" }, { type: "text", text: "I ask." }, { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bern" } }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", is_error: false, content: [{ type: "text", text: "cold" }] }, { type: "text", text: "And?" }] },
  ],
  tools: [{ name: "weather", description: "Tells it", input_schema: weather() }, { type: "bash_20250124", name: "bash" }],
  tool_choice: { type: "auto" },
  thinking: { type: "enabled", budget_tokens: 1024 },
});

/** Routes, and requests that they answer. */
export const routes = [
  ["/v1/chat/completions", chat], ["/v1/responses", responses], ["/v1/completions", completions], ["/v1/messages", messages],
  ["/v1/messages/count_tokens", messages], ["/apply-template", chat],
];

const deep = (levels, open, close) => JSON.parse(open.repeat(levels) + "1" + close.repeat(levels));
const values = [
  null, true, false, 0, 1, -1, 0.5, 1e308, -0, 2 ** 53, "", " ", "x", "\u0000", "\ud800", "\u{1f410}", "null", "{}", "<|im_start|>", "x".repeat(3000), [], {}, [[]], [{}], [null],
  ["x"], [1, "x", null], { type: "text" }, { type: "text", text: "x" }, { type: "image" }, { role: "user", content: "x" }, { __proto__: null, constructor: 1 }, deep(20, "[", "]"),
  deep(20, '{"a":', "}"), deep(70, "[", "]"), Array(200).fill("x"),
];
const names = ["type", "role", "content", "text", "id", "name", "input", "tool_calls", "function", "arguments", "", "__proto__", "constructor", "x".repeat(200), "\u0000"];

/** All objects and lists of a document. */
function containersOf(value, all = []) {
  if (value === null || typeof value !== "object") return all;
  all.push(value);
  for (const one of Object.values(value)) containersOf(one, all);
  return all;
}

const put = (container, key, value) => Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });

/** Each changes one member of a container, or does nothing. */
const changes = [
  (random, container, key) => put(container, key, structuredClone(random.one(values))),
  (random, container, key) => put(container, key, structuredClone(random.one(values))),
  (random, container, key) => (Array.isArray(container) ? container.splice(Number(key), 1) : delete container[key]),
  (random, container, key) => put(container, key, [container[key]]),
  (random, container, key) => put(container, key, { [random.one(names)]: container[key] }),
  (random, container, key) => put(container, key, String(container[key])),
  (random, container, key) => put(container, key, JSON.stringify(container[key])),
  (random, container, key) => {
    if (Array.isArray(container)) return container.push(structuredClone(container[key]));
    put(container, random.one(names), container[key]);
    if (random.happens(0.5)) delete container[key];
  },
  (random, container, key, others) => put(container, key, structuredClone(random.one(others))),
  (random, container) => Array.isArray(container) && container.reverse(),
  (random, container) => !Array.isArray(container) && put(container, random.one(names), structuredClone(random.one(values))),
];

/** Damage that only the text can have. */
const ofText = [
  (random, text) => text.replace("{", '{"model":"parrot",'), // a key twice
  (random, text) => text.replace(/:(\d+)/, () => `:${random.one(["1e400", "-", "01", "123456789012345678901234567890", "NaN", "+1", "0x10", ".5"])}`),
  (random, text) => text.slice(0, random.below(text.length)),
  (random, text, at = random.below(text.length)) => text.slice(0, at) + random.one([",", "}", "]", '"', "\\", "\u0001", ":", "{", "null", "\\u12"]) + text.slice(at),
  (random, text) => text.replace(/"(\w)/, '"\\ud800$1'),
];

/** The body of a request with up to three things wrong. */
export function mutatedBody(random, make) {
  const body = make();
  const times = 1 + random.below(3);
  for (let i = 0; i < times; ++i) {
    const containers = containersOf(body);
    const container = random.one(containers);
    const keys = Object.keys(container);
    const key = keys.length ? random.one(keys) : random.one(names);
    if (Array.isArray(container) && keys.length === 0) continue;
    random.one(changes)(random, container, key, containers);
  }
  if (random.happens(0.3)) put(body, "stream", true);
  const text = JSON.stringify(body);
  return random.happens(0.1) ? random.one(ofText)(random, text) : text;
}

// ---- answers ----

/** Fields of a route: those of its request here, and more that the server knows. */
const fieldsOf = Object.fromEntries(routes.map(([path, make]) => [path, new Set([...Object.keys(make()), "stream", "text", "chat_template_kwargs"])]));
const aboutBody = /^the request's body: /;
/** What is wrong with a whole field, in sentences that do not write its name: with the param of OpenAI's form. */
const aboutWhole = /^(the prompt (has \d+ tokens|is empty)|the text has \d+ bytes|the model '.*' is not here|token \d+ is outside|a (text|key|value) of '|'draft')/s;

/** The field that a message is about: it begins with a place, in quotes or before a colon, like "messages[1].content[0].text". */
function fieldOf(message) {
  const [, quoted, plain] = /^(?:'([^']+)'|([\w.[\]]+): )/.exec(message) ?? [];
  return (quoted ?? plain)?.match(/^\w+(?=$|\.|\[\d+\])/)?.[0];
}

/** An error that a wrong request may have: it says what is wrong, and where in the client's request. */
function assertClientError(path, document) {
  const { type, param, message } = document.error;
  assert.ok(["invalid_request_error", "not_found_error"].includes(type), message);
  if (path.startsWith("/v1/messages")) {
    assert.deepEqual([Object.keys(document), document.type, Object.keys(document.error)], [["type", "error"], "error", ["type", "message"]]);
    const known = aboutBody.test(message) || message.startsWith("prompt is too long: ") || aboutWhole.test(message) || fieldsOf[path].has(fieldOf(message));
    assert.ok(known, `no field: ${message}`);
    return;
  }
  assertError(document);
  if (aboutBody.test(message)) return assert.equal(param, null, message);
  const field = param?.match(/^\w+/)[0];
  assert.ok(fieldsOf[path].has(field), `no field '${param}': ${message}`);
  assert.ok(aboutWhole.test(message) || fieldOf(message) === field, `no place in '${param}': ${message}`);
}

/** Sends a body; returns the status and what is wrong with the answer, whatever is wrong with the body. */
export async function wrongAnswerTo(base, path, body) {
  let status = "none";
  try {
    const response = await post(base, path, body, { signal: AbortSignal.timeout(60000) });
    status = response.status;
    if (/^text\/event-stream/.test(response.headers.get("content-type"))) {
      for await (const { data } of events(response)) if (data.error) assertClientError(path, data);
    } else if (status === 200) {
      await response.json();
    } else {
      assert.ok(status === 400 || status === 404, `is ${status}: ${await response.clone().text()}`);
      assertClientError(path, await response.json());
    }
    return { status };
  } catch (error) {
    return { status, fault: error.message };
  }
}
