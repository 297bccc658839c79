"""Trains a model: `--recipe layerskip` with layer dropout and exit losses, `--recipe plain` without either.

    python3 train.py --corpus DIR --out DIR --recipe layerskip --tokens 8000000

Runs on the CPU or, where PyTorch finds one, on a CUDA device. Started again with the same --out it goes on from the last checkpoint.
Every random choice follows from --seed and the step, so a resumed run sees the same data. On a CPU install libopenblas0-pthread:
PyTorch with the reference BLAS is fifty times slower.
"""

import argparse
import contextlib
import json
import math
import os
import time
from pathlib import Path

import torch

from batches import Batches
from evaluate import evaluate
from huggingface import load, save
from loss import ExitSchedule, total_loss
from model import Llama, Shape, dropout_rates
from optimizer import build


def rate(progress, warmup, decay):
    """Share of the peak learning rate: linear warm-up, constant, linear to nothing over the last `decay` of the run."""
    if progress < warmup:
        return progress / warmup
    return min(1.0, max(0.02, (1 - progress) / decay))


class Run:
    def __init__(self, options):
        self.options = options
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(options.seed)
        self.shape = Shape(hidden_size=options.hidden, intermediate_size=options.intermediate, num_hidden_layers=options.layers,
                           num_attention_heads=options.heads, num_key_value_heads=options.kv_heads)
        self.model = Llama(self.shape).to(self.device)
        self.optimizers = build(self.model, options.muon_lr, options.adam_lr)
        layerskip = options.recipe == "layerskip"
        self.exits = ExitSchedule(options.layers, options.exit_scale if layerskip else 0.0, options.anchor, options.anchor_weight)
        self.dropout = dropout_rates(options.layers, options.dropout if layerskip else 0.0)
        self.train = Batches(options.corpus, "train", options.seed)
        self.heldout = Batches(options.corpus, "heldout", options.seed)
        self.step, self.seen = 0, 0

    @property
    def checkpoint(self):
        return self.options.out / "checkpoint.pt"

    def log(self, **entry):
        with open(self.options.out / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def resume(self):
        if not self.checkpoint.exists():
            if self.options.init:
                self.model.load_state_dict(load(self.options.init).state_dict())
            return
        saved = torch.load(self.checkpoint, map_location=self.device)
        self.model.load_state_dict(saved["model"])
        for optimizer, state in zip(self.optimizers, saved["optimizers"]):
            peaks = [group["peak"] for group in optimizer.param_groups]  # the command line's, not the checkpoint's
            optimizer.load_state_dict(state)
            for group, peak in zip(optimizer.param_groups, peaks):
                group["peak"] = peak
        self.step, self.seen = saved["step"], saved["seen"]
        print(f"resumed at step {self.step}, {self.seen} tokens", flush=True)

    def save_checkpoint(self):
        partial = self.checkpoint.with_suffix(".partial")
        torch.save({"model": self.model.state_dict(), "optimizers": [o.state_dict() for o in self.optimizers],
                    "step": self.step, "seen": self.seen}, partial)
        os.replace(partial, self.checkpoint)

    def evaluate(self):
        context = self.context()
        batch = self.heldout.draw(0, self.options.heldout_tokens // context, context)
        result = evaluate(self.model, batch.to(self.device), self.precision)
        self.log(step=self.step, tokens=self.seen, context=context, heldout=result)
        loss, agreement = result["loss"], result["agreement"]
        print(f"step {self.step} tokens {self.seen} held-out loss by layer " +
              " ".join(f"{layer}:{loss[layer]:.2f}" for layer in loss) + " | agreement " +
              " ".join(f"{layer}:{agreement[layer]:.2f}" for layer in agreement), flush=True)

    def context(self):
        long = self.seen >= self.options.tokens * (1 - self.options.long_share)
        return self.options.long_context if long else self.options.context

    def precision(self):
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.device == "cuda" else contextlib.nullcontext()

    def train_step(self):
        options = self.options
        progress = self.seen / options.tokens
        context = self.context()
        rows = options.batch_tokens // context
        batch = self.train.draw(self.step, rows, context).to(self.device)
        # Curriculum of LayerSkip (eq. 2): dropout rises exponentially in time as well; the teacher is not worth following at first.
        curriculum = math.exp(progress * math.log(2)) - 1
        drop = [p * curriculum for p in self.dropout]
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + self.step)
        weights = self.exits.weights(self.step)
        share = options.distill * min(1.0, progress / 0.2)
        with self.precision():
            states = self.model(batch[:, :-1], weights, drop, generator)
            loss, losses = total_loss(self.model, states, batch[:, 1:], weights, share, options.exit_stride,
                                      self.step % options.exit_stride)
        loss.backward()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate(progress, options.warmup, options.decay)
            torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.seen += rows * context
        return {layer: round(value.item(), 4) for layer, value in losses.items()}

    def loop(self):
        self.resume()
        started, first = time.monotonic(), self.seen
        last_save = last_evaluation = started
        while self.seen < self.options.tokens:
            losses = self.train_step()
            now = time.monotonic()
            if self.step % 20 == 0:
                speed = (self.seen - first) / (now - started)
                self.log(step=self.step, tokens=self.seen, loss=losses, tokens_per_second=round(speed))
                print(f"step {self.step} tokens {self.seen} loss {losses} {speed:.0f} tokens/s", flush=True)
            if now - last_evaluation > self.options.evaluate_minutes * 60:
                self.evaluate()
                last_evaluation = time.monotonic()
            if now - last_save > self.options.save_minutes * 60:
                self.save_checkpoint()
                last_save = time.monotonic()
        self.save_checkpoint()
        self.evaluate()
        save(self.model, self.options.corpus / "tokenizer.model", self.options.out / "hf",
             exit_layer=self.options.anchor if self.options.recipe == "layerskip" else None)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpus", type=Path, required=True, help="folder that corpus.py wrote")
    add("--out", type=Path, required=True, help="folder for checkpoint, log and Hugging Face model")
    add("--init", type=Path, help="folder of a Hugging Face model of the same shape to start from, instead of random weights")
    add("--recipe", choices=("layerskip", "plain"), required=True)
    add("--tokens", type=int, required=True, help="tokens to train on")
    add("--seed", type=int, default=1)
    add("--layers", type=int, default=18)
    add("--hidden", type=int, default=256)
    add("--intermediate", type=int, default=512)
    add("--heads", type=int, default=4)
    add("--kv-heads", type=int, default=2)
    add("--context", type=int, default=128)
    add("--long-context", type=int, default=512, help="context of the last part of the run")
    add("--long-share", type=float, default=0.35, help="the last part that uses the long context")
    add("--batch-tokens", type=int, default=4096)
    add("--muon-lr", type=float, default=0.02)
    add("--adam-lr", type=float, default=0.003)
    add("--warmup", type=float, default=0.03, help="part of the run that warms up")
    add("--decay", type=float, default=0.45, help="last part of the run over which the rates fall")
    add("--dropout", type=float, default=0.1, help="layer dropout of the last layer at the end of the run")
    add("--exit-scale", type=float, default=0.5, help="weight of the exit in turn at full depth, the last layer being 1")
    add("--anchor", type=int, default=6, help="exit that takes part in every step")
    add("--anchor-weight", type=float, default=0.5)
    add("--exit-stride", type=int, default=3, help="exits learn from every n-th position")
    add("--distill", type=float, default=0.5, help="share of an exit's aim that is the last layer's distribution")
    add("--heldout-tokens", type=int, default=8192)
    add("--evaluate-minutes", type=float, default=10)
    add("--save-minutes", type=float, default=4)
    return parser.parse_args()


def main():
    run = Run(options())
    run.options.out.mkdir(parents=True, exist_ok=True)
    run.log(options={key: value if isinstance(value, (int, float)) else str(value) for key, value in vars(run.options).items()
                     if key not in ("corpus", "out")}, torch=torch.__version__, device=run.device)
    run.loop()


if __name__ == "__main__":
    main()
