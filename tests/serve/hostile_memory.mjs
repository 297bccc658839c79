// Memory that clients make a server take: by requests without an end, bodies, unread answers, refusals.
import assert from "node:assert/strict";
import { badMetadata, badDrafts, bigTools, chat, completions, endAll, endless, endlessBytes, goodMetadata, openMany, pour, responses, small } from "./attacks.mjs";
import { ask, assertError, check, events, free, get, metric, post, residentMemory, sleep, until, within } from "./harness.mjs";
import { Raw, exchange, posted } from "./raw_http.mjs";

/** How many MiB a process has more at the end of `work`. `most`: that it may have; it is given some time to give the rest back. */
async function growth(pid, most, work, seconds = 5) {
  const begin = residentMemory(pid);
  await work();
  const end = Date.now() + seconds * 1000;
  while (residentMemory(pid) > begin + most && Date.now() < end) await sleep(50);
  const grown = residentMemory(pid) - begin;
  assert.ok(grown <= most, `${grown.toFixed(0)} MiB more, from ${begin.toFixed(0)}`);
  return `${grown.toFixed(1)} MiB more`;
}

function addEndless(server) {
  check("requests without an end are refused, and take no memory", () =>
    growth(server.pid, 16, async () => {
      for (const [name, [begin, piece]] of Object.entries(endlessBytes)) {
        const raw = new Raw(server.base).send(begin);
        const written = await pour(raw, piece, 12 << 20);
        // Something comes back while it is written, at the latest what was under way.
        const answer = await within(2, () => raw.answer(), `after ${written >> 20} MiB of ${name}: an answer or the end`);
        assert.ok(answer === undefined || [400, 413, 431].includes(answer.status), `${name}: ${answer?.status}`);
        raw.end();
      }
    }));
  check("many small chunks with large extensions, and blank lines, take no memory", () =>
    growth(server.pid, 16, async () => {
      const head = `POST ${completions} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
      for (const [begin, piece] of [[head, `1;${"x".repeat(2000)}\r\n \r\n`.repeat(30)], ["", "\r\n".repeat(32768)]]) {
        const raw = new Raw(server.base).send(begin);
        await pour(raw, piece, 24 << 20);
        raw.end();
      }
    }));
}

function addBodies(server, keyed) {
  const announced = (length) => `POST ${completions} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
  check("bodies of those who have no key take no memory", () =>
    growth(keyed.pid, 48, async () => {
      const begin = residentMemory(keyed.pid);
      const raws = Array.from({ length: 60 }, () => new Raw(keyed.base).send(announced(8 << 20)).send(Buffer.alloc((8 << 20) - 1, "x")));
      const answers = await Promise.all(raws.map((raw) => within(10, () => raw.answer(), "an answer to a body without a key")));
      assert.ok(residentMemory(keyed.pid) < begin + 48, `${(residentMemory(keyed.pid) - begin).toFixed(0)} MiB more while they are sent`);
      endAll(raws);
      for (const answer of answers) assert.equal(answer?.status, 401);
    }));
  check("all bodies together have a limit: those beyond are 503, and the next small request is taken", async () => {
    const limit = 512;
    const said = await growth(server.pid, 64, async () => {
      const begin = residentMemory(server.pid);
      const raws = [], statuses = [];
      for (let i = 0; i < 100; ++i) {
        raws.push(new Raw(server.base).send(announced(8 << 20)).send(Buffer.alloc((8 << 20) - 1, "x")));
        raws[i].answer().then((answer) => answer && statuses.push(answer));
        if (i % 10 === 9) await sleep(30);
      }
      await until("some are refused", () => statuses.length > 0, 5);
      const most = residentMemory(server.pid) - begin;
      assert.ok(most < limit * 1.1 + 32, `${most.toFixed(0)} MiB more`);
      assert.equal(statuses[0].status, 503);
      assert.ok(Number(statuses[0].headers["retry-after"]) >= 1);
      assertError(statuses[0].json(), { type: "server_error" });
      await ask(server.base, completions, small);
      endAll(raws);
    }, 10);
    await until("the account of bodies is empty again", async () => (await metric(server.base, "memory_bytes", '{kind="bodies"}')) < 1 << 20, 5);
    return said;
  });
}

function addAnswers(server) {
  const content = "one two three ".repeat(60000); // 180,001 tokens, 5 MB of answer
  check("answers that nobody reads have a limit and leave nothing behind", async () => {
    await ask(server.base, "/tokenize", { content, with_pieces: true });
    const kept = [];
    const said = await growth(server.pid, 40, async () => {
      const raws = Array.from({ length: 20 }, () => new Raw(server.base, { slow: true }).send(posted("/tokenize", JSON.stringify({ content, with_pieces: true }))));
      await until(
        "all are answered",
        async () => {
          kept.push(residentMemory(server.pid));
          const text = ((await metric(server.base, "text_requests_waiting")) ?? 0) + ((await metric(server.base, "text_requests_running")) ?? 0);
          await sleep(100);
          return text === 0 && (await free(server.base, undefined, 60)) >= 0;
        },
        60,
      );
      endAll(raws);
    });
    return `${said} than before, ${(Math.max(...kept) - kept[0]).toFixed(0)} MiB more meanwhile`;
  });
}

function addRefusals(server) {
  check("requests that are refused or given up leave nothing", async () => {
    const { base, pid } = server; // one place, no queue
    const refused = posted(completions, JSON.stringify(small));
    const busy = new Raw(base).send(posted(completions, JSON.stringify(endless)));
    await until("it works", async () => JSON.parse((await get(base, "/slots")).text)[0].is_processing);
    const flood = async (count) => {
      const raw = new Raw(base);
      const some = Buffer.concat(Array(50).fill(refused));
      for (let i = 0; i < count; i += 50) {
        raw.send(some);
        for (let j = 0; j < 50; ++j) assert.equal((await raw.answer())?.status, 429);
      }
      raw.end();
    };
    await Promise.all([flood(2000), flood(2000), flood(2000), flood(2000)]);
    const begin = residentMemory(pid);
    const time = performance.now();
    await Promise.all(Array.from({ length: 8 }, () => flood(10000)));
    const grown = residentMemory(pid) - begin, seconds = (performance.now() - time) / 1000;
    busy.end();
    await free(base);
    assert.ok(grown < 8, `${grown.toFixed(1)} MiB more after 80,000 refusals`);
    return `${grown.toFixed(1)} MiB more after 80,000 refusals, ${(80 / seconds).toFixed(0)} thousand a second`;
  });
  check("requests that are taken and given up leave nothing", async () => {
    const given = posted(completions, JSON.stringify({ ...endless, stream: true }));
    const storm = async (rounds) => {
      for (let i = 0; i < rounds; ++i) {
        const raws = Array.from({ length: 40 }, () => new Raw(server.base).send(given));
        await sleep(i % 3 * 4);
        endAll(raws);
      }
      await free(server.base);
    };
    await storm(20);
    return growth(server.pid, 8, () => storm(40));
  });
}

function addFields(server) {
  const { base, pid } = server;
  const refused = async (path, body, expected) => {
    const answer = await within(5, () => exchange(base, posted(path, JSON.stringify(body))), `${path} ${JSON.stringify(body).slice(0, 100)}: an answer`);
    assert.equal(answer?.status, 400, `${path} ${JSON.stringify(body).slice(0, 100)}: ${answer?.text.slice(0, 200)}`);
    assertError(answer.json(), expected);
  };
  check("drafters without an end are refused at once", () =>
    growth(pid, 48, async () => {
      const forms = [[completions, small], [chat, { messages: [{ role: "user", content: "x" }], max_tokens: 1 }], [responses, { input: "x", max_output_tokens: 1 }]];
      for (const draft of badDrafts) for (const [path, body] of draft.length > 10000 ? forms.slice(0, 1) : forms) await refused(path, { ...body, draft }, { param: "draft" });
      for (const draft of ["auto", "suffix+lookup+asd+jacobi+lookahead+ngram+recycle+window", "auto:suffix,asd", "suffix:min=2+asd:k=4"]) {
        assert.equal((await post(base, completions, { ...small, draft })).status, 200, draft);
      }
    }));
  check("metadata that is not OpenAI's is refused, and a stream with the largest that is comes to its end", async () => {
    for (const stream of [true, false]) {
      for (const metadata of badMetadata) await refused(responses, { input: "x", max_output_tokens: 1, stream, metadata }, { param: "metadata" });
      for (const metadata of goodMetadata) {
        const response = await post(base, responses, { input: "x", max_output_tokens: 1, stream, metadata });
        assert.equal(response.status, 200);
        let last;
        if (stream) for await (const { data } of events(response)) last = data.response ?? last;
        else last = await response.json();
        assert.deepEqual(last.metadata, metadata);
        assert.ok(["completed", "incomplete"].includes(last.status), last.status);
      }
    }
  });
  check("what else a stream repeats is refused where it is too long", async () => {
    for (const tools of [bigTools(50, 80000, "responses"), bigTools(6000, 400, "responses")]) {
      await refused(responses, { input: "x", stream: true, tools }, { param: "tools" });
      await refused(responses, { input: "x", stream: true, tools, tool_choice: "none" }, { param: "tools" });
    }
    await refused(responses, { input: "x", stream: true, instructions: "x ".repeat(2000000) }, { code: "context_length_exceeded" });
  });
}

/** server: with defaults; keyed: with keys; single: one place and no queue. */
export function addMemory(server, keyed, single) {
  addEndless(server);
  addFields(server);
  addBodies(server, keyed);
  addAnswers(server);
  addRefusals(single);
}
