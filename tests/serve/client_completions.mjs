// Completions in their older form, through OpenAI's client.
import assert from "node:assert/strict";
import { acrossTokens } from "./conversation.mjs";
import { ask, check, load } from "./harness.mjs";

const prompt = "def binary_search(items, target):\n";

export async function addCompletions(base) {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
  const model = (await client.models.list()).data[0].id;
  const complete = (more) => client.completions.create({ model, prompt, max_tokens: 24, seed: 7, ...more });
  const collect = async (stream) => {
    const texts = [];
    for await (const { choices } of stream) {
      for (const { index, text } of choices) texts[index] = (texts[index] ?? "") + text;
    }
    return texts;
  };

  check("completions: a text, whole and streamed", async () => {
    const answer = await complete();
    assert.equal(answer.object, "text_completion");
    assert.equal(answer.usage.completion_tokens, 24);
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.deepEqual(await collect(await complete({ stream: true })), [answer.choices[0].text]);
  });
  check("completions: echo puts the prompt in front", async () => {
    const plain = (await complete()).choices[0].text;
    assert.equal((await complete({ echo: true })).choices[0].text, prompt + plain);
    assert.deepEqual(await collect(await complete({ echo: true, stream: true })), [prompt + plain]);
  });
  check("completions: logprobs", async () => {
    const [{ text, logprobs }] = (await complete({ logprobs: 3 })).choices;
    assert.equal(logprobs.tokens.join(""), text);
    assert.equal(logprobs.token_logprobs.length, 24);
    assert.ok(logprobs.top_logprobs.every((top) => Object.keys(top).length <= 3 && Object.keys(top).length > 0));
    for (const [i, token] of logprobs.tokens.entries()) assert.ok(text.startsWith(token, logprobs.text_offset[i]), `offset of token ${i}`);
  });
  check("completions: logprobs with echo say where tokens stand in the whole text", async () => {
    const [{ text, logprobs }] = (await complete({ logprobs: 0, echo: true })).choices;
    for (const [i, token] of logprobs.tokens.entries()) assert.ok(text.startsWith(token, logprobs.text_offset[i]), `offset of token ${i}`);
  });
  check("completions: a stop string across tokens", async () => {
    const { tokens } = (await complete({ logprobs: 0 })).choices[0].logprobs;
    const { stop, before } = acrossTokens(tokens);
    const [choice] = (await complete({ stop: [stop] })).choices;
    assert.deepEqual([choice.text, choice.finish_reason], [before, "stop"]);
  });
  check("completions: n choices", async () => {
    const { choices } = await complete({ n: 2, max_tokens: 8 });
    assert.equal(choices[1].text, (await complete({ seed: 8, max_tokens: 8 })).choices[0].text);
    assert.deepEqual(await collect(await complete({ n: 2, max_tokens: 8, stream: true })), choices.map(({ text }) => text));
  });
  check("completions: a prompt of tokens", async () => {
    const { tokens } = await ask(base, "/tokenize", { content: prompt, add_special: true });
    assert.equal((await complete({ prompt: tokens })).choices[0].text, (await complete()).choices[0].text);
    assert.equal((await complete({ prompt: [prompt] })).choices[0].text, (await complete()).choices[0].text);
  });
  check("completions: every drafter gives the same text", async () => {
    const texts = [];
    for (const draft of ["none", "auto", "suffix", "asd"]) texts.push((await complete({ draft, max_tokens: 32 })).choices[0].text);
    assert.equal(new Set(texts).size, 1);
  });
  check("completions: what is not built is refused by name", async () => {
    for (const [param, value] of [["suffix", "end"], ["best_of", 2], ["prompt", ["a", "b"]]]) {
      await assert.rejects(complete({ [param]: value }), { status: 400, param });
    }
  });
}
