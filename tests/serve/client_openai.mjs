// Chat completions, models and errors through OpenAI's client.
import assert from "node:assert/strict";
import { afterCall, acrossTokens, question, weather } from "./conversation.mjs";
import { check, free, get, load, metric } from "./harness.mjs";

/** Text of each choice of a stream, and its chunks. */
export async function collect(stream) {
  const texts = [];
  const chunks = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    for (const { index, delta } of chunk.choices) texts[index] = (texts[index] ?? "") + (delta.content ?? "");
  }
  return { texts, chunks };
}

export async function addOpenAI(base) {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
  const model = (await client.models.list()).data[0].id;
  const usual = { model, messages: question, max_tokens: 24, seed: 7 };
  const chat = (more) => client.chat.completions.create({ ...usual, ...more });
  const text = async (more) => (await chat(more)).choices[0].message.content;

  addModels(client, model);
  addChat(chat, text, client, usual);
  addStops(chat);
  addLogprobs(chat);
  addCancel(chat, base);
  addTools(chat, client, usual);
  addDrafters(chat, text);
  addFormats(chat, client, usual);
  addErrors(chat, OpenAI, base);
}

function addModels(client, model) {
  check("openai: models.list", async () => {
    const { data } = await client.models.list();
    assert.deepEqual(data.map(({ id, object }) => ({ id, object })), [{ id: model, object: "model" }]);
  });
  check("openai: models.retrieve", async () => {
    assert.equal((await client.models.retrieve(model)).id, model);
    await assert.rejects(client.models.retrieve("gpt-4"), { status: 404, code: "model_not_found" });
  });
}

