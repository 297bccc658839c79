// What the clients say in the tests, in the form of chat completions.
export const question = [
  { role: "system", content: "You continue Python programs." },
  { role: "user", content: "def binary_search(items, target):\n    low, high = 0, len(items)\n" },
];

export const weather = {
  name: "get_weather",
  description: "The weather in a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

/** A call of the tool and its result, between two questions. */
export const afterCall = [
  { role: "user", content: "What is the weather in Bern?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_0000001", type: "function", function: { name: "get_weather", arguments: '{"city":"Bern"}' } }],
  },
  { role: "tool", tool_call_id: "call_0000001", content: '{"degrees": 7}' },
];

/** Two letters before and after the place where token `index` of `tokens` begins: a stop string that spans two tokens. */
export function acrossTokens(tokens, from = 6) {
  for (let i = from; i + 1 < tokens.length; ++i) {
    const stop = tokens[i].slice(-2) + tokens[i + 1].slice(0, 2);
    const text = tokens.join("");
    const place = tokens.slice(0, i).join("").length + tokens[i].length - tokens[i].slice(-2).length;
    if (tokens[i].length > 1 && tokens[i + 1].length > 1 && text.indexOf(stop) === place) return { stop, before: text.slice(0, place) };
  }
  throw new Error("no two tokens have a seam that stands nowhere before");
}
