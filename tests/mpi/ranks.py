"""What the tests of ranks share: starting mpirun, and checks that say what was wrong."""
import os
import subprocess
import sys

PROGRAM, MODEL, MPIRUN = sys.argv[1:4]
FLAGS = ["--oversubscribe", "--bind-to", "none", "--mca", "btl", "vader,self", "--mca", "plm", "isolated"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", SKIPSTONE_SAME_DEVICE="1", LP_NUM_THREADS="0")
failures = []


def command(ranks, arguments):
    return ([MPIRUN, *FLAGS, "-n", str(ranks)] if ranks > 1 else []) + [PROGRAM, *arguments]


def run(ranks, *arguments, environment=None, text=None):
    """The program in so many ranks, or alone; a time-out is a failure of the test."""
    return subprocess.run(command(ranks, arguments), env={**ENVIRONMENT, **(environment or {})}, input=text, capture_output=True,
                          encoding="utf-8", errors="replace", timeout=120, check=False)


def errors_of(stderr):
    """The program's own sentences; mpirun says things of its own."""
    return [line for line in stderr.split("\n") if line.startswith("error: ")]


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what, flush=True)


def finish():
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