function addChat(chat, text, client, usual) {
  check("openai: chat", async () => {
    const answer = await chat();
    const [{ message, finish_reason, index }] = answer.choices;
    assert.equal(answer.object, "chat.completion");
    assert.equal(answer.model, usual.model);
    assert.deepEqual([message.role, index, message.tool_calls], ["assistant", 0, undefined]);
    assert.ok(message.content.length > 0);
    assert.ok(["stop", "length"].includes(finish_reason));
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = answer.usage;
    assert.ok(prompt_tokens > 10 && completion_tokens > 0 && completion_tokens <= 24);
    assert.equal(total_tokens, prompt_tokens + completion_tokens);
    assert.ok(prompt_tokens_details.cached_tokens <= prompt_tokens);
    assert.equal(answer.timings.seed, 7);
  });
  check("openai: a streamed chat has the same text", async () => {
    const whole = await chat();
    const { texts, chunks } = await collect(await chat({ stream: true }));
    assert.equal(texts[0], whole.choices[0].message.content);
    assert.equal(chunks[0].choices[0].delta.role, "assistant");
    assert.equal(chunks.filter((chunk) => chunk.choices[0]?.finish_reason).length, 1);
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    assert.ok(chunks.length > 3, "a stream comes in pieces");
  });
  check("openai: the client's own collection of a stream agrees", async () => {
    const stream = client.chat.completions.stream({ ...usual, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    const whole = await chat();
    assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
    assert.deepEqual(final.usage.completion_tokens, whole.usage.completion_tokens);
  });
  check("openai: usage in a stream where it is asked for", async () => {
    const whole = await chat();
    const asked = (await collect(await chat({ stream: true, stream_options: { include_usage: true } }))).chunks;
    assert.deepEqual(asked.at(-1).choices, []);
    assert.equal(asked.at(-1).usage.completion_tokens, whole.usage.completion_tokens);
    assert.equal(asked.at(-1).usage.prompt_tokens, whole.usage.prompt_tokens);
    const unasked = (await collect(await chat({ stream: true }))).chunks;
    assert.ok(unasked.every((chunk) => !chunk.usage));
  });
  check("openai: a seed repeats its text, also among concurrent requests", async () => {
    const alone = await text();
    const concurrent = await Promise.all([text(), text({ seed: 8 }), text(), text({ seed: 9, temperature: 0.3 }), text()]);
    assert.equal(concurrent[0], alone);
    assert.equal(concurrent[2], alone);
    assert.equal(concurrent[4], alone);
    assert.notEqual(concurrent[1], alone);
  });
  check("openai: temperature 0 needs no seed", async () => {
    const greedy = { temperature: 0, seed: undefined };
    assert.equal(await text(greedy), await text(greedy));
  });
  check("openai: n choices, each with its own seed", async () => {
    const { choices } = await chat({ n: 3, seed: 20, max_tokens: 12 });
    assert.deepEqual(choices.map((choice) => choice.index), [0, 1, 2]);
    for (const [index, choice] of choices.entries()) {
      assert.equal(choice.message.content, await text({ seed: 20 + index, max_tokens: 12 }), `choice ${index}`);
    }
    const { texts } = await collect(await chat({ n: 3, seed: 20, max_tokens: 12, stream: true }));
    assert.deepEqual(texts, choices.map((choice) => choice.message.content));
  });
  check("openai: max_completion_tokens is the limit of tokens", async () => {
    const answer = await chat({ max_tokens: undefined, max_completion_tokens: 3 });
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.equal(answer.usage.completion_tokens, 3);
  });
  check("openai: content as a list of parts", async () => {
    const parts = question_parts(usual.messages);
    assert.equal(await text({ messages: parts }), await text());
  });
}

const question_parts = (messages) => messages.map(({ role, content }) => ({ role, content: [{ type: "text", text: content }] }));

function addStops(chat) {
  check("openai: a stop string across tokens ends the text before it", async () => {
    const whole = await chat({ max_tokens: 40, logprobs: true });
    const { stop, before } = acrossTokens(whole.choices[0].logprobs.content.map(({ token }) => token));
    for (const wanted of [stop, ["nowhere to be seen", stop]]) {
      const [choice] = (await chat({ max_tokens: 40, stop: wanted })).choices;
      assert.deepEqual([choice.message.content, choice.finish_reason], [before, "stop"]);
      const { texts, chunks } = await collect(await chat({ max_tokens: 40, stop: wanted, stream: true }));
      assert.equal(texts[0], before);
      assert.equal(chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean)[0], "stop");
    }
    return JSON.stringify(stop);
  });
  check("openai: a stop string that never comes changes nothing", async () => {
    const plain = await chat();
    const stopped = await chat({ stop: ["\u{1f410}\u{1f410}"] });
    assert.equal(stopped.choices[0].message.content, plain.choices[0].message.content);
  });
}

function addLogprobs(chat) {
  check("openai: logprobs and top_logprobs", async () => {
    const answer = await chat({ logprobs: true, top_logprobs: 4 });
    const { content } = answer.choices[0].logprobs;
    assert.equal(answer.choices[0].message.content, (await chat()).choices[0].message.content, "they change no text");
    assert.equal(content.length, answer.usage.completion_tokens);
    const bytes = content.flatMap((token) => token.bytes);
    assert.equal(Buffer.from(bytes).toString(), answer.choices[0].message.content);
    for (const { logprob, top_logprobs } of content) {
      assert.ok(logprob <= 0 && logprob > -100);
      assert.equal(top_logprobs.length, 4);
      const tops = top_logprobs.map((top) => top.logprob);
      assert.deepEqual(tops, [...tops].sort((a, b) => b - a), "in falling order");
      assert.ok(logprob <= tops[0] + 1e-5);
    }
  });
  check("openai: logprobs of a stream are those of the whole answer", async () => {
    const more = { logprobs: true, top_logprobs: 2 };
    const whole = (await chat(more)).choices[0].logprobs.content;
    const { chunks } = await collect(await chat({ ...more, stream: true }));
    assert.deepEqual(chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? []), whole);
  });
}

function addCancel(chat, base) {
  check("openai: a stream that is aborted frees the server", async () => {
    const stream = await chat({ max_tokens: 1500, stream: true });
    let pieces = 0;
    for await (const chunk of stream) {
      if (chunk.choices.length > 0 && ++pieces === 4) break;
    }
    stream.controller.abort();
    const before = await metric(base, "generated_tokens_total");
    const ms = await free(base, undefined, 5);
    assert.ok((await metric(base, "generated_tokens_total")) - before < 1000, "it did not go on to its end");
    return `after ${ms} ms`;
  });
  check("openai: a request that is aborted before its answer frees the server", async () => {
    const abort = new AbortController();
    const { default: OpenAI } = await load("openai");
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
    const answer = client.chat.completions.create({ model: "", messages: question, max_tokens: 1500 }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 300);
    await assert.rejects(answer, /abort/i);
    return `after ${await free(base, undefined, 5)} ms`;
  });
}

