"""Muon for the matrices inside the layers, AdamW for the embedding and the norms.

Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon/): the momentum of a matrix is replaced by the nearest
semi-orthogonal matrix, found with a quintic Newton-Schulz iteration. It needs about two thirds of AdamW's tokens for the same loss.
"""

import torch

QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrix, steps=5):
    """Singular values of `matrix` (rows, columns) moved to about 1."""
    a, b, c = QUINTIC
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if matrix.shape[0] > matrix.shape[1] else x


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonalise(parameter.grad.lerp(state["momentum"], group["momentum"]))
                scale = max(1.0, parameter.shape[0] / parameter.shape[1]) ** 0.5
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(update, alpha=-group["lr"] * scale)


def build(model, muon_lr, adam_lr):
    """The two optimizers of a model; each keeps its peak rate in `group["peak"]` for the schedule."""
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.dim() != 2 or "embed" in name]
    optimizers = [
        Muon(matrices, lr=muon_lr),
        torch.optim.AdamW(others, lr=adam_lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers
