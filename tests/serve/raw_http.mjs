// HTTP byte by byte: what no client library would send.
import { connect } from "node:net";

/** A connection that keeps what comes. `slow`: nothing is read before resume(). */
export class Raw {
  constructor(base, { slow = false } = {}) {
    const { hostname, port } = new URL(base);
    this.bytes = Buffer.alloc(0);
    this.closed = false;
    this.socket = connect({ host: hostname, port: Number(port) });
    this.socket.on("error", (error) => {
      this.error = error;
    });
    this.gone = new Promise((resolve) => this.socket.on("close", resolve)).then(() => {
      this.closed = true;
    });
    this.open = new Promise((resolve) => this.socket.on("connect", resolve));
    if (slow) return;
    this.resume();
  }

  resume() {
    this.socket.on("data", (data) => {
      this.bytes = Buffer.concat([this.bytes, data]);
      this.changed?.();
    });
  }

  /** Writes; strings are bytes (latin1). What a connection that the server has closed does not take is dropped. */
  send(bytes) {
    if (!this.closed) this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    return this;
  }

  /** The next answer, or undefined where the connection ends without one. `bodiless`: the answer to HEAD. */
  async answer({ bodiless = false } = {}) {
    for (;;) {
      const found = parse(this.bytes, this.closed, bodiless);
      if (found) {
        this.bytes = this.bytes.subarray(found.length);
        return found;
      }
      if (this.closed) return undefined;
      await Promise.race([this.gone, new Promise((resolve) => (this.changed = resolve))]);
    }
  }

  end() {
    this.socket.destroy();
  }
}

function parse(bytes, closed, bodiless) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]));
  const answer = { version: first.split(" ")[0], status: Number(first.split(" ")[1]), headers };
  const rest = bytes.subarray(end + 4);
  const done = (body, length) => ({ ...answer, text: body.toString(), json: () => JSON.parse(body.toString()), length: end + 4 + length });
  if (bodiless || answer.status === 204 || answer.status < 200) return done(Buffer.alloc(0), 0);
  if (headers["transfer-encoding"] === "chunked") {
    const chunks = unchunked(rest);
    return chunks && done(chunks.body, chunks.length);
  }
  if (headers["content-length"] !== undefined) {
    const length = Number(headers["content-length"]);
    return rest.length >= length ? done(rest.subarray(0, length), length) : undefined;
  }
  return closed ? done(rest, rest.length) : undefined;
}

function unchunked(bytes) {
  const pieces = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    if (end < 0) return undefined;
    const size = parseInt(bytes.subarray(at, end).toString(), 16);
    if (bytes.length < end + 2 + size + 2) return undefined;
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
    if (size === 0) return { body: Buffer.concat(pieces), length: at };
  }
}

/** Sends `bytes` and returns the first answer. */
export async function exchange(base, bytes, options) {
  const raw = new Raw(base);
  const answer = await raw.send(bytes).answer(options);
  raw.end();
  return answer;
}

/** A request without a body; `headers`: whole lines. */
export const request = (line, headers = "Host: localhost\r\n") => `${line}\r\n${headers}\r\n`;

/** A POST with this body as it is. */
export function posted(path, body, headers = "") {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}
