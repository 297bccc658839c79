"""Cross-entropy of the last layer and of early exits, and the exits' schedule (LayerSkip, section 3.2)."""

import torch


class _CrossEntropy(torch.autograd.Function):
    """Mean cross-entropy in nats whose gradient may aim at a mixture of the label and a teacher's distribution.

    The value is that of the labels alone. One buffer of (rows, vocabulary) holds probabilities and then the gradient: on a CPU the
    vocabulary's width is what costs.
    """

    @staticmethod
    def forward(ctx, logits, targets, teacher, share):
        probability = logits.float().softmax(dim=-1)
        picked = probability.gather(1, targets[:, None]).clamp_min_(1e-30)
        ctx.save_for_backward(probability, targets)
        ctx.teacher, ctx.share, ctx.dtype = teacher, share, logits.dtype
        return -picked.log().mean()

    @staticmethod
    def backward(ctx, grad):
        probability, targets = ctx.saved_tensors
        label_share = 1.0 if ctx.teacher is None else 1.0 - ctx.share
        difference = probability.clone() if ctx.teacher is None else probability.sub(ctx.teacher, alpha=ctx.share)
        index = targets[:, None]
        difference.scatter_add_(1, index, torch.full_like(index, -label_share, dtype=difference.dtype))
        return difference.mul_(grad / len(targets)).to(ctx.dtype), None, None, None


def cross_entropy(logits, targets, teacher=None, share=0.0):
    """logits: (rows, vocabulary); targets: (rows,); teacher: (rows, vocabulary) probabilities that get `share` of the aim."""
    return _CrossEntropy.apply(logits, targets, teacher, share)


class ExitSchedule:
    """Which exits take part in a step, and with which weight.

    The anchor (a third of the depth: where drafts are cheap enough to pay) takes part in every step, and one other exit in turn.
    An exit l of L weighs scale * l / L, the anchor `anchor_weight`, the last layer 1; a step's weights are divided by their sum.
    """

    def __init__(self, layers, scale, anchor, anchor_weight):
        self.layers, self.scale, self.anchor, self.anchor_weight = layers, scale, anchor, anchor_weight
        others = [layer for layer in range(1, layers) if layer != anchor]
        self.turn = others[::2] + others[1::2]

    def weights(self, step):
        """{layer: weight} of a step, the last layer included; the weights sum to 1."""
        raw = {self.layers: 1.0}
        if self.scale > 0:
            turn = self.turn[step % len(self.turn)]
            raw[turn] = self.scale * turn / self.layers
            raw[self.anchor] = self.anchor_weight
        total = sum(raw.values())
        return {layer: weight / total for layer, weight in sorted(raw.items())}


def total_loss(model, states, targets, weights, share, stride, offset):
    """The weighted sum of the losses and {layer: loss}. Exits see every `stride`-th position and learn `share` from the last layer."""
    last = model.shape.num_hidden_layers
    logits = model.logits(states[last]).flatten(0, 1)
    losses = {last: cross_entropy(logits, targets.flatten())}
    exits = [layer for layer in weights if layer != last]
    if exits:
        subset = targets[:, offset::stride].flatten()
        teacher = None
        if share > 0:
            rows = logits.detach().view(*targets.shape, -1)[:, offset::stride].flatten(0, 1)
            teacher = rows.float().softmax(dim=-1)
        for layer in exits:
            exit_logits = model.logits(states[layer][:, offset::stride]).flatten(0, 1)
            losses[layer] = cross_entropy(exit_logits, subset, teacher, share)
    return sum(weights[layer] * loss for layer, loss in losses.items()), losses
