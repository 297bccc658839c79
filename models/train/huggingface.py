"""Writes and reads models in Hugging Face layout: config.json, model.safetensors, tokenizer.model, tokenizer_config.json."""

import json
import shutil
import struct
from pathlib import Path

import numpy
import torch

from model import Llama, Shape


def write_safetensors(path, tensors):
    """https://huggingface.co/docs/safetensors: u64 length of a JSON header, the header, then the data. Tensors are stored as F32."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4").tobytes())


def save(model, tokenizer, folder, exit_layer=None):
    """exit_layer: kept in config.json as `skipstone_exit_layer`, the depth that drafts should leave at."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shape = model.shape
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32", **vars(shape),
    }
    if exit_layer is not None:
        config["skipstone_exit_layer"] = exit_layer
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}, indent=2)
        + "\n", encoding="utf-8")
    shutil.copyfile(tokenizer, folder / "tokenizer.model")
    write_safetensors(folder / "model.safetensors", {f"model.{name}": value for name, value in model.state_dict().items()})


def load(folder):
    """A Llama of a folder that save() wrote (or of the same layout, F16 or F32, tied embeddings)."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = Llama(Shape(**{name: config[name] for name in vars(Shape())}))
    blob = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", blob)
    state = {}
    for name, entry in json.loads(blob[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        kind = {"F32": "<f4", "F16": "<f2"}[entry["dtype"]]
        values = numpy.frombuffer(blob[begin:end], dtype=kind).astype("f4").reshape(entry["shape"])
        state[name.removeprefix("model.")] = torch.from_numpy(values)
    model.load_state_dict(state)
    return model.eval()
