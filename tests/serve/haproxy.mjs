// HAProxy with the configuration of examples/serving/haproxy.cfg, in front of servers of the tests.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { get, start, until } from "./harness.mjs";

const shown = join(dirname(fileURLToPath(import.meta.url)), "../../examples/serving/haproxy.cfg");

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts HAProxy in front of servers on these ports, two at most, and returns its address when it serves. `stdout`: where its log goes. */
export async function startHaproxy(haproxy, ports, stdout = "ignore") {
  const own = await freePort();
  let text = readFileSync(shown, "utf8").replace(":8000", `:${own}`).replace(":8081", `:${ports[0]}`);
  text = ports.length > 1 ? text.replace(":8082", `:${ports[1]}`) : text.replace(/^ *server two .*$/m, "");
  const config = join(mkdtempSync(join(tmpdir(), "skipstone-haproxy-")), "haproxy.cfg");
  writeFileSync(config, text);
  start(haproxy, ["-db", "-f", config], ["ignore", stdout, "inherit"]);
  const front = `http://127.0.0.1:${own}`;
  await until("HAProxy serves", () => get(front, "/health").then(({ status }) => status === 200, () => false), 20);
  return front;
}
