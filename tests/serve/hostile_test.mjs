// hostile_test.mjs PROGRAM MODEL: clients who mean harm, each alone. Memory that is taken without a key or not given back, work that continues for clients that have
// gone, places that silent ones hold, requests hidden in others, names that are made to lead here, ends that crash. siege_test.mjs does all of it at once.
// Open files: more than 4,200 for this process and for the server.
import { startServer, run } from "./harness.mjs";
import { addEnds } from "./hostile_end.mjs";
import { addGone } from "./hostile_gone.mjs";
import { addHttp } from "./hostile_http.mjs";
import { addMemory } from "./hostile_memory.mjs";

const [program, model] = process.argv.slice(2);
if (!model) {
  console.error("usage: hostile_test.mjs PROGRAM MODEL");
  process.exit(2);
}
const [server, keyed, single, queued] = await Promise.all([
  startServer(program, model),
  startServer(program, model, ["--api-key", "sesame"]),
  startServer(program, model, ["--parallel", "1", "--queue", "0"]),
  startServer(program, model, ["--parallel", "1", "--queue", "8"]),
]);
addHttp(server.base, keyed.base);
addMemory(server, keyed, single);
addGone(server, single, queued);
addEnds(program, model, server);
await run({ seconds: 60 });
