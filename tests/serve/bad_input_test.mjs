// bad_input_test.mjs BASE_URL: what clients get wrong, and what they do on purpose. Every case has OpenAI's form of an error with the right status
// where an answer is possible; the next request is served each time; memory does not grow with them (SKIPSTONE_SERVER_PID). No packages. With
// SKIPSTONE_KEYED_URL and SKIPSTONE_KEY, a second server that wants a key is asked too. The server has to allow 1200 open files.
import assert from "node:assert/strict";
import { addClients } from "./bad_clients.mjs";
import { addFields } from "./bad_fields.mjs";
import { addProtocol } from "./bad_protocol.mjs";
import { ask, check, free, post, residentMemory, run } from "./harness.mjs";

const base = process.argv[2];
if (!base) {
  console.error("usage: bad_input_test.mjs BASE_URL");
  process.exit(2);
}
const pid = process.env.SKIPSTONE_SERVER_PID;

/** Checks that end with a request that is answered. */
function checkServed(name, work) {
  check(name, async () => {
    const said = await work();
    const { choices } = await ask(base, "/v1/completions", { prompt: "def f(x):", max_tokens: 2, seed: 1 });
    assert.equal(choices.length, 1);
    return said;
  });
}

/** Large requests that are refused, several at a time. */
async function badRound() {
  const long = "word ".repeat(100000);
  const messages = Array.from({ length: 10000 }, () => ({ role: "user", content: "x" }));
  const requests = [
    ["/v1/chat/completions", `{"messages":${"[".repeat(4000000)}`],
    ["/v1/completions", { prompt: long }],
    ["/v1/chat/completions", { messages }],
    ["/v1/chat/completions", { messages: [{ role: "user", content: long }] }],
    ["/v1/completions", "x".repeat(7 << 20)],
  ];
  for (let i = 0; i < 3; ++i) {
    const answers = await Promise.all(requests.map(([path, body]) => post(base, path, body).then((response) => response.text().then(() => response))));
    for (const { status } of answers) assert.equal(status, 400);
  }
}

addFields(base, checkServed);
addProtocol(base, checkServed);
addClients(base, checkServed);
check("after all of it nothing is in work", async () => {
  await free(base);
});
if (pid) {
  check("memory does not grow with every bad request", async () => {
    for (let round = 0; round < 4; ++round) await badRound(); // the allocator keeps what they took at their largest
    const begin = residentMemory(pid);
    for (let round = 0; round < 4; ++round) await badRound();
    const end = residentMemory(pid);
    assert.ok(end < begin + 64, `from ${begin.toFixed(0)} to ${end.toFixed(0)} MiB`);
    return `from ${begin.toFixed(0)} to ${end.toFixed(0)} MiB`;
  });
}
await run();
