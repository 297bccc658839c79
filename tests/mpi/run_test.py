#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN [all]: texts of a model whose layers lie in several ranks are those of one process. all: with every drafter."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from ranks import ENVIRONMENT, MODEL, check, children, command, errors_of, finish, run, wait_until

PROMPT = "def parse(self, text):\n    "
ALL = sys.argv[4:] == ["all"]


def drafters():
    if not ALL:
        return ["none", "asd", "auto"]
    tool = (pathlib.Path(__file__).parents[2] / "tools/lossless").read_text(encoding="utf-8")
    return ["none", *re.findall(r'"([^"]+)"', re.search(r"DRAFTERS = \[(.*?)\]", tool, re.S)[1])]


def texts():
    for drafter in drafters():
        for sampling in ([], ["--temp", "0.8", "--seed", "7"]):
            arguments = ["run", "-m", MODEL, "-p", PROMPT, "-n", "24", "--draft", drafter, *sampling]
            alone = run(1, *arguments)
            check(alone.returncode == 0, f"{arguments}: {alone.stderr}")
            for ranks in (2, 3) if ALL or drafter in ("none", "auto") else (2,):
                shared = run(ranks, *arguments, "--devices", "mpi")
                check(shared.returncode == 0, f"{ranks} ranks, {arguments}: {shared.stderr}")
                check(shared.stdout == alone.stdout, f"{ranks} ranks, {drafter} {sampling}: another text: {shared.stdout!r}, alone {alone.stdout!r}")
                check(not errors_of(shared.stderr), f"{ranks} ranks, {drafter}: {shared.stderr}")


def layers_and_variables():
    arguments = ["run", "-m", MODEL, "-p", PROMPT, "-n", "24"]
    alone = run(1, *arguments).stdout
    metadata = json.loads(run(1, "inspect", MODEL, "--json").stdout)["metadata"]
    layers = next(int(entry["value"]) for entry in metadata if entry["key"].endswith(".block_count"))
    for devices in (f"mpi:1,{layers - 1}", f"mpi:{layers - 1},1"):
        shared = run(2, *arguments, "--devices", devices)
        check((shared.returncode, shared.stdout) == (0, alone), f"--devices {devices}: {shared.stdout!r} {shared.stderr}")
    shared = run(2, *arguments, environment={"SKIPSTONE_DEVICES": "mpi"})
    check((shared.returncode, shared.stdout) == (0, alone), f"SKIPSTONE_DEVICES=mpi: {shared.stdout!r} {shared.stderr}")
    shared = run(2, *arguments, "--devices=mpi", "--transfer-ms", "2")
    check((shared.returncode, shared.stdout) == (0, alone), f"--transfer-ms: {shared.stdout!r} {shared.stderr}")


def memory():
    """A rank holds its layers' weights, its pages and at most 64 MB (docs/many-devices.md)."""
    with tempfile.TemporaryDirectory() as folder:
        prompts = os.path.join(folder, "prompts.jsonl")
        with open(prompts, "w", encoding="utf-8") as file:
            file.write('{"prompt": "def add(a, b):"}\n')
        arguments = ["bench", "-m", MODEL, "--prompts", prompts, "-n", "16", "--draft", "none,exit", "--format", "jsonl"]
        for ranks in (2, 3):
            result = run(ranks, *arguments, "--devices", "mpi")
            stages = json.loads(result.stdout.splitlines()[0])["stages"]
            check(len(stages) == ranks and stages[0]["layers"][0] == 0, f"{ranks} ranks: {stages}")
            for stage in stages:
                check(0 < stage["weights"] < os.path.getsize(MODEL) * (0.9 if ranks == 2 else 0.7), f"{ranks} ranks: weights of all: {stage}")
                check(stage["weights"] < stage["held"] <= stage["weights"] + stage["kv"] + (64 << 20), f"{ranks} ranks: {stage}")


