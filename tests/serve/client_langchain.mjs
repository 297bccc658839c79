// LangChain's models.
import assert from "node:assert/strict";
import { question, weather } from "./conversation.mjs";
import { check, free, get, load } from "./harness.mjs";

export async function addLangChain(base) {
  const { ChatOpenAI, OpenAI } = await load("@langchain/openai");
  const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = await load("@langchain/core/messages");
  const model = JSON.parse((await get(base, "/v1/models")).text).data[0].id;
  const usual = (kwargs = {}, baseURL = `${base}/v1`, apiKey = "none") => ({
    model,
    apiKey,
    maxTokens: 24,
    maxRetries: 0,
    configuration: { baseURL },
    modelKwargs: { seed: 7, ...kwargs },
  });
  const chat = (more, kwargs) => new ChatOpenAI({ ...usual(kwargs), ...more });
  const messages = question.map(({ role, content }) => (role === "system" ? new SystemMessage(content) : new HumanMessage(content)));
  const text = async (more, kwargs) => (await chat(more, kwargs).invoke(messages)).content;
  const tools = [{ type: "function", function: weather }];
  const collect = async (stream) => {
    let whole;
    for await (const piece of stream) whole = whole === undefined ? piece : whole.concat(piece);
    return whole;
  };

  check("LangChain: chat, whole and streamed", async () => {
    const answer = await chat().invoke(messages);
    assert.ok(answer.content.length > 0);
    const streamed = await collect(await chat().stream(messages));
    assert.equal(streamed.content, answer.content);
    assert.equal(streamed.usage_metadata.output_tokens, answer.usage_metadata.output_tokens);
    assert.equal(streamed.response_metadata.finish_reason, answer.response_metadata.finish_reason);
  });
  check("LangChain: a seed repeats its text", async () => {
    const [one, other, again] = await Promise.all([text(), text({}, { seed: 8 }), text()]);
    assert.equal(one, again);
    assert.notEqual(one, other);
  });
  check("LangChain: stop strings", async () => {
    const whole = await text();
    const stop = whole.slice(7, 12);
    assert.equal(await text({ stop: [stop] }), whole.slice(0, whole.indexOf(stop)));
  });
  check("LangChain: n choices", async () => {
    const { generations } = await chat({ n: 2 }).generate([messages]);
    assert.equal(generations[0].length, 2);
    assert.equal(generations[0][0].text, await text());
    assert.equal(generations[0][1].text, await text({}, { seed: 8 }));
  });
  check("LangChain: logprobs", async () => {
    const answer = await chat({ logprobs: true, topLogprobs: 2 }).invoke(messages);
    const { content } = answer.response_metadata.logprobs;
    assert.equal(content.map(({ token }) => token).join(""), answer.content);
    assert.equal(content[0].top_logprobs.length, 2);
  });
  check("LangChain: every drafter gives the same text", async () => {
    const texts = [];
    for (const draft of ["none", "auto", "suffix", "asd"]) texts.push(await text({}, { draft }));
    assert.equal(new Set(texts).size, 1);
  });
  check("LangChain: tools, and a conversation with a result", async () => {
    const bound = chat().bindTools(tools);
    assert.ok((await bound.invoke(messages)) instanceof AIMessage);
    const call = { id: "call_0000001", name: "get_weather", args: { city: "Bern" }, type: "tool_call" };
    const conversation = [
      new HumanMessage("What is the weather in Bern?"),
      new AIMessage({ content: "", tool_calls: [call] }),
      new ToolMessage({ content: '{"degrees": 7}', tool_call_id: call.id }),
    ];
    assert.ok((await bound.invoke(conversation)).content.length > 0);
    assert.ok((await collect(await bound.stream(conversation))).content.length > 0);
  });
  check("LangChain: the Responses API", async () => {
    const responses = { useResponsesApi: true };
    const answer = await chat(responses).invoke(messages);
    assert.ok(answer.text.length > 0);
    assert.equal((await collect(await chat(responses).stream(messages))).text, answer.text);
  });
  check("LangChain: completions", async () => {
    const complete = new OpenAI({ ...usual(), model: undefined, modelName: model });
    const whole = await complete.invoke("def f(x):");
    assert.ok(whole.length > 0);
    let streamed = "";
    for await (const piece of await complete.stream("def f(x):")) streamed += piece;
    assert.equal(streamed, whole);
  });
  check("LangChain: an aborted stream frees the server", async () => {
    const abort = new AbortController();
    const stream = await chat({ maxTokens: 1500 }).stream(messages, { signal: abort.signal });
    await assert.rejects(async () => {
      let pieces = 0;
      for await (const piece of stream) if (piece.content && ++pieces === 3) abort.abort();
    });
    return `after ${await free(base, undefined, 5)} ms`;
  });
  check("LangChain: errors say what is wrong", async () => {
    await assert.rejects(chat({ temperature: -1 }).invoke(messages), { status: 400, param: "temperature" });
    await assert.rejects(chat({ model: "gpt-4" }).invoke(messages), { status: 404 });
  });
  const { SKIPSTONE_KEYED_URL: keyed, SKIPSTONE_KEY: key } = process.env;
  if (!keyed) return;
  check("LangChain: a server with keys", async () => {
    const keyedChat = (apiKey) => new ChatOpenAI(usual({}, `${keyed}/v1`, apiKey));
    await assert.rejects(keyedChat("wrong").invoke(messages), { status: 401 });
    assert.ok((await keyedChat(key).invoke(messages)).content.length > 0);
  });
}
