// An agent of 20 turns with tools, through OpenAI's and Anthropic's clients: what the model writes comes back to it unchanged, turn after turn, and only new
// tokens are read. The model says fixed texts (parrot.mjs), so what each turn has to be is known.
//   node agent_test.mjs PROGRAM                                          packages: SKIPSTONE_NODE_MODULES
import assert from "node:assert/strict";
import { ask, check, load, metric, run } from "./harness.mjs";
import { startParrot } from "./parrot.mjs";

const [program] = process.argv.slice(2);
const turns = 20, page = 64; // tokens of a page of the KV cache

// ---- what the model says ----

const place = (turn) => `src/part-${String(turn).padStart(2, "0")}.txt`;
const calls = (turn) => {
  if (turn === turns - 1) return [];
  const read = { name: "read_file", arguments: { path: place(turn), line: turn * 10, "all of it": turn % 2 === 0 } };
  const note = { name: "note", arguments: { text: `"${turn}" \u2192 \\ and\na line`, tags: ["z", { b: null, a: -1.5 }] } };
  return turn % 5 === 4 ? [read, note] : [read];
};
const thoughts = (turn) => (turn % 3 === 0 ? `File ${turn} is next, I think.` : "");
const words = (turn) => (turn % 4 === 1 && calls(turn).length ? "" : `Step ${turn}: \u00fcber <tools> & "quotes".`);

/** JSON as templates write it. */
const written = (value) => {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${written(one)}`).join(", ")}}`;
};
const answer = (turn) =>
  `${thoughts(turn) && `<think>${thoughts(turn)}</think>`}${words(turn)}` +
  calls(turn).map((call) => `<tool_call>\n{"name": "${call.name}", "arguments": ${written(call.arguments)}}\n</tool_call>`).join("");

const result = (call) => `result of ${call.name}: ${JSON.stringify(call.arguments)}`;

const server = await startParrot(program, { answers: Array.from({ length: turns }, (_, turn) => answer(turn)), cut: 24, args: ["--ctx", "8192"] });
const { base } = server;

// ---- the agent ----

const tools = [
  { name: "read_file", description: "Reads a file", schema: { type: "object", properties: { path: { type: "string" }, line: { type: "integer" }, "all of it": { type: "boolean" } } } },
  { name: "note", description: "Keeps a note", schema: { type: "object", properties: { text: { type: "string" }, tags: { type: "array" } }, required: ["text"] } },
];
const task = "Read the parts, one after the other.";
const prompts = {}; // tokens of each turn's prompt, by API

/** Both ways to ask are tried, turn and turn about. */
const streamed = (turn) => turn % 2 === 1;

/** What every turn has to be: its thoughts, words and calls; and its prompt, of which everything but the end was read before. */
function assertTurn(turn, said, { total, cached }, before) {
  assert.deepEqual(said, { thoughts: thoughts(turn), words: words(turn), calls: calls(turn) }, `turn ${turn}`);
  assert.ok(before === undefined || cached >= Math.floor((before - 1) / page) * page, `turn ${turn}: ${cached} of ${total} tokens cached, ${before} were read before`);
}

check("an agent of 20 turns through Anthropic's client", async () => {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0 });
  const request = {
    model: "parrot",
    max_tokens: 400,
    tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema, cache_control: { type: "ephemeral" } })),
    messages: [{ role: "user", content: task }],
    thinking: { type: "enabled", budget_tokens: 1024 },
  };
  const totals = (prompts.anthropic = []), ids = new Set();
  for (let turn = 0; turn < turns; ++turn) {
    const counted = await client.messages.countTokens({ ...request, max_tokens: undefined });
    const message = await (streamed(turn) ? client.messages.stream(request).finalMessage() : client.messages.create(request));
    const of = (type) => message.content.filter((block) => block.type === type);
    const total = message.usage.input_tokens + message.usage.cache_read_input_tokens;
    assert.equal(total, counted.input_tokens, `turn ${turn}`);
    assertTurn(
      turn,
      {
        thoughts: of("thinking").map((block) => block.thinking).join(""),
        words: of("text").map((block) => block.text).join(""),
        calls: of("tool_use").map(({ name, input }) => ({ name, arguments: input })),
      },
      { total, cached: message.usage.cache_read_input_tokens },
      totals.at(-1),
    );
    assert.equal(JSON.stringify(of("tool_use").map(({ input }) => input)), JSON.stringify(calls(turn).map((call) => call.arguments)), "the order of keys");
    assert.equal(message.stop_reason, calls(turn).length ? "tool_use" : "end_turn");
    for (const { id } of of("tool_use")) ids.add(id);
    totals.push(total);
    request.messages.push({ role: message.role, content: message.content });
    const results = of("tool_use").map(({ id, name, input }) => ({ type: "tool_result", tool_use_id: id, content: result({ name, arguments: input }) }));
    if (results.length) request.messages.push({ role: "user", content: results });
  }
  assert.equal(request.messages.length, 2 * turns);
  assert.equal(ids.size, Array.from({ length: turns }, (_, turn) => calls(turn).length).reduce((sum, count) => sum + count), "ids are unique");
  return `${totals.at(-1)} tokens, ${ids.size} calls`;
});

