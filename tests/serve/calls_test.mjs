// Calls, stop texts and reasoning in the answers of `skipstone serve`: whole and streamed, in chats and responses, cut at every token.
// calls_test.mjs PROGRAM
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, check, events, post, run, startServer } from "./harness.mjs";
import { makeParrot } from "./parrot.mjs";

const [program] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "skipstone-calls-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const string = { type: "string" };
const tools = [
  { type: "function", function: { name: "save", parameters: { type: "object", properties: { name: string, text: string } } } },
];
const flat = tools.map(({ function: f }) => ({ type: "function", ...f }));
const saved = (name, text) => JSON.stringify({ name: "save", arguments: { name, text } });
const hermes = (...calls) => calls.map((call) => `<tool_call>\n${call}\n</tool_call>`).join("\n");
/** A template that begins an answer with a token for the last letter of the last message. */
const template = (mark, letters) => `{# ${mark} #}{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for m in messages %}{{ m.role ~ ': ' ~ (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ c.function.name ~ c.id }} {{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{% set letter = messages[-1].content[-1] %}
{%- ${letters.map((letter) => `if letter == '${letter}' %}<|${letter}|>{%`).join(" el")} endif %}`;

/** A server of a model that answers a message which ends with a letter with the script of that letter. */
async function serving(name, mark, scripts) {
  const model = join(folder, `${name}.gguf`);
  const answers = Object.entries(scripts).map(([letter, text]) => ({ after: `<|${letter}|>`, text }));
  writeFileSync(model, makeParrot({ answers, template: template(mark, Object.keys(scripts)) }));
  return startServer(program, model, ["--parallel", "4"]);
}

const chat = (letter, more = {}) => ({ messages: [{ role: "user", content: `Go on. ${letter}` }], tools, temperature: 0, draft: "none", ...more });
const response = (letter, more = {}) => ({ input: `Go on. ${letter}`, tools: flat, temperature: 0, draft: "none", ...more });

/** The parts of an answer that both forms of it have: as a document, and as the events of a stream that a client joins. */
async function askChat({ base }, body) {
  const { choices: [{ message, finish_reason }] } = await ask(base, "/v1/chat/completions", body);
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, name, text }));
  return { text: message.content ?? "", reasoning: message.reasoning_content ?? "", calls, reason: finish_reason };
}

async function streamChat({ base }, body) {
  const joined = { text: "", reasoning: "", calls: [], reason: undefined };
  for await (const { data } of events(await post(base, "/v1/chat/completions", { ...body, stream: true }))) {
    if (data === "[DONE]" || !data.choices?.length) continue;
    const [{ delta, finish_reason }] = data.choices;
    joined.text += delta.content ?? "";
    joined.reasoning += delta.reasoning_content ?? "";
    for (const { index, id, function: { name, arguments: text } } of delta.tool_calls ?? []) {
      joined.calls[index] ??= { id, name, text: "" };
      joined.calls[index].text += text ?? "";
    }
    joined.reason = finish_reason ?? joined.reason;
  }
  return joined;
}

const ofItems = ({ output, status, incomplete_details: incomplete }) => ({
  text: output.filter(({ type }) => type === "message").map(({ content }) => content.map(({ text }) => text).join("")).join(""),
  calls: output.filter(({ type }) => type === "function_call").map(({ call_id: id, name, arguments: text }) => ({ id, name, text })),
  status,
  incomplete: incomplete?.reason,
  last: output.at(-1)?.status,
});

const askResponse = async ({ base }, body) => ofItems(await ask(base, "/v1/responses", body));

async function streamResponse({ base }, body) {
  const output = [];
  let last;
  for await (const { data } of events(await post(base, "/v1/responses", { ...body, stream: true }))) {
    if (data.type === "response.output_item.done") output[data.output_index] = data.item;
    last = data;
  }
  assert.deepEqual(output, last.response.output, "the items that were announced are those of the answer");
  return ofItems(last.response);
}

const without = ({ calls, ...rest }) => ({ ...rest, calls: calls.map(({ name, text }) => ({ name, text })) });

// ---- answers that are cut ----

const formats = {
  hermes: ["<tool_call>", (a, b) => `Look.\n${hermes(saved(...a), saved(...b))}`],
  "qwen3-coder": ["<tool_call><function=<parameter=", (...calls) => `Look.\n${calls
    .map(([name, text]) => `<tool_call>\n<function=save>\n<parameter=name>\n${name}\n</parameter>\n<parameter=text>\n${text}\n</parameter>\n</function>\n</tool_call>`).join("\n")}`],
  "mistral-named": ["[TOOL_CALLS][ARGS]", (...calls) => `Look.${calls.map(([name, text]) => `[TOOL_CALLS]save[ARGS]${JSON.stringify({ name, text })}`).join("")}`],
};

