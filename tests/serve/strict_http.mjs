// The requests that bytes contain, as a server reads them that takes nothing but what RFC 9112 says they have to be. Where the RFC leaves a choice, it
// refuses: a bare LF that ends a line, a folded line of a header, a Content-Length that occurs twice. It is written from the RFC and not from the server, so that
// tests/serve/mutated_test.mjs compares two readers of the same bytes.

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const pchar = "[A-Za-z0-9\\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2}";
const originForm = new RegExp(`^/(?:${pchar})*(?:\\?(?:${pchar}|\\?)*)?$`);
const absoluteForm = new RegExp(`^http://([^/?#]*)(?:/(?:${pchar})*)?(?:\\?(?:${pchar}|\\?)*)?$`, "i");
const authority = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;
const extension = /^(?:[ \t]*;[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*=[ \t]*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t !-~\x80-\xff])*"))?)*$/;

class Refused extends Error {}
class Incomplete extends Error {}

/** Reads on from a place in a text of bytes (latin1). */
class Reader {
  /** `most`: bytes of a body. */
  constructor(text, most) {
    Object.assign(this, { text, most, at: 0 });
  }

  line() {
    const end = this.text.indexOf("\n", this.at);
    const here = this.text.slice(this.at, end < 0 ? undefined : end + 1);
    const ended = here.endsWith("\r\n") ? 2 : here.endsWith("\n") ? 1 : 0;
    const content = here.slice(0, here.length - ended);
    // The last CR of bytes that continue may be a line's end.
    if (/\r/.test(ended || !content.endsWith("\r") ? content : content.slice(0, -1))) throw new Refused("a CR inside of a line");
    if (ended === 1) throw new Refused("a bare LF");
    if (/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(content)) throw new Refused("a control character");
    if (ended === 0) throw new Incomplete();
    this.at = end + 1;
    return content;
  }

  bytes(count) {
    if (this.text.length < this.at + count) throw new Incomplete();
    this.at += count;
    return this.text.slice(this.at - count, this.at);
  }
}

/** `unfolds`: a folded line continues the field before it (RFC 9112, section 5.2, the other choice); `folded` says so of that field. */
function readFields(reader, unfolds = false) {
  const fields = [];
  for (;;) {
    const line = reader.line();
    if (line === "") return fields;
    if (/^[ \t]/.test(line)) {
      if (!unfolds || fields.length === 0) throw new Refused("a folded line");
      fields.at(-1).folded = true;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 0) throw new Refused("a field without a colon");
    const name = line.slice(0, colon);
    if (!token.test(name)) throw new Refused(`a field's name that is none: ${JSON.stringify(name)}`);
    fields.push({ name: name.toLowerCase(), value: line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "") });
  }
}

function readChunks(reader) {
  let body = "";
  for (;;) {
    const line = reader.line();
    const size = /^[0-9A-Fa-f]+/.exec(line)?.[0];
    if (size === undefined) throw new Refused("a chunk without a size");
    if (size.replace(/^0+/, "").length > 8) throw new Refused("a chunk that is larger than any body");
    if (!extension.test(line.slice(size.length))) throw new Refused("an extension of a chunk that is none");
    const length = parseInt(size, 16);
    if (length === 0) {
      return { body, trailers: readFields(reader, true) };
    }
    if (body.length + length > reader.most) throw new Refused("a body that is too large");
    body += reader.bytes(length);
    const end = reader.text.slice(reader.at, reader.at + 2);
    if (!"\r\n".startsWith(end)) throw new Refused("a chunk without an end");
    reader.bytes(2);
  }
}

