"""A head for multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): one more layer, which guesses the token after the next."""

import torch
import torch.nn as nn

from gguf_file import layer_tensors
from model import Layer, RMSNorm


class PredictionHead(nn.Module):
    """Its input at position p is the token there and the base's state after the final norm at p - 1; its output guesses token p + 1.

    Embedding and output matrix are the base's. The layer starts as a copy of the base's last one.
    """

    def __init__(self, base):
        super().__init__()
        shape = base.shape
        self.enorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.hnorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.eh_proj = nn.Linear(2 * shape.hidden_size, shape.hidden_size, bias=False)
        self.layer = Layer(shape)
        self.norm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        nn.init.normal_(self.eh_proj.weight, std=0.02)
        self.layer.load_state_dict(base.layers[-1].state_dict())
        self.norm.load_state_dict(base.norm.state_dict())

    def forward(self, embeddings, hidden, steps, rope, mask):
        """States after the head's norm, one tensor (rows, length, hidden) for each of `steps` drafts that follow each other.

        embeddings: (rows, length + steps - 1, hidden) of the tokens; hidden: (rows, length, hidden), of the position before each. Every
        position p starts a chain of drafts: draft s is at position p + s, with the state of draft s - 1 in place of the base's. It sees
        keys and values made from the base's states up to p, and those of its own chain after p, as the runtime's drafts do.
        """
        length = hidden.shape[1]
        attention = self.layer.self_attn
        states, chain = [], []
        for step in range(steps):
            token = self.enorm(embeddings[:, step : step + length])
            x = self.eh_proj(torch.cat((token, self.hnorm(hidden)), dim=-1))
            q, k, v = attention.project(self.layer.input_layernorm(x), rope, step)
            chain.append((k, v))
            first_k, first_v = chain[0]
            per_kv = q.view(len(k), -1, length, q.shape[-1])
            scores = [attention.scores(q, first_k, mask[:length, :length])]
            scores += [(per_kv * k[:, None]).sum(dim=-1, keepdim=True) for k, _ in chain[1:]]
            probability = torch.cat(scores, dim=-1).softmax(dim=-1)
            mixed = torch.bmm(probability[..., :length].reshape(*q.shape[:2], length), first_v).view_as(per_kv)
            for own, (_, v) in enumerate(chain[1:]):
                mixed = mixed + probability[..., length + own, None] * v[:, None]
            x = x + attention.output(mixed.reshape(q.shape))
            x = x + self.layer.mlp(self.layer.post_attention_layernorm(x))
            hidden = self.norm(x)
            states.append(hidden)
        return states

    def tensors(self, block):
        """{name in a GGUF file: array}, for the head as block `block`."""
        own = {"nextn.eh_proj": self.eh_proj, "nextn.enorm": self.enorm, "nextn.hnorm": self.hnorm, "nextn.shared_head_norm": self.norm}
        arrays = {f"blk.{block}.{name}.weight": module.weight.detach().numpy() for name, module in own.items()}
        return layer_tensors(self.layer, f"blk.{block}.") | arrays
