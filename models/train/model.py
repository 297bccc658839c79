"""A Llama-architecture decoder with the LayerSkip recipe: layer dropout and early exits through the shared norm and head.

LayerSkip: Elhoushi et al., ACL 2024 (arXiv 2404.16710), sections 3.1 (dropout) and 3.2 (exit losses).
"""

import dataclasses
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclasses.dataclass
class Shape:
    """Sizes, under the names of Hugging Face's config.json. head_dim = hidden_size / num_attention_heads."""

    hidden_size: int = 256
    intermediate_size: int = 512
    num_hidden_layers: int = 18
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    vocab_size: int = 8192
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    max_position_embeddings: int = 2048

    @property
    def head_dim(self):
        return self.hidden_size // self.num_attention_heads


class _RMSNorm(torch.autograd.Function):
    """RMSNorm with its gradient written out: on a CPU the composed form spends most of its time on temporaries."""

    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = (torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_() / x.shape[-1] + eps).rsqrt_()
        normal = x * rstd
        ctx.save_for_backward(normal, rstd, weight)
        return normal * weight

    @staticmethod
    def backward(ctx, grad):
        normal, rstd, weight = ctx.saved_tensors
        grad_weight = (grad * normal).sum(dim=tuple(range(grad.dim() - 1)))
        grad_normal = grad * weight
        inner = (grad_normal * normal).sum(dim=-1, keepdim=True) / normal.shape[-1]
        return torch.addcmul(grad_normal, normal, inner, value=-1).mul_(rstd), grad_weight, None


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return _RMSNorm.apply(x, self.weight, self.eps)


class Rope:
    """Tables of the rotary embedding in Hugging Face's half-split layout: cos and sin of shape (positions, head_dim)."""

    def __init__(self, shape, positions, device):
        half = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
        angle = torch.outer(torch.arange(positions, dtype=torch.float64), shape.rope_theta**-half)
        self.cos = torch.cat((angle.cos(), angle.cos()), dim=-1).float().to(device)
        self.sin = torch.cat((-angle.sin(), angle.sin()), dim=-1).float().to(device)

    def __call__(self, x, first=0):
        """x of shape (batch, positions, heads, head_dim), whose positions count from `first`."""
        last = first + x.shape[1]
        cos, sin = self.cos[first:last, None], self.sin[first:last, None]
        return torch.addcmul(x * cos, torch.roll(x, x.shape[-1] // 2, dims=-1), sin)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        width = shape.num_key_value_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.hidden_size, shape.hidden_size, bias=False)
        self.k_proj = nn.Linear(shape.hidden_size, width, bias=False)
        self.v_proj = nn.Linear(shape.hidden_size, width, bias=False)
        self.o_proj = nn.Linear(shape.hidden_size, shape.hidden_size, bias=False)

    def project(self, x, rope, first=0):
        """Queries (batch * KV heads, heads per KV head * length, head_dim), keys and values (batch * KV heads, length, head_dim).

        The query heads of one KV head are stacked as further rows, so K and V are never repeated.
        """
        batch, length, _ = x.shape
        groups, dim = self.shape.num_key_value_heads, self.shape.head_dim
        q = rope(self.q_proj(x).view(batch, length, -1, dim), first)
        k = rope(self.k_proj(x).view(batch, length, groups, dim), first)
        v = self.v_proj(x).view(batch, length, groups, dim)
        q = q.view(batch, length, groups, -1, dim).permute(0, 2, 3, 1, 4) * dim**-0.5
        return q.reshape(batch * groups, -1, dim), *(y.transpose(1, 2).reshape(batch * groups, length, dim) for y in (k, v))

    def scores(self, q, k, mask):
        """(batch * KV heads, heads per KV head, length, keys); mask: (length, keys), added."""
        return torch.bmm(q, k.transpose(1, 2)).view(len(q), -1, *mask.shape) + mask

    def output(self, mixed):
        """mixed: values weighted by the scores, in the layout of queries."""
        per_kv = self.shape.num_attention_heads // self.shape.num_key_value_heads
        length, dim = mixed.shape[1] // per_kv, mixed.shape[2]
        heads = mixed.view(-1, self.shape.num_attention_heads, length, dim)
        return self.o_proj(heads.transpose(1, 2).reshape(len(heads), length, -1))

    def forward(self, x, rope, mask):
        q, k, v = self.project(x, rope)
        probability = self.scores(q, k, mask[: x.shape[1], : x.shape[1]]).softmax(dim=-1)
        return self.output(torch.bmm(probability.view(*q.shape[:2], -1), v))


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.mlp = FeedForward(shape)

    def forward(self, x, rope, mask):
        x = x + self.self_attn(self.input_layernorm(x), rope, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


def dropout_rates(layers, maximum):
    """LayerSkip eq. 1: the probability of dropping layer l rises exponentially from 0 (first) to `maximum` (last)."""
    return [maximum * (math.exp(layer * math.log(2) / (layers - 1)) - 1) for layer in range(layers)]


class Llama(nn.Module):
    """Names of the parameters are Hugging Face's, without the leading `model.`; the head is the embedding (tied)."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_hidden_layers))
        self.norm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self._tables = None
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                last = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * shape.num_hidden_layers) ** 0.5 if last else 0.02)

    def tables(self, length, device):
        if self._tables is None or self._tables[1].shape[0] < length:
            mask = torch.full((length, length), float("-inf"), device=device).triu(1)
            self._tables = Rope(self.shape, length, device), mask
        return self._tables

    def forward(self, ids, exits=(), drop=None, generator=None):
        """Hidden states before the final norm: {layer: (batch, length, hidden)} for each layer of `exits` and the last.

        ids: (batch, length). Layers are counted from 1, so exit l is the state after l layers. drop: the probability per layer of
        leaving it out, drawn for each row of the batch on its own (rows that skip a layer cost nothing there).
        """
        rope, mask = self.tables(ids.shape[1], ids.device)
        x = self.embed_tokens(ids)
        states = {}
        for index, layer in enumerate(self.layers):
            keep = None
            if drop is not None and drop[index] > 0:
                keep = (torch.rand(ids.shape[0], generator=generator) >= drop[index]).nonzero(as_tuple=True)[0].to(ids.device)
            if keep is None or len(keep) == ids.shape[0]:
                x = layer(x, rope, mask)
            elif len(keep) > 0:
                x = x.index_copy(0, keep, layer(x.index_select(0, keep), rope, mask))
            if index + 1 in exits or index + 1 == len(self.layers):
                states[index + 1] = x
        return states

    def logits(self, state):
        return F.linear(self.norm(state), self.embed_tokens.weight)
