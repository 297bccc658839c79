// tests/pull/run: models by name, from a hub that redirects, refuses, breaks off and lies. A file is right or absent.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { check, run, sleep, until, within } from "../serve/harness.mjs";
import { commit, gitBlob, sendRange, sha256, startHub } from "./hub.mjs";

const [, , program, scratch] = process.argv;
const bundled = join(dirname(fileURLToPath(import.meta.url)), "../../models/skipstone-py.gguf");
const model = randomBytes(3_000_000);
const usual = "m-Q4_K_M.gguf";

/** Runs the program; `began(child)` sees it on its way. `shell`: commands before it. */
function start(args, { env = {}, shell = "", began = () => {} } = {}) {
  const command = shell ? ["bash", "-c", `${shell} exec "$@"`, "bash", program, ...args] : [program, ...args];
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  const result = { code: null, signal: null, out: "", err: "" };
  child.stdout.on("data", (data) => (result.out += data));
  child.stderr.on("data", (data) => (result.err += data));
  began(child, result);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ ...result, code, signal }));
  });
}

/** A hub and an empty cache, for one check. */
async function withHub(options, work) {
  const hub = await startHub({ files: { [usual]: model }, ...options });
  const root = mkdtempSync(join(scratch, "cache-"));
  const cache = join(root, "models--owner--name");
  const use = {
    hub,
    root,
    cache,
    blob: (bytes) => join(cache, "blobs", sha256(bytes)),
    snapshot: (name) => join(cache, "snapshots", commit, name),
    pull: (name = "owner/name", more = {}) => start(["pull", name, "--hub", hub.address], { ...more, env: { HF_HUB_CACHE: root, ...more.env } }),
    run: (args, more = {}) => start(args, { ...more, env: { HF_HUB_CACHE: root, HF_ENDPOINT: hub.address, ...more.env } }),
    fetches: () => hub.seen.filter(({ host }) => host === "storage"),
  };
  try {
    return await work(use);
  } finally {
    hub.close();
  }
}

function assertRight(use, result, name = usual, bytes = model) {
  assert.equal(result.code, 0, result.err);
  assert.equal(result.out, `${use.snapshot(name)}\n`);
  assert.ok(readFileSync(use.snapshot(name)).equals(bytes), "the bytes are those of the hub");
  assert.ok(lstatSync(use.snapshot(name)).isSymbolicLink());
  assert.equal(readFileSync(join(use.cache, "refs/main"), "utf8"), commit);
  assert.ok(!readdirSync(join(use.cache, "blobs")).some((file) => file.endsWith(".incomplete")));
}

/** One sentence, this exit code, and nothing under a final name. */
function assertRefused(use, result, code, says) {
  assert.equal(result.code, code, `${result.out}${result.err}`);
  assert.equal(result.out, "");
  assert.match(result.err, says);
  assert.equal(result.err.split("\n").filter((line) => line.startsWith("error:")).length, 1, result.err);
  assert.ok(!existsSync(use.blob(model)) && !existsSync(use.snapshot(usual)), "no file has its final name");
}

check("a file is fetched once, into the hub's own cache", () => withHub({}, async (use) => {
  assertRight(use, await use.pull());
  assert.equal(readlinkSync(use.snapshot(usual)), `../../blobs/${sha256(model)}`);
  assertRight(use, await use.pull("hf:owner/name:q4_k_m"));
  assert.equal(use.fetches().length, 1);
}));

check("the token is the hub's alone", () => withHub({}, async (use) => {
  assertRight(use, await use.pull("owner/name", { env: { HF_TOKEN: " hf_secret\n" } }));
  for (const { host, authorization } of use.hub.seen) assert.equal(authorization, host === "hub" ? "Bearer hf_secret" : undefined);
  assertRight(use, await use.pull());
  assert.equal(use.hub.seen.at(-1).authorization, undefined);
  assert.equal((await use.pull("owner/name", { env: { HF_TOKEN: "a\nX-Header: b" } })).code, 2);
}));