function readBody(reader, version, fields) {
  const values = (name) => fields.filter((field) => field.name === name).map(({ value }) => value);
  const codings = values("transfer-encoding");
  const lengths = values("content-length");
  if (codings.length > 0) {
    if (version === "HTTP/1.0") throw new Refused("a transfer coding in HTTP/1.0");
    if (lengths.length > 0) throw new Refused("a length beside a transfer coding");
    if (codings.length > 1 || codings[0].toLowerCase() !== "chunked") throw new Refused("a transfer coding that is not chunked alone");
    return readChunks(reader);
  }
  if (lengths.length === 0) return { body: "", trailers: [] };
  if (lengths.length > 1 || !/^[0-9]+$/.test(lengths[0])) throw new Refused("a length that is none");
  if (Number(lengths[0]) > reader.most) throw new Refused("a body that is too large");
  return { body: reader.bytes(Number(lengths[0])), trailers: [] };
}

/** Why a request is refused whose end is known all the same, or undefined. */
function reasonToRefuse({ method, target, version, fields }) {
  const hosts = fields.filter(({ name }) => name === "host");
  if (hosts.length > 1 || (hosts.length === 0 && version !== "HTTP/1.0")) return "Host has to stand there once";
  if (hosts.length === 1 && !authority.test(hosts[0].value)) return "Host is no authority";
  const absolute = absoluteForm.exec(target);
  if (absolute ? !authority.test(absolute[1]) || absolute[1] === "" : !originForm.test(target)) return "the target has no form of this method's";
  const expect = fields.filter(({ name }) => name === "expect");
  if (expect.some(({ value }) => value.toLowerCase() !== "100-continue")) return "nobody knows this expectation";
  return method === "CONNECT" ? "no tunnels" : undefined;
}

function readRequest(reader) {
  const begin = reader.at;
  let blank = 0;
  for (; reader.text.startsWith("\r\n", reader.at); reader.at += 2) ++blank;
  if (reader.at === reader.text.length) return undefined;
  const parts = reader.line().split(" ");
  if (parts.length !== 3) throw new Refused("a request line has three parts");
  const [method, target, version] = parts;
  if (!token.test(method)) throw new Refused("a method that is none");
  if (target === "") throw new Refused("no target");
  if (!/^HTTP\/1\.[0-9]$/.test(version)) throw new Refused("a version that is none");
  const fields = readFields(reader);
  const request = { method, target, version, fields };
  request.refusal = reasonToRefuse(request);
  const { body, trailers } = readBody(reader, version, fields);
  request.body = body;
  // One blank line in front is to be ignored, of more the RFC says nothing; an unknown minor version is as the highest that one knows. A trailer
  // that would belong into the header is dropped or refused, and so is one that is folded: it does not move the end of the request.
  const framing = ["transfer-encoding", "content-length", "host"];
  request.choice = blank > 1 || !["HTTP/1.0", "HTTP/1.1"].includes(version) || trailers.some(({ name, folded }) => folded || framing.includes(name));
  request.bytes = reader.text.slice(begin, reader.at);
  const connection = fields.filter(({ name }) => name === "connection").flatMap(({ value }) => value.toLowerCase().split(",").map((one) => one.trim()));
  request.last = connection.includes("close") || (version === "HTTP/1.0" && !connection.includes("keep-alive"));
  return request;
}

/**
 * The requests of these bytes up to the first error: {requests, error, rest}. Of a request, `refusal` says why its answer has to be an error, `choice` that
 * it may be refused, `last` that the connection ends after it; `rest` are the bytes after the last one.
 */
export function readRequests(bytes, { most = 8 << 20 } = {}) {
  const reader = new Reader(Buffer.from(bytes).toString("latin1"), most);
  const requests = [];
  let begin = 0, error;
  try {
    while (reader.at < reader.text.length && !requests.at(-1)?.last) {
      const request = readRequest(reader);
      if (request === undefined) break;
      requests.push(request);
      begin = reader.at;
    }
  } catch (caught) {
    if (caught instanceof Refused) error = caught.message;
    else if (!(caught instanceof Incomplete)) throw caught;
  }
  return { requests, error, rest: reader.text.slice(begin) };
}