for (const [name, [mark, script]] of Object.entries(formats)) {
  check(`${name}: cut at every token, streamed and whole answers are the same and have whole calls alone`, async () => {
    const [first, second] = [["a.txt", "one"], ["b.txt", "two three"]];
    const server = await serving(name, mark, { A: script(first, second) });
    const expected = [first, second].map(([file, text]) => ({ name: file, text }));
    const whole = await askChat(server, chat("A"));
    assert.equal(whole.reason, "tool_calls");
    assert.deepEqual(whole.calls.map(({ text }) => JSON.parse(text)), expected);
    const { usage } = await ask(server.base, "/v1/chat/completions", chat("A"));
    const most = usage.completion_tokens;
    const cut = async (tokens) => {
      const [a, b, c, d] = await Promise.all([
        askChat(server, chat("A", { max_tokens: tokens })), streamChat(server, chat("A", { max_tokens: tokens })),
        askResponse(server, response("A", { max_output_tokens: tokens })), streamResponse(server, response("A", { max_output_tokens: tokens })),
      ]);
      assert.deepEqual(without(b), without(a), `${tokens} tokens`);
      assert.deepEqual(without(d), without(c), `${tokens} tokens`);
      assert.deepEqual([c.text, without(c).calls], [a.text, without(a).calls], `${tokens} tokens`);
      assert.deepEqual(a.calls.map(({ text }) => JSON.parse(text)), expected.slice(0, a.calls.length), `${tokens} tokens`);
      const ended = tokens > most; // the end is a token more
      assert.equal(a.reason, ended ? "tool_calls" : "length", `${tokens} of ${most} tokens`);
      assert.deepEqual([c.status, c.incomplete], ended ? ["completed", undefined] : ["incomplete", "max_output_tokens"]);
      assert.ok(ended || c.last === "incomplete" || c.calls.length > 0, "the item that is not whole says so");
    };
    for (let tokens = 1; tokens <= most + 1; tokens += 2) await Promise.all([cut(tokens), cut(tokens + 1)]);
    await server.stop();
    return `${most} tokens`;
  });
}

// ---- damage, ids, stop texts ----

check("damaged calls are repaired or content, and what was answered is taken back", async () => {
  const server = await serving("damage", "<tool_call>", {
    A: hermes('{"name": "save", "arguments": {"name": "a.py", "text": "x = 1\ny\t= \\d",}}'),
    B: hermes('{"name": "save", "arguments": {"name": "b.py", "text": "z"}'),
    C: hermes(saved("c.txt", "one two"), saved("d.txt", "three")),
  });
  for (const askIt of [askChat, streamChat]) {
    const repaired = await askIt(server, chat("A"));
    assert.deepEqual([repaired.text, repaired.reason], ["", "tool_calls"]);
    assert.deepEqual(repaired.calls.map(({ text }) => JSON.parse(text)), [{ name: "a.py", text: "x = 1\ny\t= \\d" }]);
    const content = await askIt(server, chat("B"));
    assert.deepEqual([content.calls, content.reason], [[], "stop"]);
    assert.match(content.text, /b\.py/);
    const stopped = await askIt(server, chat("C", { stop: ["three"] }));
    assert.deepEqual(stopped.calls.map(({ text }) => JSON.parse(text)), [{ name: "c.txt", text: "one two" }]);
    assert.deepEqual([stopped.reason, stopped.text.endsWith('"text":"')], ["length", true], stopped.text);
  }
  for (const letter of ["A", "B", "C"]) {
    for (const tokens of [20, 100]) {
      const { choices: [{ message }] } = await ask(server.base, "/v1/chat/completions", chat(letter, { max_tokens: tokens }));
      const results = (message.tool_calls ?? []).map(({ id }) => ({ role: "tool", tool_call_id: id, content: "done" }));
      await ask(server.base, "/v1/chat/completions", chat(letter, { messages: [...chat(letter).messages, message, ...results, ...chat("A").messages] }));
    }
  }
  await server.stop();
});

check("ids of calls are unique in a conversation and between conversations", async () => {
  for (const [name, mark, script, form] of [
    ["ids", "<tool_call>", hermes(saved("a.txt", "one")), /^call_\w{24}$/],
    ["short-ids", "[TOOL_CALLS]", `[TOOL_CALLS][${saved("a.txt", "one").slice(0, -1)},"id":"abcdefgh1"}]`, /^[0-9A-Za-z]{9}$/],
    ["other-ids", "[TOOL_CALLS][ARGS]", `[TOOL_CALLS]save[ARGS]{"name":"a.txt","text":"one"}`, /^[0-9A-Za-z]{9}$/],
  ]) {
    const server = await serving(name, mark, { A: script });
    const seen = [];
    const messages = [];
    for (let turn = 0; turn < 4; ++turn) {
      messages.push({ role: "user", content: `${turn} A` });
      const { choices: [{ message }] } = await ask(server.base, "/v1/chat/completions", chat("A", { messages, seed: 1 }));
      const [{ id }] = message.tool_calls;
      seen.push(id);
      messages.push(message, { role: "tool", tool_call_id: id, content: "done" });
    }
    if (name !== "short-ids") {
      for (const seed of [1, 1, undefined]) seen.push((await askChat(server, chat("A", { seed }))).calls[0].id);
      seen.push((await streamResponse(server, response("A", { seed: 1 }))).calls[0].id);
    }
    assert.equal(new Set(seen).size, seen.length, `${seen}`);
    for (const id of seen) assert.match(id, form);
    await server.stop();
  }
});

check("stop texts count in the answer, not in the reasoning", async () => {
  const server = await serving("stops", "<think>", { A: "<think>\nfirst the end, then\n\nmore\n</think>\n\nThis is the end of it." });
  const reasoning = "first the end, then\n\nmore";
  for (const askIt of [askChat, streamChat]) {
    assert.deepEqual(await askIt(server, chat("A", { stop: ["the end"] })), { text: "This is ", reasoning, calls: [], reason: "stop" });
    assert.deepEqual(await askIt(server, chat("A", { stop: ["\n\n", "\n"] })), { text: "This is the end of it.", reasoning, calls: [], reason: "stop" });
    assert.equal((await askIt(server, chat("A", { stop: ["nothing of it"] }))).reason, "stop");
  }
  await server.stop();
});

await run();
