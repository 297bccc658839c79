"""How often each exit agrees with the last layer on the model's own greedy continuations.

    skipstone bench -m MODEL.gguf --draft none --prompts HumanEval.jsonl.gz --limit 40 -n 128 --save-tokens texts.jsonl
    python3 agreement.py --model HF_DIR --texts texts.jsonl

One teacher-forced pass per text: the program's tokens are the text, the exits and the last layer choose at every position of the
continuation. Also says how often the last layer chooses the program's own next token, which checks the two against each other.
"""

import argparse
import json
from pathlib import Path

import torch

from huggingface import load


@torch.no_grad()
def count(model, prompt, continuation):
    """([agreeing positions of exit 1, 2, ...], positions, positions where the last layer chose the text's token)."""
    ids = torch.tensor([prompt + continuation])
    layers = range(1, model.shape.num_hidden_layers + 1)
    states = model(ids[:, :-1], layers)
    first = len(prompt) - 1
    choice = {layer: model.logits(states[layer][:, first:])[0].argmax(dim=-1) for layer in layers}
    last = choice[len(layers)]
    own = (last == torch.tensor(continuation)).sum().item()
    return [(choice[layer] == last).sum().item() for layer in layers], len(continuation), own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder in Hugging Face layout")
    parser.add_argument("--texts", type=Path, required=True, help="what bench --save-tokens wrote")
    arguments = parser.parse_args()
    model = load(arguments.model)
    agreeing, positions, own = [0] * model.shape.num_hidden_layers, 0, 0
    for line in arguments.texts.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)
        if not text["tokens"]:
            continue
        counts, length, same = count(model, text["prompt_tokens"], text["tokens"])
        agreeing = [a + b for a, b in zip(agreeing, counts)]
        positions, own = positions + length, own + same
    print(f"{positions} positions; the last layer in float32 chooses the program's token at {own / positions:.3f} of them")
    for layer, agreed in enumerate(agreeing, start=1):
        print(f"exit {layer:2} agrees with the last layer at {agreed / positions:.3f}")


if __name__ == "__main__":
    main()
