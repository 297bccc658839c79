// The Responses API through OpenAI's client.
import assert from "node:assert/strict";
import { assertWeather, weatherSchema } from "./client_openai.mjs";
import { weather } from "./conversation.mjs";
import { check, free, load } from "./harness.mjs";

const usual = { instructions: "You continue Python programs.", input: "def binary_search(items, target):\n", max_output_tokens: 24, seed: 7 };

export async function addResponses(base) {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
  const model = (await client.models.list()).data[0].id;
  const create = (more) => client.responses.create({ model, ...usual, ...more });
  addAnswers(create, client, model);
  addStreams(create, client, base, model);
  addInputs(create);
}

function addAnswers(create, client, model) {
  check("responses: an answer", async () => {
    const answer = await create();
    assert.equal(answer.object, "response");
    assert.match(answer.id, /^resp_/);
    assert.ok(answer.output_text.length > 0);
    const item = answer.output[0];
    assert.deepEqual([item.type, item.role, item.content[0].type], ["message", "assistant", "output_text"]);
    assert.equal(answer.usage.total_tokens, answer.usage.input_tokens + answer.usage.output_tokens);
    assert.equal(answer.instructions, usual.instructions);
  });
  check("responses: an answer that its limit ends is incomplete", async () => {
    const answer = await create({ max_output_tokens: 4 });
    assert.equal(answer.status, "incomplete");
    assert.equal(answer.incomplete_details.reason, "max_output_tokens");
    assert.equal(answer.usage.output_tokens, 4);
  });
  check("responses: the text is that of the same chat", async () => {
    const messages = [
      { role: "system", content: usual.instructions },
      { role: "user", content: usual.input },
    ];
    const chat = await client.chat.completions.create({ model, messages, max_tokens: 24, seed: 7 });
    assert.equal((await create()).output_text, chat.choices[0].message.content);
  });
  check("responses: every drafter gives the same text", async () => {
    const texts = [];
    for (const draft of ["none", "auto", "suffix", "asd"]) texts.push((await create({ draft })).output_text);
    assert.equal(new Set(texts).size, 1);
  });
  check("responses: a text that fits a schema", async () => {
    const format = { type: "json_schema", name: "weather", schema: weatherSchema };
    assertWeather((await create({ text: { format }, max_output_tokens: 100 })).output_text);
  });
  check("responses: what is not built is refused by name", async () => {
    await assert.rejects(create({ previous_response_id: "resp_1" }), { status: 400, param: "previous_response_id" });
    await assert.rejects(create({ text: { format: { type: "json" } } }), { status: 400, param: "text.format" });
    await assert.rejects(create({ tool_choice: "required", tools: [{ type: "function", ...weather }] }), { status: 400, param: "tool_choice" });
    await assert.rejects(create({ max_output_tokens: 0 }), { status: 400, param: "max_output_tokens" });
  });
}

function addStreams(create, client, base, model) {
  check("responses: events come in order", async () => {
    const events = [];
    for await (const event of await create({ stream: true })) events.push(event);
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
    const types = events.map((event) => event.type).filter((type, i, all) => type !== all[i - 1]);
    const end = types.at(-1);
    assert.ok(["response.completed", "response.incomplete"].includes(end), end);
    assert.deepEqual(types, [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      end,
    ]);
    const deltas = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta);
    const done = events.find((event) => event.type === "response.output_text.done");
    assert.equal(deltas.join(""), done.text);
    assert.equal(done.text, (await create()).output_text);
    const { response } = events.at(-1);
    assert.equal(response.output[0].content[0].text, done.text);
    assert.ok(response.usage.output_tokens > 0);
    assert.equal(new Set(events.filter((event) => event.item_id).map((event) => event.item_id)).size, 1);
  });
  check("responses: the client's own collection of a stream agrees", async () => {
    const stream = client.responses.stream({ model, ...usual });
    const types = [];
    stream.on("event", (event) => types.push(event.type));
    const final = await stream.finalResponse();
    assert.equal(final.output[0].content[0].text, (await create()).output_text);
    assert.equal(types[0], "response.created");
  });
  check("responses: a stream that is aborted frees the server", async () => {
    const stream = await create({ stream: true, max_output_tokens: 1500 });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") break;
    }
    stream.controller.abort();
    return `after ${await free(base, undefined, 5)} ms`;
  });
}

function addInputs(create) {
  check("responses: the answer goes back as input", async () => {
    const long = { role: "user", content: usual.input.repeat(20) };
    const first = await create({ input: [long] });
    const next = await create({ input: [long, ...first.output, { role: "user", content: "And now in C." }] });
    assert.ok(next.output_text.length > 0);
    assert.ok(next.usage.input_tokens > first.usage.input_tokens + 10);
    assert.ok(next.usage.input_tokens_details.cached_tokens > 0, "its beginning is known");
  });
  check("responses: parts of text, and developers", async () => {
    const parts = [{ type: "message", role: "user", content: [{ type: "input_text", text: usual.input }] }];
    assert.equal((await create({ input: parts })).output_text, (await create()).output_text);
    assert.ok((await create({ input: [{ role: "developer", content: "Be brief." }, ...parts] })).output_text.length > 0);
  });
  check("responses: a call and its result in the input", async () => {
    const input = [
      { role: "user", content: "What is the weather in Bern?" },
      { type: "function_call", call_id: "call_0000001", name: "get_weather", arguments: '{"city":"Bern"}' },
      { type: "function_call_output", call_id: "call_0000001", output: '{"degrees": 7}' },
    ];
    const tools = [{ type: "function", strict: true, ...weather }];
    const answer = await create({ input, tools });
    assert.ok(answer.output.length > 0);
    assert.deepEqual(answer.tools, tools);
  });
  check("responses: tools that cannot run here are left out with a note", async () => {
    const tools = [{ type: "web_search_preview" }, { type: "function", strict: true, ...weather }];
    const answer = await create({ tools });
    assert.equal(answer.skipstone.notes.length, 1);
    assert.match(answer.skipstone.notes[0], /web_search_preview/);
    assert.equal(answer.usage.input_tokens, (await create({ tools: tools.slice(1) })).usage.input_tokens);
  });
  check("responses: other items and parts are refused", async () => {
    const image = { role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA==" }] };
    for (const input of [[image], [{ type: "item_reference", id: "x" }], [], 5]) await assert.rejects(create({ input }), { status: 400, param: "input" });
  });
}