check("QUANT chooses", async () => {
  const names = ["m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf", "m-IQ4_XS.gguf", "m-q8_0.gguf", "mmproj-m-Q8_0.gguf", "sub dir/M.Q5_K.gguf", "README.md"];
  const files = Object.fromEntries(names.map((name) => [name, Buffer.from(`bytes of ${name}`)]));
  await withHub({ files }, async (use) => {
    assertRefused(use, await use.pull("owner/name:Q4_K"), 3, /no file 'Q4_K'; it has .*m-q8_0\.gguf/i);
    for (const [quant, name] of [["", names[0]], [":Q8_0", names[3]], [":q5_k", names[5]], [":UD-Q4_K_M", names[1]], [":m-IQ4_XS.gguf", names[2]]]) {
      assertRight(use, await use.pull(`owner/name${quant}`), name, files[name]);
    }
  });
  await withHub({ files: { "a-Q8_0.gguf": model, "a-Q6_K.gguf": model } }, async (use) => {
    assertRefused(use, await use.pull("owner/name:Q5_K_M"), 3, /a-Q8_0\.gguf/);
    assertRight(use, await use.pull(), "a-Q6_K.gguf");
  });
  await withHub({ files: { "a-Q8_0.gguf": model } }, async (use) => assertRight(use, await use.pull(), "a-Q8_0.gguf"));
  await withHub({ files: { "config.json": model } }, async (use) => assertRefused(use, await use.pull(), 3, /no GGUF file/));
});

check("all parts of a split file", async () => {
  const part = (i) => `big/m-Q4_K_M-0000${i}-of-00003.gguf`;
  const files = Object.fromEntries([1, 2, 3].map((i) => [part(i), randomBytes(1000 * i)]));
  await withHub({ files }, async (use) => {
    assertRight(use, await use.pull(), part(1), files[part(1)]);
    for (const i of [2, 3]) assert.ok(readFileSync(use.snapshot(part(i))).equals(files[part(i)]));
  });
  delete files[part(2)];
  await withHub({ files }, async (use) => assertRefused(use, await use.pull(), 3, /2 of the 3 parts/));
});

check("a connection that ends at every tenth", () => {
  let connections = 0;
  const onBytes = (request, response, bytes) => {
    ++connections;
    sendRange(request, response, bytes, { end: Math.ceil((bytes.length * connections) / 10) });
    return true;
  };
  return withHub({ onBytes }, async (use) => {
    assertRight(use, await use.pull());
    assert.ok(connections >= 10, `${connections} connections`);
    const begins = use.fetches().map(({ range }) => Number(/\d+/.exec(range ?? "0")[0]));
    assert.deepEqual(begins, [...begins].sort((a, b) => a - b), "each continues where one before it ended");
    assert.ok(begins.at(-1) >= model.length * 0.85, `${begins}`);
  });
});

check("a host without ranges is begun anew", () => {
  let connections = 0;
  return withHub({
    onBytes: (request, response, bytes) => {
      sendRange(request, response, bytes, { ranges: false, end: ++connections === 1 ? 1_000_000 : undefined });
      return true;
    },
  }, async (use) => {
    assertRight(use, await use.pull());
    assert.equal(connections, 2);
  });
});

check("a connection without progress is given up", () => withHub({
  onBytes: (request) => {
    request.socket.destroy();
    return true;
  },
}, async (use) => assertRefused(use, await use.pull(), 1, /breaks off again and again/)));

/** Writes `piece` until the other end closes; returns the bytes that were taken. */
async function endlessly(stream, piece) {
  let bytes = 0;
  const closed = new Promise((resolve) => {
    stream.on("close", resolve);
    stream.on("error", resolve);
  });
  for (let open = true; open;) {
    if (stream.destroyed) break;
    bytes += piece.length;
    if (stream.write(piece)) {
      await sleep(0);
      continue;
    }
    open = await Promise.race([closed.then(() => false), new Promise((resolve) => {
      stream.once("drain", () => resolve(true));
    })]);
  }
  return bytes;
}

