"""Held-out loss of every exit, and how often an exit's first choice is the last layer's."""

import torch
import torch.nn.functional as F


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