function addTools(chat, client, usual) {
  const tools = [{ type: "function", function: weather }];
  check("openai: tools are taken, and an answer comes back", async () => {
    for (const more of [{}, { tool_choice: "auto" }, { tool_choice: "none" }, { parallel_tool_calls: false }]) {
      const [{ message, finish_reason }] = (await chat({ tools, ...more })).choices;
      assert.ok(finish_reason === "tool_calls" ? message.tool_calls.length > 0 : message.content !== null);
    }
    const { texts } = await collect(await chat({ tools, stream: true }));
    assert.equal(texts[0], (await chat({ tools })).choices[0].message.content);
  });
  check("openai: a conversation with a call and its result", async () => {
    assert.ok((await chat({ messages: afterCall, tools })).choices[0].message.content.length > 0);
    assert.ok((await chat({ messages: afterCall })).choices[0].message.content.length > 0);
  });
  check("openai: runTools goes through", async () => {
    const runner = client.chat.completions.runTools({
      ...usual,
      stop: "e", // an answer that its limit ends is an error there
      tools: [{ type: "function", function: { ...weather, parse: JSON.parse, function: () => "7 degrees" } }],
    });
    assert.ok((await runner.finalChatCompletion()).choices.length === 1);
  });
  check("openai: tool_choice that forces a call is refused by name", async () => {
    for (const tool_choice of ["required", { type: "function", function: { name: "get_weather" } }]) {
      await assert.rejects(chat({ tools, tool_choice }), { status: 400, param: "tool_choice" });
    }
  });
}

function addDrafters(chat, text) {
  check("openai: every drafter gives the same text", async () => {
    for (const sampled of [{ temperature: 0 }, { temperature: 0.8, seed: 11 }]) {
      const plain = await text({ ...sampled, draft: "none", max_tokens: 32 });
      for (const draft of ["auto", "suffix", "asd", "lookup", "exit", "suffix+asd"]) {
        assert.equal(await text({ ...sampled, draft, max_tokens: 32 }), plain, draft);
      }
    }
  });
  check("openai: pieces of a stream name the drafter they come from", async () => {
    const { chunks } = await collect(await chat({ draft: "suffix", temperature: 0, max_tokens: 60, stream: true }));
    const names = new Set(chunks.map((chunk) => chunk.skipstone.drafter));
    assert.ok([...names].every((name) => name === null || name.startsWith("suffix")), [...names].join());
    const { timings } = chunks.at(-1);
    assert.ok(timings.draft_n >= timings.draft_n_accepted && timings.tokens_per_round >= 1);
    return `${timings.draft_n_accepted} of ${timings.draft_n} drafts`;
  });
  check("openai: a lossy or unknown drafter is refused", async () => {
    for (const draft of ["sequential", "nobody", ""]) await assert.rejects(chat({ draft }), { status: 400, param: "draft" });
  });
}

/** A schema whose members are not in alphabetical order, which the answer keeps. */
export const weatherSchema = {
  type: "object",
  properties: { temperature: { type: "integer", minimum: -40, maximum: 60 }, sky: { enum: ["clear", "cloudy"] }, rain: { type: "boolean" } },
  required: ["temperature", "sky", "rain"],
  additionalProperties: false,
};

export function assertWeather(text) {
  const answer = JSON.parse(text);
  assert.deepEqual(Object.keys(answer), weatherSchema.required);
  assert.ok(Number.isInteger(answer.temperature) && answer.temperature >= -40 && answer.temperature <= 60, text);
  assert.ok(["clear", "cloudy"].includes(answer.sky) && typeof answer.rain === "boolean", text);
}