check("a hub that does not end has an end", async () => {
  let taken = 0;
  const endless = (status, headers, piece) => async (request, response) => {
    response.writeHead(status, headers);
    taken = await endlessly(response, piece);
    return true;
  };
  const raw = (begin, piece) => async ({ socket }) => {
    socket.write(begin);
    taken = await endlessly(socket, piece);
    return true;
  };
  const page = "x".repeat(1 << 16);
  const line = `X-Line: ${"y".repeat(1000)}\r\n`;
  for (const [where, answer, code, says] of [
    ["onHub", endless(404, {}, page), 3, /no model owner\/name/],
    ["onHub", endless(302, { Location: "/again" }, page), 1, /status 302|more than 10 times/],
    ["onHub", endless(200, {}, `{"siblings": [${"[],".repeat(20000)}`), 1, /more files than any model/],
    ["onHub", raw("HTTP/1.1 200 OK\r\n", line), 1, /headers of its answer have no end/],
    ["onHub", raw("", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)), 1, /headers of its answer have no end/],
    ["onBytes", endless(404, {}, page), 3, /no model owner\/name/],
    ["onBytes", endless(200, {}, page), 1, /sends more/],
  ]) {
    await withHub({ [where]: answer }, async (use) => assertRefused(use, await within(20, () => use.pull(), `${says}`), code, says));
    assert.ok(taken > 0 && taken < 128 << 20, `${says}: ${taken} bytes`); // much of it in the system's buffers
  }
  await withHub({ onHub: (request, response) => {
    response.writeHead(200);
    response.end("[".repeat(1_000_000));
    return true;
  } }, async (use) => assertRefused(use, await use.pull(), 1, /cannot be read/));
});

check("connections that bring next to nothing are given up", async () => {
  let connections = 0;
  await withHub({
    onBytes: (request, response, bytes) => {
      sendRange(request, response, bytes, { end: 100 * ++connections });
      return true;
    },
  }, async (use) => assertRefused(use, await use.pull(), 1, /breaks off again and again/));
  assert.equal(connections, 4);
  await withHub({
    onBytes: (request, response, bytes) => { // as much as ever, and then nothing of it
      if (request.headers.range) {
        response.writeHead(416);
        response.end();
      } else {
        sendRange(request, response, bytes, { end: 1_000_000 });
      }
      return true;
    },
  }, async (use) => {
    assertRefused(use, await use.pull(), 1, /breaks off|status 416/);
    assert.ok(use.fetches().length <= 12, `${use.fetches().length}`);
  });
});

if (process.env.SKIPSTONE_FULL_TESTS) {
  check("bytes that drip are given up", async () => { // half a minute for each
    const drip = async (request, response) => {
      response.writeHead(200);
      while (!response.destroyed) {
        response.write(" ");
        await sleep(500);
      }
      return true;
    };
    await withHub({ onHub: drip }, async (use) => assertRefused(use, await use.pull(), 1, /does not answer: Timeout/));
    await withHub({ onBytes: drip }, async (use) => assertRefused(use, await use.pull(), 1, /sends more|breaks off again and again/));
  });
}

check("a token is shown to no network without a word", async () => {
  const env = { HF_TOKEN: "hf_secret", HF_HUB_CACHE: join(scratch, "none"), http_proxy: "http://127.0.0.1:1", no_proxy: "" };
  const warning = /warning: the token in HF_TOKEN goes to http:\/\/hub\.example:80 without encryption/;
  assert.match((await start(["pull", "owner/name", "--hub", "http://hub.example"], { env })).err, warning);
  assert.doesNotMatch((await start(["pull", "owner/name", "--hub", "http://hub.example"], { env: { ...env, HF_TOKEN: "" } })).err, /warning/);
  for (const local of ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"]) {
    assert.doesNotMatch((await start(["pull", "owner/name", "--hub", local], { env })).err, /warning/, local);
  }
  assert.match((await start(["pull", "owner/name", "--hub", "http://127.0.0.1.example"], { env })).err, /warning/);
});

