"""Training text: documents by source, a SentencePiece tokenizer over them, and shards of token ids.

    python3 corpus.py --text DIR --out DIR

DIR of texts holds the four archives named in SOURCES. The output folder gets tokenizer.model and, for each source, SOURCE.train.npy and
SOURCE.heldout.npy (uint16 ids; every document is <s> text </s>). The split is by a hash of the document's name, so it never changes.
"""

import argparse
import hashlib
import io
import json
import lzma
import re
import tarfile
from pathlib import Path

import numpy
import sentencepiece

VOCABULARY = 8192
HELDOUT_PER_MILLE = 20


def _tar_members(path, suffix, skip):
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(suffix) and not any(part in member.name for part in skip):
                yield member.name, archive.extractfile(member).read().decode("utf-8", errors="replace")


def _python_library(text):
    # Tests and tables would teach lists of constants rather than programs.
    skip = ("/test/", "/tests/", "/encodings/", "/idlelib/idle_test/", "/lib2to3/", "/pydoc_data/", "/ensurepip/")
    return _tar_members(text / "python_stdlib_rustpython_Lib.tar.xz", ".py", skip)


def _algorithms(text):
    return _tar_members(text / "thealgorithms_python.tar.xz", ".py", ())


def _word_problems(text):
    """GSM8K's training questions with their worked answers, without the <<calculator>> annotations."""
    lines = lzma.open(text / "gsm8k-train.jsonl.xz", "rt", encoding="utf-8")
    for number, line in enumerate(lines):
        item = json.loads(line)
        answer = re.sub(r"<<[^>]*>>", "", item["answer"])
        yield f"gsm8k/{number}", f"Question: {item['question']}\nAnswer: {answer}\n"


def _novels(text):
    """Novels in pieces of about 8000 characters, so that the held-out pieces come from many books."""
    for name, novel in _tar_members(text / "english_novels_100.tar.xz", ".txt", ()):
        paragraphs = io.StringIO(novel.replace("\r\n", "\n"))
        piece, count = [], 0
        for line in paragraphs:
            piece.append(line)
            count += len(line)
            if count >= 8000 and not line.strip():
                yield f"{name}/{len(piece)}/{hashlib.sha1(''.join(piece).encode()).hexdigest()}", "".join(piece)
                piece, count = [], 0
        if piece:
            yield f"{name}/end", "".join(piece)


# Share of the training tokens that each source gets (train.py draws sources with these weights).
SOURCES = {
    "library": (_python_library, 0.35),
    "algorithms": (_algorithms, 0.25),
    "problems": (_word_problems, 0.25),
    "novels": (_novels, 0.15),
}


def heldout(name):
    """Whether a document is kept out of training: two in a hundred, by its name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little") % 1000 < HELDOUT_PER_MILLE


def train_tokenizer(documents, out):
    """SentencePiece BPE: bytes where no piece fits (a line end among them), pieces of spaces for indentation, text left as it is."""
    budget = 12_000_000
    sample = []
    for source, (_, share) in SOURCES.items():
        left = int(budget * share)
        for name, text in documents[source]:
            if left <= 0:
                break
            if not heldout(name):
                sample.append(text)
                left -= len(text)
    lines = (line for text in sample for line in text.splitlines(keepends=False) if line)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_prefix=str(out / "tokenizer"),
        model_type="bpe",
        vocab_size=VOCABULARY,
        byte_fallback=True,
        character_coverage=0.9995,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        split_digits=True,
        max_sentence_length=65536,
        num_threads=1,
        minloglevel=1,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="folder of the archives")
    parser.add_argument("--out", type=Path, required=True, help="folder for tokenizer.model and the shards")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    documents = {source: list(read(arguments.text)) for source, (read, _) in SOURCES.items()}
    if not (arguments.out / "tokenizer.model").exists():
        train_tokenizer(documents, arguments.out)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(arguments.out / "tokenizer.model"))
    for source, items in documents.items():
        kept = {"train": [], "heldout": []}
        for name, text in items:
            kept["heldout" if heldout(name) else "train"].append(text)
        for split, texts in kept.items():
            ids = tokenizer.encode(texts, add_bos=True, add_eos=True)
            flat = numpy.fromiter((i for document in ids for i in document), dtype=numpy.uint16)
            numpy.save(arguments.out / f"{source}.{split}.npy", flat)
            print(f"{source:12} {split:8} {len(texts):6} documents {len(flat):9} tokens "
                  f"{sum(len(text.encode()) for text in texts) / max(len(flat), 1):.2f} bytes per token", flush=True)


if __name__ == "__main__":
    main()
