// clients_test.mjs BASE_URL: a server as the clients of OpenAI and Anthropic, the AI SDK and LangChain see it. Packages: SKIPSTONE_NODE_MODULES. With
// SKIPSTONE_KEYED_URL and SKIPSTONE_KEY, a second server that wants a key is asked too.
import { run } from "./harness.mjs";
import { addAiSdk } from "./client_ai_sdk.mjs";
import { addAnthropic } from "./client_anthropic.mjs";
import { addCompletions } from "./client_completions.mjs";
import { addLangChain } from "./client_langchain.mjs";
import { addOpenAI } from "./client_openai.mjs";
import { addResponses } from "./client_responses.mjs";

const base = process.argv[2];
if (!base) {
  console.error("usage: clients_test.mjs BASE_URL");
  process.exit(2);
}
await addOpenAI(base);
await addCompletions(base);
await addResponses(base);
await addAnthropic(base);
await addAiSdk(base);
await addLangChain(base);
await run();
