// A model that says fixed texts: what a server makes of an answer can then be tried with any template. Attention and feed-forward matrices are zero, so a
// token's state is its own embedding, and each token of a text leads to the next one; sampling at temperature 1 does not change that.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "./harness.mjs";

const visible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);

/** The letters by which byte-level BPE writes bytes. */
function makeAlphabet() {
  let hidden = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(visible(byte) ? byte : 256 + hidden++));
}

/** A text in pieces of about `cut` bytes, none of which is among `taken`; they are added there. */
function piecesOf(bytes, cut, taken) {
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    let end = at + cut;
    while (end < bytes.length && taken.has(bytes.slice(at, end))) ++end;
    let piece = bytes.slice(at, end);
    while (taken.has(piece) && pieces.length > 0) piece = pieces.pop() + piece;
    if (taken.has(piece)) throw new Error(`no piece of its own for ${JSON.stringify(piece)}`);
    taken.add(piece);
    pieces.push(piece);
    at = end;
  }
  return pieces;
}

// ---- GGUF ----

const number = (bytes, write) => {
  const buffer = Buffer.alloc(bytes);
  write(buffer);
  return buffer;
};
const u32 = (value) => number(4, (buffer) => buffer.writeUInt32LE(value));
const u64 = (value) => number(8, (buffer) => buffer.writeBigUInt64LE(BigInt(value)));
const f32 = (value) => number(4, (buffer) => buffer.writeFloatLE(value));
const string = (text) => Buffer.concat([u64(Buffer.byteLength(text)), Buffer.from(text)]);
const list = (type, items) => Buffer.concat([u32(type), u64(items.length), ...items]);
const kinds = {
  u32: [4, u32],
  f32: [6, f32],
  bool: [7, (value) => Buffer.from([value ? 1 : 0])],
  string: [8, string],
  strings: [9, (values) => list(8, values.map(string))],
  i32s: [9, (values) => list(5, values.map(u32))],
};
const entry = ([key, kind, value]) => Buffer.concat([string(key), u32(kinds[kind][0]), kinds[kind][1](value)]);

/** A positive float16 of normal size, rounded down. */
function half(value) {
  const bits = f32(value).readUInt32LE();
  return (((bits >> 23) - 112) << 10) | ((bits >> 13) & 0x3ff);
}

function matrix(width, rows, hot) {
  const data = Buffer.alloc(2 * width * rows);
  for (const [row, column, value] of hot) data.writeUInt16LE(half(value), 2 * (row * width + column));
  return data;
}

