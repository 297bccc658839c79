"""Rows of tokens for training and evaluation, drawn from the shards that corpus.py wrote."""

import numpy
import torch

from corpus import SOURCES


class Batches:
    """Rows of `context` + 1 tokens drawn from the sources by their shares; every row starts with <s>, as every prompt does."""

    BOS = 1

    def __init__(self, corpus, split, seed):
        self.tokens = {source: numpy.load(corpus / f"{source}.{split}.npy") for source in SOURCES}
        self.seed = seed

    def draw(self, step, rows, context):
        random = numpy.random.default_rng([self.seed, step])
        sources = random.choice(len(SOURCES), size=rows, p=[share for _, share in SOURCES.values()])
        batch = numpy.empty((rows, context + 1), dtype=numpy.int64)
        for row, source in zip(batch, sources):
            tokens = self.tokens[list(SOURCES)[source]]
            start = random.integers(0, len(tokens) - context)
            row[0] = self.BOS
            row[1:] = tokens[start : start + context]
        return torch.from_numpy(batch)
