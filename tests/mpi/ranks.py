"""What the tests of ranks share: starting mpirun, and checks that say what was wrong."""
import os
import shutil
import subprocess
import sys
import time

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


def two(first, second, program=PROGRAM, folders=(".", ".")):
    """Rank 1 is started with other arguments, in another folder, or is another program."""
    command = [MPIRUN, *FLAGS, "-n", "1", "--wdir", folders[0], PROGRAM, *first, ":", "-n", "1", "--wdir", folders[1], program, *second]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, encoding="utf-8", errors="replace", timeout=120, check=False)


def other_build(path):
    """Writes the program with the name of another commit; False where that is not in the file: the program is linked to a library."""
    commit = run(1, "--version").stdout.split("(")[1].split(")")[0].encode()
    with open(PROGRAM, "rb") as file:
        program = file.read()
    if commit not in program:
        print("the program is linked to a library: no rank of another build")
        return False
    with open(path, "wb") as file:
        file.write(program.replace(commit, b"x" * len(commit)))
    shutil.copymode(PROGRAM, path)
    return True


def refused(result, code, part, name):
    errors = errors_of(result.stderr)
    check(len(errors) == 1 and part in errors[0] and result.returncode == code, f"{name}: {result.returncode}, {result.stderr}")


def errors_of(stderr):
    """The program's own sentences; mpirun says things of its own."""
    return [line for line in stderr.split("\n") if line.startswith("error: ")]


def rank_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
        return int(variables[b"OMPI_COMM_WORLD_RANK"])
    except (OSError, KeyError):
        return None


def state_of(pid):
    """ "" where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0].replace("Z", "")
    except OSError:
        return ""


def children(parent):
    """The ranks of mpirun's process `parent`, and the number of each one's process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent and rank_of(pid) is not None:
                    found[rank_of(pid)] = int(pid)
        except OSError:
            pass
    return found


def wait_until(holds, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what, flush=True)


def finish():
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
