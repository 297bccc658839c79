"""Held-out loss of every exit, and how often an exit's first choice is the last layer's.

    python3 evaluate.py --corpus DIR --model HF_DIR
"""

import argparse
import contextlib
from pathlib import Path

import torch
import torch.nn.functional as F

from batches import Batches
from huggingface import load


@torch.no_grad()
def evaluate(model, batch, precision, rows_at_once=8):
    """batch: (rows, context + 1). {"loss": {layer: nats per token}, "agreement": {layer: share of positions}}."""
    last = model.shape.num_hidden_layers
    layers = range(1, last + 1)
    loss, agreement = dict.fromkeys(layers, 0.0), dict.fromkeys(layers, 0.0)
    model.eval()
    for rows in batch.split(rows_at_once):
        targets = rows[:, 1:].flatten()
        with precision():
            states = model(rows[:, :-1], layers)
            choice = model.logits(states[last]).flatten(0, 1).argmax(dim=-1)
            for layer in layers:
                logits = model.logits(states[layer]).flatten(0, 1).float()
                loss[layer] += F.cross_entropy(logits, targets, reduction="sum").item()
                agreement[layer] += (logits.argmax(dim=-1) == choice).sum().item()
    model.train()
    count = batch[:, 1:].numel()
    return {"loss": {layer: round(loss[layer] / count, 4) for layer in layers},
            "agreement": {layer: round(agreement[layer] / count, 4) for layer in layers}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder that corpus.py wrote")
    parser.add_argument("--model", type=Path, required=True, help="folder in Hugging Face layout")
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--context", type=int, default=512)
    arguments = parser.parse_args()
    batch = Batches(arguments.corpus, "heldout", seed=2).draw(0, arguments.tokens // arguments.context, arguments.context)
    result = evaluate(load(arguments.model), batch, contextlib.nullcontext)
    print(f"{batch[:, 1:].numel()} held-out tokens, context {arguments.context}")
    for layer, loss in result["loss"].items():
        print(f"layer {layer:2}: loss {loss:.3f}, agrees with the last layer at {result['agreement'][layer]:.3f}")


if __name__ == "__main__":
    main()