function addFormats(chat, client, usual) {
  const response_format = { type: "json_schema", json_schema: { name: "weather", strict: true, schema: weatherSchema } };
  check("openai: an answer that fits a schema, with every drafter", async () => {
    const texts = [];
    for (const draft of ["none", "grammar", "auto", "suffix"]) {
      const { choices } = await chat({ response_format, draft, max_tokens: 100 });
      assert.equal(choices[0].finish_reason, "stop");
      texts.push(choices[0].message.content);
    }
    assertWeather(texts[0]);
    assert.equal(new Set(texts).size, 1);
  });
  check("openai: a streamed answer, two choices, and one that is cut", async () => {
    const { texts } = await collect(await chat({ response_format, n: 2, temperature: 1, stream: true, max_tokens: 100 }));
    texts.forEach(assertWeather);
    assert.equal(texts.length, 2);
    const cut = (await chat({ response_format, max_tokens: 3 })).choices[0];
    assert.equal(cut.finish_reason, "length");
  });
  check("openai: json_object, and llama.cpp's fields", async () => {
    const object = (await chat({ response_format: { type: "json_object" }, max_tokens: 3 })).choices[0];
    assert.ok(object.message.content.startsWith("{"));
    assert.match((await chat({ grammar: 'root ::= "yes" | "no"' })).choices[0].message.content, /^(yes|no)$/);
    const completion = await client.completions.create({ model: usual.model, prompt: "It is", json_schema: { enum: ["cold", "warm"] }, max_tokens: 20 });
    assert.ok(["cold", "warm"].includes(JSON.parse(completion.choices[0].text)));
  });
  check("openai: schemas that are refused name the place", async () => {
    const refused = (schema) => chat({ response_format: { type: "json_schema", json_schema: { name: "x", schema } } });
    await assert.rejects(refused({ not: {} }), (error) => error.status === 400 && error.param === "response_format" && /#\/not/.test(error.message));
    await assert.rejects(refused({ type: "integer", minimum: 2, maximum: 1 }), { status: 400, param: "response_format" });
    await assert.rejects(chat({ response_format, grammar: 'root ::= "a"' }), { status: 400, param: "grammar" });
    await assert.rejects(chat({ response_format, tools: [{ type: "function", function: weather }] }), { status: 400, param: "tools" });
  });
}

function addErrors(chat, OpenAI, base) {
  check("openai: errors are the client's own classes", async () => {
    await assert.rejects(chat({ temperature: -1 }), (error) => error instanceof OpenAI.BadRequestError && error.param === "temperature");
    await assert.rejects(chat({ model: "gpt-4" }), (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
    await assert.rejects(chat({ messages: [] }), { status: 400, param: "messages", type: "invalid_request_error" });
    await assert.rejects(chat({ response_format: { type: "json" } }), { status: 400, param: "response_format" });
    const long = "word ".repeat(5000);
    await assert.rejects(chat({ messages: [{ role: "user", content: long }] }), { status: 400, param: "messages", code: "context_length_exceeded" });
    await assert.rejects(chat({ stream: true, messages: [{ role: "user", content: long }] }), { status: 400, code: "context_length_exceeded" });
  });
  const { SKIPSTONE_KEYED_URL: keyed, SKIPSTONE_KEY: key } = process.env;
  if (!keyed) return;
  check("openai: a model whose name has a slash and a blank", async () => {
    const other = new OpenAI({ baseURL: `${keyed}/v1`, apiKey: key, maxRetries: 0 });
    const { id } = (await other.models.list()).data[0];
    assert.equal((await other.models.retrieve(id)).id, id);
    assert.equal((await other.completions.create({ model: id, prompt: "x", max_tokens: 1 })).model, id);
  });
  check("openai: a server with keys", async () => {
    const models = (apiKey) => new OpenAI({ baseURL: `${keyed}/v1`, apiKey, maxRetries: 0 }).models.list();
    await assert.rejects(models("wrong"), (error) => error instanceof OpenAI.AuthenticationError && error.code === "invalid_api_key");
    assert.equal((await models(key)).data.length, 1);
    assert.equal((await get(keyed, "/health")).status, 200);
    assert.equal((await get(keyed, "/metrics")).status, 401);
    assert.equal((await get(keyed, "/metrics", key)).status, 200);
  });
}
