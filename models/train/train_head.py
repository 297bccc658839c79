"""Trains a head for multi-token prediction on a frozen base model, whose own texts are what it learns to guess.

    python3 train_head.py --model skipstone-py.gguf --texts DIR --heldout DIR --out DIR --steps 800

DIR of texts is what continuations.py wrote. Writes OUT/mtp.gguf for `skipstone --mtp-file`, and OUT/log.jsonl. A step trains chains of
`--drafts` drafts that follow each other (the head's own state takes the place of the base's, as when it drafts; EAGLE-3,
arXiv 2503.01840, calls it training-time test).
"""

import argparse
import json
import time
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

import gguf_file
from loss import cross_entropy
from optimizer import build
from prediction_head import PredictionHead
from train import rate

KEYS = ("context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "rope.freq_base", "attention.layer_norm_rms_epsilon", "vocab_size", "rope.dimension_count")


class Texts:
    """Rows of the base's texts: tokens, the base's states after its final norm, and where the continuation begins."""

    def __init__(self, folder, seed):
        self.tokens = numpy.load(folder / "tokens.npy")
        self.hidden = numpy.load(folder / "hidden.npy", mmap_mode="r")
        self.starts = numpy.load(folder / "starts.npy")
        self.random = numpy.random.default_rng(seed)

    def rows(self, index):
        """(tokens (rows, length), states (rows, length, hidden), starts (rows, 1))."""
        return (torch.from_numpy(self.tokens[index].astype(numpy.int64)), torch.from_numpy(self.hidden[index].astype(numpy.float32)),
                torch.from_numpy(self.starts[index])[:, None])

    def epochs(self, rows):
        """Batches of all rows in a random order, again and again."""
        while True:
            order = self.random.permutation(len(self.tokens))
            for begin in range(0, len(order) - rows + 1, rows):
                yield self.rows(numpy.sort(order[begin : begin + rows]))


class Chains:
    """The chains of drafts of a batch: index i begins at position i + 1, since the first position has no state before it."""

    def __init__(self, base, head, batch, drafts):
        self.base = base
        tokens, self.hidden, starts = batch
        self.length, self.starts = tokens.shape[1] - drafts, starts
        rope, mask = base.tables(tokens.shape[1], tokens.device)
        self.states = head(base.embed_tokens(tokens[:, 1:]), self.hidden[:, : self.length], drafts, rope, mask)

    def chosen(self, stride, offset):
        """(rows, length): every `stride`-th chain of the continuations."""
        positions = torch.arange(self.length)
        return (positions + 1 >= self.starts) & (positions % stride == offset)

    def logits(self, step, chosen):
        """Of the head's draft `step`, and of the base at the same position."""
        matrix = self.base.embed_tokens.weight
        ours = F.linear(self.states[step][chosen], matrix)
        with torch.no_grad():
            return ours, F.linear(self.hidden[:, 1 + step : 1 + step + self.length][chosen], matrix)


@torch.no_grad()
def acceptance(base, head, texts, drafts):
    """Of the greedy rows: the share of chains whose first 1, 2, ... drafts are all the base's choices."""
    counts, total = [0] * drafts, 0
    for begin in range(0, len(texts.tokens), 16):
        chains = Chains(base, head, texts.rows(numpy.arange(begin, min(begin + 16, len(texts.tokens)), 2)), drafts)
        chosen = chains.chosen(1, 0)
        right = True
        for step in range(drafts):
            ours, theirs = chains.logits(step, chosen)
            right = right & (ours.argmax(dim=-1) == theirs.argmax(dim=-1))
            counts[step] += right.sum().item()
        total += chosen.sum().item()
    return [round(count / total, 4) for count in counts]


def train_step(base, head, optimizers, batch, options, step):
    """The losses of the drafts, in nats against the base's choice. Half of the aim is the base's distribution."""
    chains = Chains(base, head, batch, options.drafts)
    chosen = chains.chosen(options.stride, step % options.stride)
    losses = []
    for draft in range(options.drafts):
        ours, theirs = chains.logits(draft, chosen)
        losses.append(cross_entropy(ours, theirs.argmax(dim=-1), theirs.softmax(dim=-1), options.distill))
    weights = [options.fade**draft for draft in range(options.drafts)]
    (sum(weight * loss for weight, loss in zip(weights, losses)) / sum(weights)).backward()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate(step / options.steps, options.warmup, 1.0)
        torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return [round(loss.item(), 4) for loss in losses]


def write_head(path, metadata, head, layers):
    """As converters write a head in a file of its own: the block after the model's layers."""
    pairs = {"general.architecture": "llama", "general.type": "model", "general.name": metadata["general.name"] + " mtp",
             "general.license": "apache-2.0", "general.file_type": 1, "llama.block_count": layers + 1, "llama.nextn_predict_layers": 1}
    pairs |= {"llama." + key: metadata["llama." + key] for key in KEYS}
    gguf_file.write(path, pairs, head.tensors(layers))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", type=Path, required=True, help="GGUF file of the base model, F16")
    add("--texts", type=Path, required=True, help="folder that continuations.py wrote, from training documents")
    add("--heldout", type=Path, required=True, help="the same from held-out documents")
    add("--out", type=Path, required=True)
    add("--steps", type=int, default=800)
    add("--drafts", type=int, default=3, help="drafts of a chain")
    add("--fade", type=float, default=0.8, help="weight of each further draft's loss, the one before being 1")
    add("--rows", type=int, default=12, help="texts of a step")
    add("--stride", type=int, default=2, help="every n-th position begins a chain")
    add("--distill", type=float, default=0.5, help="share of the aim that is the base's distribution")
    add("--muon-lr", type=float, default=0.016)
    add("--adam-lr", type=float, default=0.003)
    add("--warmup", type=float, default=0.02, help="part of the run that warms up")
    add("--evaluate-steps", type=int, default=100)
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse_options()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    metadata, base = gguf_file.load(options.model)
    base.requires_grad_(False)
    head = PredictionHead(base)
    optimizers = build(head, options.muon_lr, options.adam_lr)
    texts, heldout = Texts(options.texts, options.seed), Texts(options.heldout, options.seed)

    def log(**entry):
        with open(options.out / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)

    log(options={key: value for key, value in vars(options).items() if isinstance(value, (int, float))}, torch=torch.__version__,
        texts=len(texts.tokens), parameters=sum(p.numel() for p in head.parameters()))
    started = time.monotonic()
    batches = texts.epochs(options.rows)
    for step in range(options.steps):
        losses = train_step(base, head, optimizers, next(batches), options, step)
        if (step + 1) % 20 == 0:
            log(step=step + 1, seconds=round(time.monotonic() - started), loss=losses)
        if (step + 1) % options.evaluate_steps == 0 or step + 1 == options.steps:
            log(step=step + 1, acceptance=acceptance(base, head, heldout, options.drafts))
            write_head(options.out / "mtp.gguf", metadata, head, base.shape.num_hidden_layers)


if __name__ == "__main__":
    main()
