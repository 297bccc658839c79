"""The base model's own texts, which train_head.py learns from: beginnings of documents, continued by the model.

    python3 continuations.py --corpus DIR --model skipstone-py.gguf --out DIR --rows 2048

Writes tokens.npy (rows, length; uint16), hidden.npy (rows, length, hidden size; float16: the states after the final norm) and
starts.npy (rows: where the continuation begins). Half of the rows are greedy, as most drafting is; the others are sampled, since greedy
texts of a small model repeat themselves.
"""

import argparse
import time
from pathlib import Path

import numpy
import torch

from batches import Batches
from gguf_file import load

BEGINNINGS = (48, 96, 160, 256)  # tokens of a document that a batch of rows starts with, in turn


class Decoder:
    """Passes of the model over the next positions of a batch of texts, with the keys and values of those before them kept."""

    def __init__(self, model, rows, length):
        shape = model.shape
        self.model, self.length = model, 0
        self.rope, self.mask = model.tables(length, model.embed_tokens.weight.device)
        size = rows * shape.num_key_value_heads, length, shape.head_dim
        self.memory = [(torch.empty(size), torch.empty(size)) for _ in model.layers]

    def read(self, ids):
        """ids: (rows, new positions). Returns their states after the final norm."""
        first, last = self.length, self.length + ids.shape[1]
        mask = self.mask[first:last, :last]
        x = self.model.embed_tokens(ids)
        for layer, (keys, values) in zip(self.model.layers, self.memory):
            attention = layer.self_attn
            q, keys[:, first:last], values[:, first:last] = attention.project(layer.input_layernorm(x), self.rope, first)
            probability = attention.scores(q, keys[:, :last], mask).softmax(dim=-1)
            x = x + attention.output(torch.bmm(probability.view(*q.shape[:2], -1), values[:, :last]))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        self.length = last
        return self.model.norm(x)


@torch.no_grad()
def continued(model, beginnings, length, temperature, generator):
    """(tokens, states) of texts of `length`; temperature: (rows, 1), 0 is greedy."""
    ids = beginnings.new_empty(len(beginnings), length)
    ids[:, : beginnings.shape[1]] = beginnings
    hidden = torch.empty(len(ids), length, model.shape.hidden_size)
    decoder = Decoder(model, len(ids), length)
    at = 0
    for last in range(beginnings.shape[1], length + 1):
        hidden[:, at:last] = decoder.read(ids[:, at:last])
        at = last
        if at == length:
            return ids, hidden
        logits = hidden[:, at - 1] @ model.embed_tokens.weight.T
        noise = -torch.empty_like(logits).exponential_(generator=generator).log_()  # Gumbel-max: a draw from the softmax
        ids[:, at] = (logits + temperature * noise).argmax(dim=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpus", type=Path, required=True, help="folder that corpus.py wrote")
    add("--model", type=Path, required=True, help="GGUF file of the base model, F16")
    add("--out", type=Path, required=True)
    add("--rows", type=int, default=2048)
    add("--length", type=int, default=384, help="tokens of a row")
    add("--batch", type=int, default=128, help="rows at once")
    add("--temperature", type=float, default=0.7, help="of the sampled half")
    add("--split", choices=("train", "heldout"), default="train", help="documents to begin with")
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.batch % 2 != 0:
        parser.error("--batch is odd, and half of the texts are greedy")
    torch.set_num_threads(options.threads)
    _, model = load(options.model)
    batches = Batches(options.corpus, options.split, options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    temperature = torch.tensor([0.0, options.temperature]).repeat(options.batch // 2)[:, None]
    tokens, states, starts, began = [], [], [], time.monotonic()
    for step in range(options.rows // options.batch):
        beginning = BEGINNINGS[step % len(BEGINNINGS)]
        ids, hidden = continued(model, batches.draw(step, options.batch, beginning)[:, :-1], options.length, temperature, generator)
        tokens.append(ids.numpy().astype(numpy.uint16))
        states.append(hidden.numpy().astype(numpy.float16))
        starts += [beginning] * len(ids)
        made = sum(array.size for array in tokens)
        print(f"{made} tokens, {made / (time.monotonic() - began):.0f} tokens/s", flush=True)
    numpy.save(options.out / "tokens.npy", numpy.concatenate(tokens))
    numpy.save(options.out / "hidden.npy", numpy.concatenate(states))
    numpy.save(options.out / "starts.npy", numpy.array(starts))


if __name__ == "__main__":
    main()
