// messages_test.mjs PROGRAM MODEL: what of a conversation reaches the chat template, and in which order; what a template does not write is written
// in another way. No packages.
import assert from "node:assert/strict";
import { ask, assertError, check, get, post, run, startServer } from "./harness.mjs";
import { startParrot } from "./parrot.mjs";

const [program, model] = process.argv.slice(2);
if (!model) {
  console.error("usage: messages_test.mjs PROGRAM MODEL");
  process.exit(2);
}
// Shows everything that it is given.
const shows = `{% for m in messages %}{{ m.role }}:{{ m.content }}{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{% for c in m.tool_calls %}\
[{{ c.function.name }} {{ c.function.arguments|tojson }}]{% endfor %};{% endfor %}{% if tools %}{{ tools|tojson }}{% endif %}{% if documents %}{{ documents|tojson }}\
{% endif %}{% if enable_thinking is defined %}thinking={{ enable_thinking }}{% endif %}{% if add_generation_prompt %}<answer>{% endif %}`;
const { base } = await startServer(program, model, ["--chat-template", shows]);
const { base: plain } = await startServer(program, model, ["--chat-template", "plain"]);

const user = { role: "user", content: "U" };
const prompt = async (body, of = base) => (await ask(of, "/apply-template", body)).prompt;
const chat = (messages, more = {}) => prompt({ messages, ...more });
const answer = (input, more = {}) => ask(base, "/v1/responses", { input, max_output_tokens: 1, temperature: 0, ...more });

/** The tokens that the model reads of a chat with these messages, as many as of the input of a response. */
async function assertSameConversation(input, messages, more = {}) {
  const { usage } = await ask(base, "/v1/chat/completions", { messages, max_tokens: 1, temperature: 0 });
  assert.equal((await answer(input, more)).usage.input_tokens, usage.prompt_tokens);
}

