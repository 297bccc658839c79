#!/usr/bin/env python3
"""Writes gemma_like.model and gemma_like.json: a small SentencePiece model with Gemma's settings, and the ids that SentencePiece (0.2.2)
gives texts with it. Usage: make_gemma_like.py TEXT_FILE (this project's pages and sources were the text)."""
import json
import sys

import sentencepiece

RUNS = ["\n" * n for n in range(1, 8)] + ["\u2581" * n for n in range(2, 17)]
MARKS = ["<mask>", "<unused0>", "<start_of_turn>", "<end_of_turn>", "<table>", "</table>", "<h1>", "</h1>", "<em>", "</em>"]

sentencepiece.SentencePieceTrainer.train(
    input=sys.argv[1], model_prefix="gemma_like", model_type="bpe", vocab_size=560, byte_fallback=True, pad_id=0, eos_id=1, bos_id=2,
    unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", user_defined_symbols=MARKS + RUNS, add_dummy_prefix=False,
    remove_extra_whitespaces=False, normalization_rule_name="identity", split_digits=True, allow_whitespace_only_pieces=True,
    character_coverage=1.0, minloglevel=2)
TEXTS = [
    "Hello", " Hello", "  two  spaces and   three ", " " * 16 + "x", " " * 17 + "x", " " * 40, "a" + " " * 33 + "b", "\n", "\n\n\nx\n\n y",
    "\n" * 20, " \n \n  \n", "\t\tx\t", "def f(x):\n    return x + 1\n\n\nclass A:\n        pass\n", "<start_of_turn>user\nHi<end_of_turn>\n",
    "<table><h1>The model</h1> </table>", "<h1><h1", "</em>x<em>  <em>", "1234567 3.14", "\u00e9 \U0001f680 na\u00efve \u4e2d\u6587", "<unused0><unused1>", "the tokens of the model",
    "a\u2581b", "<mask> <mask>", "<start_of_turn> <end_of_turn>", "<bos>x<eos>",
]
sp = sentencepiece.SentencePieceProcessor(model_file="gemma_like.model")
with open("gemma_like.json", "w", encoding="ascii") as out:
    json.dump({"made by": "make_gemma_like.py", "cases": [[text, sp.encode(text)] for text in TEXTS]}, out, separators=(",", ":"))
    out.write("\n")
