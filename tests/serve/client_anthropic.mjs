// Anthropic's Messages API through its client. Tools and thinking: agent_test.mjs, with a model that has them.
import assert from "node:assert/strict";
import { acrossTokens, question } from "./conversation.mjs";
import { check, free, load, post } from "./harness.mjs";

const [{ content: system }, ...messages] = question;

export async function addAnthropic(base) {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const connect = (apiKey, baseURL = base) => new Anthropic({ baseURL, apiKey, maxRetries: 0 });
  const client = connect("none");
  const model = (await client.models.list()).data[0].id;
  const usual = { model, system, messages, max_tokens: 24, seed: 7 };
  const create = (more) => client.messages.create({ ...usual, ...more });
  const text = async (more) => (await create(more)).content.map((block) => block.text).join("");
  addMessages(client, create, text, usual);
  addStreams(client, create, base, usual);
  addErrors(Anthropic, create, base, usual, connect);
}

function addMessages(client, create, text, usual) {
  check("anthropic: a message", async () => {
    const message = await create();
    assert.deepEqual([message.type, message.role, message.model, message.stop_sequence], ["message", "assistant", usual.model, null]);
    assert.match(message.id, /^msg_/);
    assert.deepEqual(message.content.map(({ type }) => type), ["text"]);
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = message.usage;
    assert.ok(input_tokens > 0 && output_tokens > 0 && output_tokens <= 24 && cache_read_input_tokens >= 0);
    assert.equal(cache_creation_input_tokens, 0);
    assert.equal((await client.messages.countTokens({ ...usual, max_tokens: undefined })).input_tokens, input_tokens + cache_read_input_tokens);
  });
  check("anthropic: the text is that of the same chat", async () => {
    const { default: OpenAI } = await load("openai");
    const openai = new OpenAI({ baseURL: `${client.baseURL}/v1`, apiKey: "none", maxRetries: 0 });
    const { choices } = await openai.chat.completions.create({ model: usual.model, messages: question, max_tokens: 24, seed: 7 });
    assert.equal(await text(), choices[0].message.content.trimEnd() === "" ? "" : choices[0].message.content);
  });
  check("anthropic: texts as blocks, turns of one role, a changed header", async () => {
    const block = (one) => ({ type: "text", text: one, cache_control: { type: "ephemeral" } });
    const split = messages[0].content.split("\n").map((line) => ({ role: "user", content: [block(line)] })); // a line end separates blocks
    assert.ok(split.length > 2);
    assert.equal(await text({ system: [block(system)], messages: split }), await text());
    assert.equal(await text({ system: [block("x-anthropic-billing-header: cch=1;"), block(system)] }), await text());
    assert.notEqual(await text({ system: [block("Other."), block(system)] }), await text());
  });
  check("anthropic: stop reasons", async () => {
    assert.equal((await create({ max_tokens: 3 })).stop_reason, "max_tokens");
    const { choices } = await (await post(client.baseURL, "/v1/chat/completions", { messages: question, max_tokens: 40, seed: 7, logprobs: true })).json();
    const { stop, before } = acrossTokens(choices[0].logprobs.content.map(({ token }) => token));
    const stopped = await create({ max_tokens: 40, stop_sequences: ["nowhere to be seen", stop, `${stop} and more`] });
    assert.deepEqual([stopped.stop_reason, stopped.stop_sequence, stopped.content[0]?.text ?? ""], ["stop_sequence", stop, before]);
    return JSON.stringify(stop);
  });
  check("anthropic: an answer that has begun is continued", async () => {
    // What the model says after the beginning of its own answer is the rest of it.
    const greedy = { temperature: 0, max_tokens: 24 };
    const whole = await create(greedy);
    const [{ text: said }] = whole.content;
    const first = said.slice(0, said.indexOf(" ", said.length / 2)).trimEnd();
    assert.ok(first.length > 8 && first.length < said.length, said);
    const begun = { role: "assistant", content: first };
    const rest = await create({ ...greedy, messages: [...messages, begun], max_tokens: 24 });
    const joined = first + rest.content.map((block) => block.text).join("");
    assert.ok(joined.startsWith(said), `${JSON.stringify(joined)} is not ${JSON.stringify(said)}`);
    const counted = async (more) => (await client.messages.countTokens({ model: usual.model, system, messages: [...messages, ...more] })).input_tokens;
    const { tokens } = await (await post(client.baseURL, "/tokenize", { content: first })).json();
    const grown = (await counted([begun])) - (await counted([]));
    assert.ok(grown === tokens.length || grown === tokens.length + 1, `${grown} tokens for ${tokens.length}`); // the template may write a space
  });
  check("anthropic: every drafter gives the same text", async () => {
    const texts = [];
    for (const draft of ["none", "auto", "suffix", "asd"]) texts.push(await text({ draft }));
    assert.equal(new Set(texts).size, 1);
  });
}