check("what the hub refuses is said", async () => {
  const answer = (status, headers = {}, body = "{}") => ({
    onHub: (request, response) => {
      response.writeHead(status, headers);
      response.end(body);
      return true;
    },
  });
  const refused = (options, code, says, env = {}) => withHub(options, async (use) => assertRefused(use, await use.pull("owner/name", { env }), code, says));
  await refused(answer(401), 3, /HF_TOKEN may show it/);
  await refused(answer(401, {}, '{"error": "Invalid\\u001b[2Jtoken"}'), 3, /Invalid\\u\{1b\}\[2Jtoken/, { HF_TOKEN: "hf_x" });
  await refused(answer(403, {}, '{"error": "gated"}'), 3, /\(gated\); access/);
  await refused(answer(404), 3, /no model owner\/name/);
  await refused(answer(429, { "Retry-After": "4000" }), 1, /wait 4000 seconds/);
  await refused(answer(200, {}, "<html>"), 1, /cannot be read/);
  await refused(answer(200, {}, '{"sha": "../../x", "siblings": []}'), 1, /names no commit/);
  await refused(answer(200, {}, `{"sha": "${commit}", "siblings": [{"rfilename": "../../evil-Q4_K_M.gguf"}, {"rfilename": "/x.gguf"}, 7]}`), 3, /no GGUF file/);
  await refused(answer(302, { Location: "file:///etc/passwd" }), 1, /not followed/);
  await refused(answer(302, { Location: "/again" }), 1, /more than 10 times/);
});

check("429 with Retry-After, 500 and a signature that expired are tried again", async () => {
  const once = (status, headers = {}) => {
    let first = true;
    return (request, response) => {
      if (!first) return false;
      first = false;
      response.writeHead(status, headers);
      response.end();
      return true;
    };
  };
  const begin = Date.now();
  await withHub({ onHub: once(429, { "Retry-After": "2" }) }, async (use) => assertRight(use, await use.pull()));
  assert.ok(Date.now() - begin >= 2000, "it waits as long as it is told");
  await withHub({ onHub: once(503), onBytes: once(429, { "Retry-After": "1" }) }, async (use) => assertRight(use, await use.pull()));
  await withHub({ onBytes: once(403) }, async (use) => assertRight(use, await use.pull()));
});

check("bytes with another checksum are not kept", async () => {
  const other = Buffer.from(model);
  other[1_234_567] ^= 1;
  await withHub({
    onBytes: (request, response) => {
      sendRange(request, response, other);
      return true;
    },
  }, async (use) => {
    assertRefused(use, await use.pull(), 1, /another checksum/);
    assert.deepEqual(readdirSync(join(use.cache, "blobs")), []);
  });
  await withHub({
    onBytes: (request, response) => {
      response.writeHead(200);
      response.end(Buffer.concat([model, model]));
      return true;
    },
  }, async (use) => assertRefused(use, await use.pull(), 1, /sends more/));
  await withHub({}, async (use) => {
    mkdirSync(join(use.cache, "blobs"), { recursive: true });
    for (const damaged of [other.subarray(0, 2_000_000), Buffer.concat([other, other]), other]) {
      writeFileSync(`${use.blob(model)}.incomplete`, damaged);
      assertRight(use, await use.pull());
      rmSync(use.blob(model));
    }
  });
});

check("two pulls of one file at once fetch it once", () => withHub({
  onBytes: async (request, response, bytes) => {
    response.writeHead(200, { "Content-Length": bytes.length });
    response.write(bytes.subarray(0, 1_000_000));
    await sleep(1500);
    response.end(bytes.subarray(1_000_000));
    return true;
  },
}, async (use) => {
  for (const result of await Promise.all([use.pull(), use.pull(), use.pull()])) assertRight(use, result);
  assert.equal(use.fetches().length, 1);
}));

check("a disk that is full, and then is not", () => withHub({}, async (use) => {
  assertRefused(use, await use.pull("owner/name", { shell: "trap '' XFSZ; ulimit -f 1500;" }), 1, /cannot be written: .* of 2\.86 MiB are there/);
  const kept = statSync(`${use.blob(model)}.incomplete`).size;
  assert.ok(kept > 1_000_000 && kept <= 1500 * 1024, `${kept}`);
  assertRight(use, await use.pull());
  assert.equal(use.fetches().at(-1).range, `bytes=${kept}-`);
}));

check("a pull that is killed or interrupted continues", () => {
  let stall = true;
  return withHub({
    onBytes: async (request, response, bytes) => {
      const from = Number(/\d+/.exec(request.headers.range ?? "0")[0]);
      if (!stall) return false;
      response.writeHead(from > 0 ? 206 : 200, { "Content-Length": bytes.length - from, "Content-Range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      response.write(bytes.subarray(from, from + 1_000_000));
      return true; // and nothing more
    },
  }, async (use) => {
    const size = () => {
      try {
        return statSync(`${use.blob(model)}.incomplete`).size;
      } catch {
        return 0;
      }
    };
    for (const [signal, least] of [["SIGKILL", 1_000_000], ["SIGINT", 2_000_000]]) {
      const result = await use.pull("owner/name", {
        began: (child) => {
          until("a part is there", () => size() >= least).then(() => child.kill(signal));
        },
      });
      assert.equal(result.code, signal === "SIGINT" ? 130 : null, result.err);
      assert.ok(!existsSync(use.blob(model)) && !existsSync(use.snapshot(usual)));
      assert.equal(size(), least);
    }
    stall = false;
    assertRight(use, await use.pull());
    assert.equal(use.fetches().at(-1).range, "bytes=2000000-");
  });
});

check("what is there is used without the hub", () => withHub({ files: { "m-Q4_K_M.gguf": readFileSync(bundled) } }, async (use) => {
  assert.match((await use.run(["inspect", "hf:owner/name"])).out, /GGUF version 3/);
  const asked = use.hub.seen.length;
  for (const args of [["inspect", "hf:owner/name:q4_k_m", "--json"], ["quantize", "hf:owner/name", join(use.root, "o.gguf"), "q8_0"]]) {
    assert.equal((await use.run(args)).code, 0);
  }
  writeFileSync(join(use.root, "m.json"), '[{"role": "user", "content": "a"}]');
  const told = await use.run(["template", "--messages", join(use.root, "m.json")], { env: { SKIPSTONE_MODEL: "hf:owner/name", HF_ENDPOINT: "http://127.0.0.1:1" } });
  const direct = await use.run(["template", "-m", "hf:owner/name", "--messages", join(use.root, "m.json")]);
  assert.equal(direct.code, 0, direct.err + told.err);
  assert.equal(use.hub.seen.length, asked, "nobody was asked");
  for (const env of [{ HF_HUB_OFFLINE: "1" }, {}]) {
    const result = env.HF_HUB_OFFLINE ? await use.pull("owner/name", { env }) : await start(["pull", "owner/name", "--hub", "http://127.0.0.1:1"], { env: { HF_HUB_CACHE: use.root } });
    assert.equal(result.code, 0, result.err);
    assert.equal(result.out, `${use.snapshot("m-Q4_K_M.gguf")}\n`);
    assert.match(result.err, /are there are taken|that are there/);
  }
  const none = await start(["inspect", "hf:owner/other"], { env: { HF_HUB_CACHE: use.root, HF_ENDPOINT: "http://127.0.0.1:1" } });
  assert.equal(none.code, 1);
  assert.match(none.err, /does not answer.*owner\/other is not in the cache/);
}));

check("a name without a type means the same online and offline", async () => {
  const q8 = readFileSync(bundled), q6 = Buffer.from("not the one");
  const files = { "m-Q8_0.gguf": q8, "m-Q9_X.gguf": q6 };
  let answer = () => false;
  await withHub({ files, onHub: (...hub) => answer(...hub) }, async (use) => {
    const inspect = async (env = {}) => {
      const result = await use.run(["inspect", "hf:owner/name", "--json"], { env });
      assert.equal(result.code, 0, result.err);
      return result;
    };
    await inspect();
    assert.ok(existsSync(use.snapshot("m-Q8_0.gguf")), "the first file");
    const asked = use.hub.seen.length;
    await inspect();
    assert.equal(use.hub.seen.length, asked + 1, "the hub says what the name means");
    assert.equal(use.fetches().length, 1);
    for (const env of [{ HF_HUB_OFFLINE: "1" }, { HF_ENDPOINT: "http://127.0.0.1:1" }]) assert.match((await inspect(env)).err, /are taken/);
    answer = (request, response) => {
      response.writeHead(404);
      response.end();
      return true;
    };
    assert.match((await inspect()).err, /no model owner\/name; the files .* are taken/);
    answer = () => false;
    files[usual] = q8;
    await inspect();
    assert.ok(existsSync(use.snapshot(usual)), "the usual type has come to the hub");
    const then = use.hub.seen.length;
    await inspect();
    assert.equal(use.hub.seen.length, then);
  });
});

check("a hub with a fault keeps no model of the cache from starting", async () => {
  const files = { "m-Q8_0.gguf": readFileSync(bundled) };
  let answer = () => false;
  await withHub({ files, onHub: (...hub) => answer(...hub) }, async (use) => {
    const inspect = (name = "hf:owner/name") => within(10, () => use.run(["inspect", name, "--json"]), name);
    assert.equal((await inspect()).code, 0);
    for (const [status, headers, body, says] of [
      [500, {}, "{}", /answers with status 500; the files .* are taken/],
      [503, { "Retry-After": "200" }, "{}", /answers with status 503; the files .* are taken/],
      [429, { "Retry-After": "200" }, "{}", /takes no more requests now.*; the files .* are taken/],
      [200, {}, "<html>", /cannot be read; the files .* are taken/],
      [200, {}, '{"sha": "../x", "siblings": []}', /names no commit .*; the files .* are taken/],
    ]) {
      answer = (request, response) => {
        response.writeHead(status, headers);
        response.end(body);
        return true;
      };
      const asked = use.hub.seen.length;
      const result = await inspect();
      assert.equal(result.code, 0, result.err);
      assert.match(result.err, says);
      assert.equal(use.hub.seen.length, asked + 1, "the hub is asked once");
      if (body === "<html>") assert.equal((await inspect("hf:owner/name:Q6_K")).code, 1, "a type that the cache does not have");
    }
    answer = () => false;
    const fetched = use.fetches().length;
    files["m-Q8_0.gguf"] = Buffer.from("a newer version");
    const result = await inspect();
    assert.equal(result.code, 0, result.err);
    assert.equal(use.fetches().length, fetched, "the hub says the name, the cache has the file");
    assert.equal((await use.pull()).code, 0);
    assert.equal(use.fetches().length, fetched + 1, "pull fetches the newest version");
  });
});

check("files of the package huggingface_hub are used, at any commit", () => withHub({}, async (use) => {
  const older = "f".repeat(40);
  mkdirSync(join(use.cache, "blobs"), { recursive: true });
  mkdirSync(join(use.cache, "snapshots", older), { recursive: true });
  writeFileSync(use.blob(model), model);
  symlinkSync(`../../blobs/${sha256(model)}`, join(use.cache, "snapshots", older, usual));
  const found = await use.run(["inspect", "hf:owner/name"]);
  assert.match(found.err, new RegExp(`snapshots/${older}/${usual}`), "it is no model, but it is found");
  assertRight(use, await use.pull());
  assert.equal(use.fetches().length, 0, "its bytes were there");
}));

check("checksums that the list does not have", async () => {
  const without = ({ rfilename }) => ({ rfilename });
  await withHub({ listed: without }, async (use) => {
    assertRight(use, await use.pull());
    assert.ok(use.hub.seen.some(({ method }) => method === "HEAD"));
  });
  const inGit = ({ rfilename, size }, bytes) => ({ rfilename, size, blobId: gitBlob(bytes) });
  await withHub({ listed: inGit }, async (use) => {
    const result = await use.pull();
    assert.equal(result.code, 0, result.err);
    assert.deepEqual(readdirSync(join(use.cache, "blobs")), [gitBlob(model)]);
  });
});

check("names that are none", () => withHub({}, async (use) => {
  for (const name of ["name", "owner/name/more", "../name", "owner/..", "owner/na me", "owner/name:", "owner/name:../x", "https://host/owner/name"]) {
    assertRefused(use, await use.pull(name), 2, /no name of a model/);
  }
  assert.equal((await start(["pull", "owner/name", "--hub", "ftp://127.0.0.1"], { env: { HF_HUB_CACHE: use.root } })).code, 2);
  assert.equal(use.hub.seen.length, 0);
}));

await run();