/** The client collects a stream, but for the fields that OpenAI's own API does not have. */
async function streamedChat(client, request) {
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  let thoughts = "";
  stream.on("chunk", ({ choices }) => {
    thoughts += choices[0]?.delta.reasoning_content ?? "";
  });
  const chat = await stream.finalChatCompletion();
  if (thoughts) chat.choices[0].message.reasoning_content = thoughts;
  return chat;
}

check("the same agent through OpenAI's client", async () => {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
  const request = {
    model: "parrot",
    max_tokens: 400,
    tools: tools.map(({ name, description, schema }) => ({ type: "function", function: { name, description, parameters: schema } })),
    messages: [{ role: "user", content: task }],
  };
  const totals = (prompts.openai = []);
  let text = "";
  for (let turn = 0; turn < turns; ++turn) {
    const rendered = await ask(base, "/apply-template", request);
    assert.ok(rendered.prompt.startsWith(text), `turn ${turn}: what was read and written before has changed:\n${rendered.prompt}\n\nnot\n\n${text}`);
    const { choices, usage } = await (streamed(turn) ? streamedChat(client, request) : client.chat.completions.create(request));
    const [{ message, finish_reason }] = choices;
    const made = message.tool_calls ?? [];
    assertTurn(
      turn,
      {
        thoughts: message.reasoning_content ?? "",
        words: message.content ?? "",
        calls: made.map((call) => ({ name: call.function.name, arguments: JSON.parse(call.function.arguments) })),
      },
      { total: usage.prompt_tokens, cached: usage.prompt_tokens_details.cached_tokens },
      totals.at(-1),
    );
    assert.equal(finish_reason, calls(turn).length ? "tool_calls" : "stop");
    totals.push(usage.prompt_tokens);
    text = rendered.prompt + answer(turn);
    request.messages.push(message);
    for (const call of made) {
      const content = result({ name: call.function.name, arguments: JSON.parse(call.function.arguments) });
      request.messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
  assert.deepEqual(totals, prompts.anthropic, "both APIs give the model the same prompts");
});

check("events of thinking and calls in a stream of Anthropic's form", async () => {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0 });
  const events = [];
  const request = { model: "parrot", max_tokens: 400, messages: [{ role: "user", content: task }], tools: [{ name: "read_file", input_schema: { type: "object" } }] };
  for await (const event of await client.messages.create({ ...request, stream: true })) events.push(event);
  const kinds = events.map(({ type, delta, content_block: block }) => [type, delta?.type ?? block?.type].filter(Boolean).join(" "));
  assert.deepEqual(
    kinds.filter((kind, i) => kind !== kinds[i - 1] && kind !== "ping"),
    [
      "message_start",
      "content_block_start thinking", "content_block_delta thinking_delta", "content_block_delta signature_delta", "content_block_stop",
      "content_block_start text", "content_block_delta text_delta", "content_block_stop",
      "content_block_start tool_use", "content_block_delta input_json_delta", "content_block_stop",
      "message_delta", "message_stop",
    ],
  );
  assert.deepEqual(events.filter(({ type }) => type === "content_block_start").map(({ index }) => index), [0, 1, 2]);
  const input = events.map(({ delta }) => delta?.partial_json ?? "").join("");
  assert.deepEqual(JSON.parse(input), calls(0)[0].arguments);
});

check("a header that changes costs its own tokens and what follows", async () => {
  const stable = "These instructions stay as they are. ".repeat(50), note = (number) => `Today's number: ${number}.`;
  const read = async (system, more = {}) => {
    const before = await metric(base, "prompt_tokens_cached_total");
    const { usage } = await ask(base, "/v1/messages", { system, max_tokens: 1, messages: [{ role: "user", content: "Hello" }], ...more });
    assert.equal((await metric(base, "prompt_tokens_cached_total")) - before, usage.cache_read_input_tokens, "/metrics");
    return { cached: usage.cache_read_input_tokens, total: usage.input_tokens + usage.cache_read_input_tokens };
  };
  const text = (text, more) => ({ type: "text", text, ...more });
  const first = await read([text(stable), text(note(1))]);
  const changed = await read([text(stable), text(note(2))]);
  assert.equal(changed.total, first.total);
  assert.ok(changed.cached > stable.length - page && changed.cached < first.total - note(2).length, `${changed.cached} of ${changed.total} tokens cached`);
  // What only servers of the API read changes no token.
  const marked = await read([text("x-anthropic-billing-header: cch=4f2a1;"), text(stable, { cache_control: { type: "ephemeral" } }), text(note(2))], {
    metadata: { user_id: "x" },
  });
  assert.equal(marked.total, changed.total);
  assert.ok(marked.cached >= marked.total - page, `${marked.cached} of ${marked.total} tokens cached`);
  const front = await read([text(note(3)), text(stable)]);
  return `of ${first.total} tokens ${changed.cached} are cached when the end of the header changes, ${front.cached} when its beginning does`;
});

check("the server ends", async () => assert.equal((await server.stop()).code, 0));
await run();
