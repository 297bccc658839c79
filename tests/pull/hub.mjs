// A hub of models on 127.0.0.1, with a second host that has the bytes, as the real one has. What goes wrong is a function of each request.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

export const commit = "0123456789abcdef0123456789abcdef01234567";
export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
export const gitBlob = (bytes) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

async function listen(answer) {
  const server = createServer((request, response) => {
    Promise.resolve(answer(request, response)).catch((error) => {
      response.destroy(error);
    });
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}
const address = (server) => `http://127.0.0.1:${server.address().port}`;

function send(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Length": Buffer.byteLength(body), ...headers });
  response.end(body);
}

/** Sends the bytes that the request asks for, but no further than `end`: then the connection breaks off. */
export function sendRange(request, response, bytes, { end = bytes.length, ranges = true } = {}) {
  const from = ranges ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0) : 0;
  if (from >= bytes.length && from > 0) return send(response, 416, "", { "Content-Range": `bytes */${bytes.length}` });
  const headers = { "Content-Length": bytes.length - from };
  if (ranges && request.headers.range) headers["Content-Range"] = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
  response.writeHead(headers["Content-Range"] ? 206 : 200, headers);
  if (request.method === "HEAD") return response.end();
  if (end >= bytes.length) return response.end(bytes.subarray(from));
  return response.write(bytes.subarray(from, Math.max(from, end)), () => response.socket.destroy());
}

/**
 * `files`: bytes by path. `onHub(request, response)` and `onBytes(request, response, bytes)` answer in the place of the usual way where they
 * return true. `listed(entry, bytes)` changes what the list says of a file.
 */
export async function startHub({ files, repository = "owner/name", onHub = () => false, onBytes = () => false, listed = (entry) => entry }) {
  const seen = [];
  const note = (host, request) => seen.push({ host, method: request.method, url: request.url, range: request.headers.range, authorization: request.headers.authorization });
  const storage = await listen(async (request, response) => {
    note("storage", request);
    const bytes = files[decodeURIComponent(new URL(request.url, "http://x").searchParams.get("file"))];
    if (await onBytes(request, response, bytes)) return;
    sendRange(request, response, bytes);
  });
  const hub = await listen(async (request, response) => {
    note("hub", request);
    if (await onHub(request, response)) return;
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
    if (path === `/api/models/${repository}/revision/main`) {
      const siblings = Object.entries(files).map(([rfilename, bytes]) =>
        listed({ rfilename, size: bytes.length, blobId: gitBlob(Buffer.from("pointer")), lfs: { sha256: sha256(bytes), size: bytes.length } }, bytes));
      send(response, 200, JSON.stringify({ id: repository, sha: commit, siblings }), { "Content-Type": "application/json" });
      return;
    }
    const prefix = `/${repository}/resolve/${commit}/`;
    const name = path.startsWith(prefix) ? path.slice(prefix.length) : undefined;
    if (name === undefined || files[name] === undefined) {
      send(response, 404, JSON.stringify({ error: "Repository not found" }), { "X-Error-Message": "Repository not found" });
      return;
    }
    send(response, 302, "", {
      "X-Linked-ETag": `"${sha256(files[name])}"`,
      "X-Linked-Size": files[name].length,
      Location: `${address(storage)}/?file=${encodeURIComponent(encodeURIComponent(name))}&signature=x`,
    });
  });
  return {
    address: address(hub),
    seen,
    close: () => [hub, storage].forEach((server) => {
      server.closeAllConnections?.();
      server.close();
    }),
  };
}
