#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN: prompts that bench shares out to ranks: each is run once, with the tokens that one process gives it."""
import json
import os
import tempfile

from ranks import MODEL, check, errors_of, finish, run

folder = tempfile.TemporaryDirectory()
prompts = os.path.join(folder.name, "prompts.jsonl")
with open(prompts, "w", encoding="utf-8") as prompt_file:
    prompt_file.write("".join(json.dumps({"prompt": f"def function_{i}(a, b):"}) + "\n" for i in range(5)))
BENCH = ["bench", "-m", MODEL, "--prompts", prompts, "-n", "12", "--draft", "none,asd"]


def records_of(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def tokens_of(ranks):
    path = os.path.join(folder.name, f"tokens{ranks}.jsonl")
    result = run(ranks, *BENCH, "--repeat", "2", "--format", "jsonl", "--save-tokens", path)
    check(result.returncode == 0 and not errors_of(result.stderr), f"{ranks} ranks: {result.stderr}")
    runs = [(r["prompt"], r["repeat"], r["drafter"]) for r in records_of(result) if r["record"] == "run"]
    check(len(runs) == len(set(runs)) == 20, f"{ranks} ranks: {len(set(runs))} of 20 runs, {len(runs)} with repetitions")
    shares = [r["prompts"] for r in records_of(result) if r["record"] == "rank"]
    with open(path, encoding="utf-8") as tokens:
        return tokens.read(), shares


alone, none = tokens_of(1)
check(none == [], f"one process has ranks: {none}")
for number, expected in ((2, [3, 2]), (3, [2, 2, 1]), (6, [1, 1, 1, 1, 1, 0])):
    shared, prompts_of_ranks = tokens_of(number)
    check(shared == alone, f"{number} ranks give other tokens")
    check(prompts_of_ranks == expected, f"{number} ranks have {prompts_of_ranks} prompts")
table = run(2, *BENCH)
check(table.stdout.count("# skipstone bench") == 1 and "| rank |" in table.stdout, table.stdout)


def refused(arguments, code, part, environment=None):
    result = run(2, *arguments, environment=environment)
    errors = errors_of(result.stderr)
    check(len(errors) == 1 and part in errors[0] and result.returncode == code, f"{arguments}: {result.returncode}, {result.stderr}")


refused(["bench", "-m", MODEL, "-p", "8"], 2, "--prompts FILE")
refused([*BENCH, "--preset", "exit"], 2, "--prompts FILE")
refused(["bench", "-m", "/nowhere.gguf", "--prompts", prompts], 3, "no such file")
refused([*BENCH, "--bogus"], 2, "--bogus")
refused(BENCH, 4, "rank 1 has no device: its machine has 1 for 2 ranks", {"SKIPSTONE_SAME_DEVICE": ""})
folder.cleanup()
finish()