function addStreams(client, create, base, usual) {
  check("anthropic: events come in order, and say what a whole answer does", async () => {
    const events = [];
    for await (const event of await create({ stream: true })) events.push(event);
    const types = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);
    // The client hides pings.
    assert.deepEqual(
      types.filter((type) => type !== "ping"),
      ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"],
    );
    const whole = await create();
    const said = events.filter(({ type }) => type === "content_block_delta").map(({ delta }) => delta.text);
    assert.ok(said.length > 3, "a stream comes in pieces");
    assert.equal(said.join(""), whole.content[0].text);
    const end = events.find(({ type }) => type === "message_delta");
    assert.equal(end.delta.stop_reason, whole.stop_reason);
    assert.equal(end.usage.output_tokens, whole.usage.output_tokens);
    assert.equal(events[0].message.usage.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
  });
  check("anthropic: the client's own collection of a stream agrees", async () => {
    const { id, timings, usage, ...streamed } = await client.messages.stream(usual).finalMessage();
    const whole = await create();
    assert.deepEqual([streamed.content, streamed.stop_reason, usage.output_tokens], [whole.content, whole.stop_reason, whole.usage.output_tokens]);
  });
  check("anthropic: a stream that is aborted frees the server", async () => {
    const stream = await create({ stream: true, max_tokens: 1500 });
    for await (const event of stream) if (event.type === "content_block_delta") break;
    stream.controller.abort();
    return `after ${await free(base, undefined, 5)} ms`;
  });
}

function addErrors(Anthropic, create, base, usual, connect) {
  check("anthropic: errors say what is wrong, in its form", async () => {
    const refused = async (more, kind, type, message) =>
      assert.rejects(create(more), (error) => {
        assert.ok(error instanceof kind, `${error}`);
        assert.deepEqual([error.error.type, error.error.error.type], ["error", type]);
        assert.match(error.error.error.message, message);
        return true;
      });
    await refused({ temperature: -1 }, Anthropic.BadRequestError, "invalid_request_error", /'temperature'/);
    await refused({ messages: [{ role: "user", content: [{ type: "image", source: {} }] }] }, Anthropic.BadRequestError, "invalid_request_error", /'messages\[0\]\.content\[0\]\.type'/);
    await refused({ tool_choice: { type: "any" }, tools: [] }, Anthropic.BadRequestError, "invalid_request_error", /'tool_choice/);
    await refused({ model: "claude-x" }, Anthropic.NotFoundError, "not_found_error", /claude-x/);
    await refused({ messages: [{ role: "user", content: "word ".repeat(3000) }] }, Anthropic.BadRequestError, "invalid_request_error", /^prompt is too long/);
  });
  check("anthropic: wrong requests without the client", async () => {
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      for (const body of ["", "[]", "{", "{}", '{"messages":[]}']) {
        const response = await post(base, path, body);
        assert.equal(response.status, 400);
        assert.deepEqual(Object.keys(await response.json()), ["type", "error"]);
      }
      const other = await fetch(base + path);
      assert.deepEqual([other.status, (await other.json()).type], [405, "error"]);
    }
  });
  const { SKIPSTONE_KEYED_URL: keyed, SKIPSTONE_KEY: key } = process.env;
  if (!keyed) return;
  check("anthropic: a server with keys, in either header", async () => {
    const ask = (client) => client.messages.create({ ...usual, model: "Org/Small Model", max_tokens: 2 });
    await assert.rejects(ask(connect("wrong", keyed)), (error) => error instanceof Anthropic.AuthenticationError && error.error.error.type === "authentication_error");
    assert.equal((await ask(connect(key, keyed))).type, "message");
    assert.equal((await ask(new Anthropic({ baseURL: keyed, apiKey: null, authToken: key, maxRetries: 0 }))).type, "message");
  });
}