def other_commands():
    # mpirun gives rank 0 a terminal as standard output.
    talk = "Hello\n/exit\n"
    alone, shared = (run(ranks, "chat", "-m", MODEL, "-n", "16", *devices, text=talk, environment={"NO_COLOR": "1"}) for ranks, devices in ((1, []), (2, ["--devices", "mpi"])))
    check(alone.returncode == 0 and len(alone.stdout) > 8, f"chat alone: {alone.stdout!r} {alone.stderr}")
    check((shared.returncode, shared.stdout) == (0, alone.stdout), f"chat: {shared.stdout!r} {shared.stderr}; alone {alone.stdout!r}")
    with tempfile.TemporaryDirectory() as folder:
        prompts = os.path.join(folder, "prompts.jsonl")
        with open(prompts, "w", encoding="utf-8") as file:
            file.write('{"prompt": "def add(a, b):"}\n{"prompt": "class Stack:"}\n')
        # Two models, one after the other: the ranks serve both.
        result = run(2, "bench", "-m", MODEL, "-m", MODEL, "--prompts", prompts, "-n", "16", "--draft", "none,asd", "--devices", "mpi", "--format", "jsonl")
    records = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    check(result.returncode == 0 and len([r for r in records if r["record"] == "run"]) == 8, f"bench: {result.stdout} {result.stderr}")


def interrupted(arguments, begun):
    """SIGINT to rank 0 when `begun` holds of what two ranks have printed and said: what they have printed when they have ended as one process does."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(command(2, [*arguments, "--devices", "mpi", "--transfer-ms", "20"]), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)

        def said(stream):
            stream.seek(0)
            return stream.read()

        check(wait_until(lambda: begun(said(out), said(errors)), 100), f"{arguments}: it does not come so far")
        os.kill(children(process.pid)[0], signal.SIGINT)
        gone = wait_until(lambda: process.poll() is not None, 20)
        check(gone and process.returncode == 130 and not errors_of(said(errors)), f"{arguments}: interrupted: {process.returncode}, {said(errors)[-800:]}")
        if not gone:
            process.kill()
        return said(out)


def interruptions():
    arguments = ["run", "-m", MODEL, "-p", PROMPT, "--draft", "none", "-n"]
    text, whole = interrupted([*arguments, "400"], lambda out, _: len(out) > len(PROMPT) + 10), run(1, *arguments, "400").stdout
    check(len(text) < len(whole) / 2 and whole.startswith(text.rstrip("\n")), f"run: interrupted: {text!r}")
    prompts = pathlib.Path(MODEL).parent / "prompts/code_editing.jsonl"
    out = interrupted(["bench", "-m", MODEL, "--prompts", str(prompts), "-n", "24", "--draft", "none,asd", "--format", "jsonl"], lambda _, errors: "prompt 3 of 20" in errors)
    records = [json.loads(line) for line in out.splitlines()]
    check(0 < sum(record["record"] == "run" for record in records) < 20, f"bench: interrupted: {out[:800]}")
    check(any(record.get("interrupted") for record in records), f"bench: does not say that it was interrupted: {out[:800]}")


def experts_on_host():
    """Experts in host memory of layers of both ranks, as many as asked and as the limit of the first rank needs."""
    model = pathlib.Path(__file__).parents[3] / "shared/data/arch/qwen3moe/model.gguf"
    if not model.exists():
        print(f"{model} is not there: skipped")
        return
    arguments = ["run", "-m", str(model), "--prompt-tokens", "1,300,301,302", "-n", "24", "--ctx", "256", "--temp", "0", "--ignore-end", "--json"]
    alone = json.loads(run(1, *arguments).stdout)["tokens"]
    first = json.loads(run(1, "devices", "--plan", "-m", str(model), "--ctx", "256", "--json").stdout)["stages"][0]
    for draft in ("none", "exit:1,k=4", "suffix"):
        result = run(2, *arguments, "--draft", draft, "--devices", "mpi:4,2", "--experts-on-host", "5")
        check(result.returncode == 0, f"experts on the host, {draft}: {result.stderr}")
        answer = json.loads(result.stdout)
        check(answer["tokens"] == alone and answer["device"]["experts_on_host"] == 5, f"experts on the host, {draft}: {answer}")
    needed = first["weights"] * 4 // 6 + first["kv"] + first["activations"] + (3 << 20)
    result = run(2, *arguments, "--devices", "mpi:4,2", "--memory", str(needed - (1 << 18)))
    check(result.returncode == 0, f"experts on the host by the limit: {result.stderr}")
    answer = json.loads(result.stdout)
    check(answer["tokens"] == alone and answer["device"]["experts_on_host"] > 0, f"experts on the host by the limit: {answer}")


texts()
interruptions()
layers_and_variables()
memory()
other_commands()
experts_on_host()
finish()
