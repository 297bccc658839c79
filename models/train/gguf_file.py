"""Reads and writes GGUF files (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): version 3, tensors of F32 and F16."""

import math
import struct

import numpy
import torch

from model import Llama, Shape

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9
TENSORS = {0: "<f4", 1: "<f2"}
ALIGNMENT = 32

# What follows blk.N. in a file, and layers.N. in the model.
LAYER_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
SHAPE_KEYS = {
    "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length", "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon", "rope_theta": "rope.freq_base", "max_position_embeddings": "context_length",
}


class _Reader:
    def __init__(self, blob):
        self.blob, self.at = blob, 0

    def number(self, letter):
        (value,) = struct.unpack_from("<" + letter, self.blob, self.at)
        self.at += struct.calcsize("<" + letter)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.blob[self.at - length : self.at].decode("utf-8", errors="replace")

    def value(self, kind):
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            item, count = self.number("I"), self.number("Q")
            return [self.value(item) for _ in range(count)]
        return self.number(SCALARS[kind])


def read(path):
    """(metadata, tensors): {key: value} and {name: float32 array, slowest dimension first}."""
    reader = _Reader(path.read_bytes())
    if reader.number("I") != 0x46554747 or reader.number("I") != 3:
        raise SystemExit(f"{path}: is no GGUF file of version 3")
    count, pairs = reader.number("Q"), reader.number("Q")
    metadata = {}
    for _ in range(pairs):
        key = reader.text()
        metadata[key] = reader.value(reader.number("I"))
    places = []
    for _ in range(count):
        name = reader.text()
        shape = [reader.number("Q") for _ in range(reader.number("I"))][::-1]
        kind, offset = reader.number("I"), reader.number("Q")
        if kind not in TENSORS:
            raise SystemExit(f"{path}: '{name}' is neither F32 nor F16")
        places.append((name, shape, TENSORS[kind], offset))
    data = -(-reader.at // ALIGNMENT) * ALIGNMENT
    return metadata, {name: numpy.frombuffer(reader.blob, kind, math.prod(shape), data + offset).astype("f4").reshape(shape)
                      for name, shape, kind, offset in places}


def write(path, metadata, tensors):
    """Matrices become F16, vectors F32. metadata: text, float or int (written as u32)."""
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def pair(key, value):
        if isinstance(value, str):
            return text(key) + struct.pack("<I", TEXT) + text(value)
        kind = 6 if isinstance(value, float) else 4
        return text(key) + struct.pack("<I" + SCALARS[kind], kind, value)

    def padded(blob):
        return blob + b"\0" * (-len(blob) % ALIGNMENT)

    header = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(metadata))
    header += b"".join(pair(key, value) for key, value in metadata.items())
    data = b""
    for name, array in tensors.items():
        kind = 1 if array.ndim > 1 else 0
        header += text(name) + struct.pack(f"<I{array.ndim}QIQ", array.ndim, *array.shape[::-1], kind, len(data))
        data += padded(array.astype(TENSORS[kind]).tobytes())
    path.write_bytes(padded(header) + data)


def neighbours(matrix, head_dim):
    """Rows of Q or K, whose rotary pairs are (i, i + head_dim / 2) in model.py, as `llama` files have them: pairs are neighbours."""
    return matrix.reshape(-1, 2, head_dim // 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def halves(matrix, head_dim):
    """The inverse of neighbours()."""
    return matrix.reshape(-1, head_dim // 2, 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def load(path):
    """(metadata, Llama) of a file of architecture `llama` with tied embeddings, without rotary factors."""
    metadata, tensors = read(path)
    shape = Shape(vocab_size=len(tensors["token_embd.weight"]), **{name: metadata["llama." + key] for name, key in SHAPE_KEYS.items()})
    state = {"embed_tokens.weight": tensors["token_embd.weight"], "norm.weight": tensors["output_norm.weight"]}
    for layer in range(shape.num_hidden_layers):
        for theirs, ours in LAYER_NAMES.items():
            value = tensors[f"blk.{layer}.{theirs}.weight"]
            state[f"layers.{layer}.{ours}.weight"] = halves(value, shape.head_dim) if theirs in ("attn_q", "attn_k") else value
    model = Llama(shape)
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in state.items()})
    return metadata, model.eval()


def layer_tensors(layer, prefix):
    """A Layer's tensors under the names of a file."""
    state = layer.state_dict()
    arrays = {theirs: state[ours + ".weight"].numpy() for theirs, ours in LAYER_NAMES.items()}
    return {f"{prefix}{name}.weight": neighbours(value, layer.self_attn.shape.head_dim) if name in ("attn_q", "attn_k") else value
            for name, value in arrays.items()}