check("keys stay in their order, and numbers keep their digits", async () => {
  const tool = '{"type": "function", "function": {"name": "book", "parameters": {"when": 1.0, "guests": 123456789012345678901234567890, "address": {"zip": "z", "city": "c"}}, "description": "B"}}';
  const call = '{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "book", "arguments": {"when": "19", "guests": 18446744073709551616}}}]}';
  const body = `{"messages": [{"role": "user", "content": "U"}, ${call}], "tools": [${tool}], "chat_template_kwargs": {"documents": [{"title": "T", "body": 2e2}]}}`;
  assert.equal(await prompt(body), `user:U;assistant:[book {"when": "19", "guests": 18446744073709551616}];[${tool}][{"title": "T", "body": 200.0}]<answer>`);
});
check("parts in every role, and answers without text", async () => {
  const content = [{ type: "text", text: "one, " }, { type: "text", text: "two" }];
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] };
  const result = { role: "tool", tool_call_id: "c", content };
  const roles = ["system", "user", "assistant"].map((role) => ({ role, content }));
  assert.equal(await chat([...roles, user, call, result]), "system:one, two;user:one, two;assistant:one, two;user:U;assistant:[f {}];tool:one, two;<answer>");
  for (const none of [{ role: "assistant" }, { role: "assistant", content: null }, { role: "assistant", content: null, tool_calls: [] }]) {
    assert.equal(await chat([user, none, user]), "user:U;assistant:;user:U;<answer>");
  }
});
check("fields of the template at the top of a request", async () => {
  assert.equal(await chat([user], { enable_thinking: false }), "user:U;thinking=False<answer>");
  assert.equal(await chat([user], { reasoning_effort: "none" }), "user:U;thinking=False<answer>");
  assert.equal(await chat([user], { add_generation_prompt: false }), "user:U;");
  const begun = [user, { role: "assistant", content: "It is BL" }];
  assert.equal(await chat(begun, { continue_final_message: true, add_generation_prompt: false }), "user:U;assistant:It is BL");
  const response = await post(base, "/v1/chat/completions", { messages: begun, continue_final_message: true, add_generation_prompt: true });
  assert.equal(response.status, 400);
  assertError(await response.json(), { param: "continue_final_message" });
  await assertSameConversation("U", [user]);
  const off = (await answer("U", { reasoning: { effort: "none" } })).usage.input_tokens;
  assert.equal(off, (await answer("U", { chat_template_kwargs: { enable_thinking: false } })).usage.input_tokens);
  assert.ok(off > (await answer("U")).usage.input_tokens);
});
check("the items of a turn are one message", async () => {
  const calls = ["1", "2"].map((id) => ({ type: "function_call", call_id: id, name: "add", arguments: `{"x": ${id}}` }));
  const input = [
    user,
    { type: "reasoning", id: "r", summary: [], content: [{ type: "reasoning_text", text: "Two sums are needed here." }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "I add.", annotations: [] }] },
    ...calls,
    { type: "function_call_output", call_id: "1", output: "3" },
    { type: "function_call_output", call_id: "2", output: [{ type: "input_text", text: "4" }] },
  ];
  const tool_calls = calls.map(({ call_id, name, arguments: given }) => ({ id: call_id, type: "function", function: { name, arguments: given } }));
  const messages = [
    user,
    { role: "assistant", content: "I add.", reasoning_content: "Two sums are needed here.", tool_calls },
    { role: "tool", tool_call_id: "1", content: "3" },
    { role: "tool", tool_call_id: "2", content: "4" },
  ];
  assert.match(await chat(messages), /^user:U;assistant:I add\.\(Two sums are needed here\.\)\[add \{"x": 1\}\]\[add \{"x": 2\}\];tool:3;tool:4;/);
  await assertSameConversation(input, messages);
  await assertSameConversation([{ role: "developer", content: "Rule two." }, user], [{ role: "system", content: "Rule one." }, { role: "developer", content: "Rule two." }, user], {
    instructions: "Rule one.",
  });
});
check("tools of other types are left out, unknown items are named", async () => {
  const save = { type: "function", name: "save", parameters: { type: "object", properties: {} } };
  const tools = [save, { type: "web_search" }, { type: "custom", name: "patch" }, { type: "local_shell" }, { type: "namespace", name: "x", tools: [] }];
  const whole = await answer("U", { tools });
  assert.equal(whole.skipstone.notes.length, 4);
  assert.equal(whole.usage.input_tokens, (await answer("U", { tools: [save] })).usage.input_tokens);
  assert.deepEqual(whole.tools, tools);
  for (const type of ["custom_tool_call", "custom_tool_call_output", "web_search_call"]) {
    const response = await post(base, "/v1/responses", { input: [user, { type, call_id: "x" }] });
    assert.equal(response.status, 400);
    assertError(await response.json(), { param: "input", message: new RegExp(`input\\[1\\]\\.type: is '${type}'`) });
  }
});
check("errors name the place in the client's request", async () => {
  const f = { type: "function", name: "f" }, call = (given) => ({ type: "function_call", call_id: "c", name: "f", arguments: given });
  const thought = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
  for (const [path, body, param, place] of [
    ["/v1/responses", { input: [user, thought, call("{}"), call("{")] }, "input", "input[3].arguments: "],
    ["/v1/responses", { instructions: "I", input: [user, call("[]"), user] }, "input", "input[1].arguments: "],
    ["/v1/responses", { input: [user, call(5)] }, "input", "input[1].arguments: "],
    ["/v1/responses", { input: "U", tools: [{ type: "web_search" }, f, { type: "custom", name: "p" }, { type: "function" }] }, "tools", "tools[3].name: "],
    ["/v1/responses", { input: "U", tools: [{ type: "web_search" }, { ...f, parameters: 5 }] }, "tools", "tools[1].parameters: "],
    ["/v1/responses", { input: "U", tools: [f, { type: "web_search" }, 5] }, "tools", "tools[2]: "],
    ["/v1/responses", { input: "U", chat_template_kwargs: { tools: [] } }, "chat_template_kwargs", "chat_template_kwargs.tools: "],
    ["/v1/chat/completions", { messages: [user], chat_template_kwargs: { add_generation_prompt: 5 } }, "chat_template_kwargs", "chat_template_kwargs.add_generation_prompt: "],
    ["/v1/chat/completions", { messages: [user], tools: [{ type: "function", function: { name: "f" } }, { type: "web_search" }] }, "tools", "tools[1]: "],
    ["/v1/chat/completions", { messages: [user, { role: "user", content: 5 }] }, "messages", "messages[1].content: "],
    ["/apply-template", { messages: [user], tools: [{ type: "function", function: { name: "f", parameters: 5 } }] }, "tools", "tools[0].function.parameters: "],
  ]) {
    const response = await post(base, path, body);
    const document = await response.json();
    assert.equal(response.status, 400, JSON.stringify(document));
    assertError(document, { param });
    assert.ok(document.error.message.startsWith(place), document.error.message);
  }
  for (const [body, place] of [
    [{ messages: [user], tools: [{ type: "bash_20250124", name: "bash" }, { name: "f", input_schema: 5 }] }, "'tools[1].input_schema'"],
    [{ messages: [user, { role: "assistant", content: [{ type: "text", text: "x" }, { type: "tool_use", id: "c", name: "f", input: "{}" }] }] }, "'messages[1].content[1].input'"],
    [{ messages: [user, { role: "user", content: [{ type: "text", text: 5 }] }] }, "'messages[1].content[0].text'"],
    [{ messages: [user], chat_template_kwargs: { messages: [] } }, "chat_template_kwargs.messages: "],
  ]) {
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      const { error } = await (await post(base, path, body)).json();
      assert.equal(error.type, "invalid_request_error");
      assert.ok(error.message.startsWith(place), error.message);
    }
  }
});
check("blocks of Anthropic's API are lines, and a failed call's result says so", async () => {
  const count = async (messages, more = {}) => (await ask(base, "/v1/messages/count_tokens", { messages, ...more })).input_tokens;
  const blocks = (...texts) => texts.map((text) => ({ type: "text", text }));
  const whole = (content) => [{ role: "user", content }];
  assert.equal(await count(whole(blocks("one", "two"))), await count(whole("one\ntwo")));
  assert.equal(await count([...whole("one"), ...whole("two")]), await count(whole("one\ntwo")));
  assert.equal(await count(whole("U"), { system: blocks("one", "two") }), await count(whole("U"), { system: "one\ntwo" }));
  const document = { type: "document", title: "Title", source: { type: "text", media_type: "text/plain", data: "Words." } };
  assert.equal(await count(whole([document, ...blocks("Q?")])), await count(whole("Title\nWords.\nQ?")));
  const result = (more) => [
    user, { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c", ...more }] },
  ];
  assert.equal(await count(result({ content: "no such file", is_error: true })), await count(result({ content: "Error: no such file" })));
  assert.equal(await count(result({ content: blocks("no", "file"), is_error: true })), await count(result({ content: "Error: no\nfile" })));
  assert.notEqual(await count(result({ content: "no such file" })), await count(result({ content: "Error: no such file" })));
});
check("tools in words for a template that writes none", async () => {
  const tools = [{ type: "function", function: { name: "save", parameters: { type: "object" } } }];
  const text = await prompt({ messages: [user], tools }, plain);
  assert.match(text, /<tools>\n\{"type": "function", "function": \{"name": "save", "parameters": \{"type": "object"\}\}\}\n<\/tools>/);
  assert.equal(JSON.parse((await get(plain, "/props")).text).tool_form, "generic");
  assert.equal(JSON.parse((await get(base, "/props")).text).tool_form, "template");
});
check("a template that does not compile stops chats alone", async () => {
  const broken = await startParrot(program, { answers: ["Hello."], template: "{{ bos_token }}\n{{ messages" });
  await ask(broken.base, "/v1/completions", { prompt: "<|im_start|>", max_tokens: 1 });
  for (const [path, body] of [["/v1/chat/completions", { messages: [user] }], ["/v1/responses", { input: "U" }], ["/v1/messages", { messages: [user] }]]) {
    const response = await post(broken.base, path, body);
    assert.equal(response.status, 400, path);
    assert.match((await response.json()).error.message, /line 2/, path);
  }
  assert.equal((await broken.stop()).code, 0);
});
await run();
