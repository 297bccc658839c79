#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN: report and tune in ranks: one record of all devices, the fastest profile of all searches, failures in one sentence."""
import json
import os
import signal
import subprocess
import tempfile
import time

from ranks import ENVIRONMENT, FLAGS, MODEL, MPIRUN, PROGRAM, check, errors_of, finish, other_build, refused, run, two

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
folder = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(folder.name, name)


def load(name):
    with open(path(name), encoding="utf-8") as file:
        return json.load(file)


with open(path("prompts.jsonl"), "w", encoding="utf-8") as prompt_file:
    prompt_file.write("".join(json.dumps({"prompt": f"def function_{i}(a, b):"}) + "\n" for i in range(4)))
TUNE = ["tune", "-m", MODEL, "--prompts", path("prompts.jsonl"), "-n", "8", "--no-baseline"]


def one_record():
    result = run(2, "report", "--quick", "-o", path("record.json"))
    check(result.returncode == 0 and not errors_of(result.stderr), f"report: {result.stderr}")
    record = load("record.json")
    check(len(record["systems"]) == 2 and [device["host"] for device in record["devices"]] == [0, 1], f"report: {record}")
    try:
        import jsonschema
        with open(os.path.join(DOCS, "report.schema.json"), encoding="utf-8") as schema:
            jsonschema.validate(record, json.load(schema))
    except ImportError:
        print("there is no jsonschema: the record is not checked against the schema")
    compared = run(1, "compare", "--json", path("record.json"))
    devices = json.loads(compared.stdout)["devices"] if compared.returncode == 0 else []
    check([device["name"].startswith("llvmpipe") for device in devices] == [True, True], f"compare: {compared.stdout} {compared.stderr}")


def failures_of_report():
    refused(run(2, "report", "--quick", "-o", path("nowhere/record.json")), 1, "nowhere", "an output in no folder")
    quick = ["report", "--quick", "-o", path("none.json")]
    refused(two(quick, [*quick, "--device", "nothing"]), 4, "rank 1: 'nothing'", "a device that rank 1 lacks")
    other = path("other")
    if other_build(other):
        refused(two(quick, quick, other), 1, "rank 1 runs skipstone", "a rank of another build")
        os.remove(other)


def interrupted_search():
    """What has been tried is kept, by each rank."""
    command = [MPIRUN, *FLAGS, "-n", "2", PROGRAM, *TUNE, "--iterations", "2000", "-o", path("found.json")]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 100
        states = [path("found.state.json"), path("found.rank1.state.json")]
        while not all(map(os.path.exists, states)) and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        check(all(map(os.path.exists, states)) and process.poll() is None, "tune: no states of two ranks")
        process.send_signal(signal.SIGINT)
        check(process.wait(20) != 0, "an interrupted search ends with 0")
    # Rank 0 may have the time to write its best set as a profile.
    check(not os.path.exists(path("found.json")) or load("found.json")["format"] == "skipstone-profile", "an interrupted job leaves no whole profile")


def one_profile():
    result = run(2, *TUNE, "--iterations", "21", "-o", path("found.json"), "--json")
    check(result.returncode == 0 and not errors_of(result.stderr), f"tune: {result.stderr}")
    document = json.loads(result.stdout)
    ranks = document["ranks"]
    check([rank["evaluations"] for rank in ranks] == [11, 10] and all(rank["measured"] for rank in ranks), f"tune: {ranks}")
    check(document["resumed"] > 0, "tune: it does not go on where it was interrupted")
    best = max(ranks, key=lambda rank: rank["speedup"])
    profile = load("found.json")
    check(profile == document["profile"] and profile["measured"]["speedup"] == best["speedup"] and profile["skip_set"] == best["skip_set"], f"tune: {profile} {ranks}")
    check(load("found.rank1.json")["found"]["seed"] == profile["found"]["seed"] + (1 if best["rank"] == 0 else 0), "tune: rank 1's seed")
    arguments = ["run", "-m", MODEL, "-p", "def parse(self, text):\n    ", "-n", "24"]
    plain, drafted = run(1, *arguments), run(1, *arguments, "--draft", "skip:" + path("found.json"))
    check((drafted.returncode, drafted.stdout) == (0, plain.stdout), f"run: {drafted.stdout!r} {drafted.stderr}, plain {plain.stdout!r}")
    text = run(2, *TUNE, "--minutes", "0.02", "-o", path("found.json"))
    check(text.returncode == 0 and text.stdout.count("\nrank 1 ") == 1 and text.stdout.count("found.json: ") == 1, f"tune: {text.stdout} {text.stderr}")


def failures_of_tune():
    refused(run(2, *TUNE, "--iterations", "1", "-o", path("none.json")), 2, "--iterations 1", "one set for two ranks")
    refused(run(2, *TUNE, "-o", path("none.json"), environment={"SKIPSTONE_SAME_DEVICE": ""}), 4, "rank 1 has no device", "one device for two ranks")
    with open(path("broken.jsonl"), "w", encoding="utf-8") as file:
        file.write("{\n")
    broken = [path("broken.jsonl") if argument == path("prompts.jsonl") else argument for argument in TUNE]
    refused(two([*TUNE, "-o", path("none.json")], [*broken, "-o", path("none.json")]), 2, "rank 1: ", "prompts that rank 1 refuses")
    os.remove(path("broken.jsonl"))
    os.mkdir(path("none.rank1.json"))
    refused(run(2, *TUNE, "-o", path("none.json")), 1, "none.rank1.json", "rank 1's profile is a folder")
    os.rmdir(path("none.rank1.json"))


one_record()
failures_of_report()
interrupted_search()
one_profile()
failures_of_tune()
left = sorted(os.listdir(folder.name))
check(left == ["found.json", "found.rank1.json", "found.rank1.state.json", "found.state.json", "prompts.jsonl", "record.json"], f"files: {left}")
folder.cleanup()
finish()