/** The file. `answers`: {after, text}: what is said after a prompt that ends with the special token `after`. `eos` ends each text. */
export function makeParrot({ answers, template, eos = "<|im_end|>", special = ["<|im_start|>"], cut = 6, context = 8192 }) {
  const alphabet = makeAlphabet();
  const starts = [...new Set(answers.map(({ after }) => after))];
  const tokens = [...alphabet, ...special, ...starts, eos];
  const types = tokens.map((_, id) => (id < 256 ? 1 : 3));
  const taken = new Set(Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)));
  const end = tokens.length - 1;

  // State 0: any token that leads nowhere. The others: one for each token that has a successor.
  const states = new Map(), leads = [];
  const lead = (from, to) => {
    if (!states.has(from)) states.set(from, states.size + 1);
    leads.push([to, states.get(from)]);
  };
  for (const { after, text } of answers) {
    let last = tokens.indexOf(after);
    for (const piece of piecesOf(Buffer.from(text).toString("latin1"), cut, taken)) {
      tokens.push([...piece].map((byte) => alphabet[byte.charCodeAt(0)]).join(""));
      types.push(1);
      lead(last, tokens.length - 1);
      last = tokens.length - 1;
    }
    lead(last, end);
  }

  const width = Math.max(64, Math.ceil((states.size + 1) / 32) * 32), inner = 64;
  const embedded = tokens.map((_, token) => [token, states.get(token) ?? 0, 1]);
  const ones = Buffer.concat(Array(width).fill(f32(1)));
  const tensors = [
    ["token_embd.weight", [width, tokens.length], matrix(width, tokens.length, embedded)],
    ["output_norm.weight", [width], ones],
    ["output.weight", [width, tokens.length], matrix(width, tokens.length, leads.map(([to, state]) => [to, state, 40 / Math.sqrt(width)]))],
  ];
  for (const layer of ["blk.0.", "blk.1."]) {
    for (const name of ["attn_norm", "ffn_norm"]) tensors.push([`${layer}${name}.weight`, [width], ones]);
    for (const [name, ...shape] of [
      ["attn_q", width, width], ["attn_k", width, width], ["attn_v", width, width], ["attn_output", width, width],
      ["ffn_gate", width, inner], ["ffn_up", width, inner], ["ffn_down", inner, width],
    ]) tensors.push([`${layer}${name}.weight`, shape, matrix(shape[0], shape[1], [])]);
  }
  const entries = [
    ["general.architecture", "string", "llama"], ["general.name", "string", "parrot"], ["general.alignment", "u32", 32],
    ["llama.block_count", "u32", 2], ["llama.context_length", "u32", context], ["llama.embedding_length", "u32", width],
    ["llama.feed_forward_length", "u32", inner], ["llama.attention.head_count", "u32", width / 32], ["llama.attention.head_count_kv", "u32", width / 32],
    ["llama.attention.layer_norm_rms_epsilon", "f32", 1e-5], ["llama.rope.dimension_count", "u32", 32], ["llama.rope.freq_base", "f32", 10000],
    ["llama.vocab_size", "u32", tokens.length], ["tokenizer.ggml.model", "string", "gpt2"], ["tokenizer.ggml.pre", "string", "qwen2"],
    ["tokenizer.ggml.tokens", "strings", tokens], ["tokenizer.ggml.token_type", "i32s", types], ["tokenizer.ggml.merges", "strings", []],
    ["tokenizer.ggml.eos_token_id", "u32", end], ["tokenizer.ggml.add_bos_token", "bool", false], ["tokenizer.chat_template", "string", template],
  ];
  return write(entries, tensors);
}

function write(entries, tensors) {
  const aligned = (size) => Math.ceil(size / 32) * 32;
  const infos = [], data = [];
  let offset = 0;
  for (const [name, shape, bytes] of tensors) {
    infos.push(string(name), u32(shape.length), ...shape.map(u64), u32(shape.length === 1 ? 0 : 1), u64(offset));
    data.push(bytes, Buffer.alloc(aligned(bytes.length) - bytes.length));
    offset += aligned(bytes.length);
  }
  const head = Buffer.concat([Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(entries.length), ...entries.map(entry), ...infos]);
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length), ...data]);
}

/** A template like ChatML, with reasoning, calls in Hermes' form, and tools. `turns`: special tokens; the answer after N others begins with the Nth. */
export const chatTemplate = (turns) => `
{%- set turns = ${JSON.stringify(turns)} %}
{%- set count = namespace(answers=0) %}
{%- for tool in tools or [] %}{{- tool | tojson + '\\n' }}{%- endfor %}
{%- for message in messages %}
  {{- '<|im_start|>' + message.role + '\\n' }}
  {%- if message.role == 'assistant' %}
    {{- turns[count.answers % turns | length] }}
    {%- set count.answers = count.answers + 1 %}
    {%- if message.reasoning_content %}{{- '<think>' + message.reasoning_content + '</think>' }}{%- endif %}
  {%- endif %}
  {%- if message.content %}{{- message.content }}{%- endif %}
  {%- for call in message.tool_calls or [] %}
    {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}
  {%- endfor %}
  {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' + turns[count.answers % turns | length] }}{%- endif %}`;


/** A server whose answer to a conversation with N answers is the Nth of `answers`. */
export async function startParrot(program, { answers, args = [], ...more }) {
  const turns = answers.map((_, turn) => `<|turn_${turn}|>`);
  const folder = mkdtempSync(join(tmpdir(), "skipstone-parrot-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const model = join(folder, "parrot.gguf");
  writeFileSync(model, makeParrot({ answers: answers.map((text, turn) => ({ after: turns[turn], text })), template: chatTemplate(turns), ...more }));
  return startServer(program, model, args);
}
