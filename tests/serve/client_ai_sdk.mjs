// The AI SDK, with its provider for servers of OpenAI's API.
import assert from "node:assert/strict";
import { question, weather } from "./conversation.mjs";
import { check, free, get, load } from "./harness.mjs";

const afterCall = [
  { role: "user", content: "What is the weather in Bern?" },
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "call_0000001", toolName: "get_weather", input: { city: "Bern" } }] },
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "call_0000001", toolName: "get_weather", output: { type: "json", value: { degrees: 7 } } }],
  },
];

export async function addAiSdk(base) {
  const ai = await load("ai");
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  const name = JSON.parse((await get(base, "/v1/models")).text).data[0].id;
  const provider = (apiKey, baseURL = `${base}/v1`) => createOpenAICompatible({ name: "skipstone", baseURL, apiKey, includeUsage: true });
  const model = provider("none")(name);
  const [{ content: system }, ...messages] = question;
  const usual = { model, system, messages, maxOutputTokens: 24, seed: 7, temperature: 1, maxRetries: 0 };
  const chat = (more) => ai.generateText({ ...usual, ...more });
  const stream = (more) => ai.streamText({ ...usual, onError: () => {}, ...more });
  const tools = { get_weather: ai.tool({ description: weather.description, inputSchema: ai.jsonSchema(weather.parameters) }) };

  check("AI SDK: chat, whole and streamed", async () => {
    const whole = await chat();
    assert.ok(whole.text.length > 0);
    assert.ok(["stop", "length"].includes(whole.finishReason));
    const streamed = stream();
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    assert.equal(text, whole.text);
    const usage = await streamed.usage;
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [whole.usage.inputTokens, whole.usage.outputTokens]);
  });
  check("AI SDK: a seed repeats its text", async () => {
    const [one, other, again] = await Promise.all([chat(), chat({ seed: 8 }), chat()]);
    assert.equal(one.text, again.text);
    assert.notEqual(one.text, other.text);
  });
  check("AI SDK: stopSequences", async () => {
    const { text } = await chat();
    const stop = text.slice(7, 12);
    const stopped = await chat({ stopSequences: [stop] });
    assert.equal(stopped.text, text.slice(0, text.indexOf(stop)));
    assert.equal(stopped.finishReason, "stop");
  });
  check("AI SDK: a drafter as a provider's option", async () => {
    const texts = [];
    for (const draft of ["none", "auto", "suffix", "asd"]) texts.push((await chat({ providerOptions: { skipstone: { draft } } })).text);
    assert.equal(new Set(texts).size, 1);
    await assert.rejects(chat({ providerOptions: { skipstone: { draft: "nobody" } } }), { statusCode: 400 });
  });
  check("AI SDK: tools, and a conversation with a result", async () => {
    const answer = await chat({ tools });
    assert.ok(answer.text.length > 0 || answer.toolCalls.length > 0);
    assert.ok((await chat({ tools, messages: afterCall })).text.length > 0);
    let text = "";
    for await (const piece of stream({ tools, messages: afterCall }).textStream) text += piece;
    assert.ok(text.length > 0);
  });
  check("AI SDK: a completion model", async () => {
    const { text } = await ai.generateText({ ...usual, messages: undefined, prompt: "def f(x):", model: provider("none").completionModel(name) });
    assert.ok(text.length > 0);
  });
  check("AI SDK: an aborted stream frees the server", async () => {
    const abort = new AbortController();
    const streamed = stream({ maxOutputTokens: 1500, abortSignal: abort.signal });
    let pieces = 0;
    for await (const part of streamed.fullStream) {
      if (part.type === "text-delta" && ++pieces === 3) abort.abort();
    }
    return `after ${await free(base, undefined, 5)} ms`;
  });
  check("AI SDK: errors say what is wrong", async () => {
    await assert.rejects(chat({ temperature: -1 }), (error) => error.statusCode === 400 && JSON.parse(error.responseBody).error.param === "temperature");
    await assert.rejects(chat({ model: provider("none")("gpt-4") }), { statusCode: 404 });
    await assert.rejects(chat({ messages: [{ role: "user", content: "word ".repeat(5000) }] }), { statusCode: 400, message: /context/ });
  });
  const { SKIPSTONE_KEYED_URL: keyed, SKIPSTONE_KEY: key } = process.env;
  if (!keyed) return;
  check("AI SDK: a server with keys", async () => {
    await assert.rejects(chat({ model: provider("wrong", `${keyed}/v1`)(name) }), { statusCode: 401 });
    assert.ok((await chat({ model: provider(key, `${keyed}/v1`)(name) })).text.length > 0);
  });
}
