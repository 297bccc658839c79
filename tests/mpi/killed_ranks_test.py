#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN TRIES: a rank that is killed, or stops, ends the whole job within 10 s: with a sentence of rank 0 where it lives."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from ranks import ENVIRONMENT, MODEL, check, children, command, errors_of, finish, state_of, wait_until

TRIES = int(sys.argv[4])
LIMIT = 10  # seconds


def one_try(ranks, victim, how, phase, pause):
    name = f"{how.name} of rank {victim} of {ranks} in {phase}, {pause:.2f} s"
    # Hops make each phase last: the load asks all stages several times, the prompt takes several passes.
    prompt = "def f(a):\n    return a + 1\n\n" * 40
    arguments = ["run", "-m", MODEL, "-p", prompt, "-n", "400", "--draft", "none", "--devices", "mpi", "--transfer-ms", "60"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command(ranks, arguments), env={**ENVIRONMENT, "SKIPSTONE_LOG": "info"}, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        shown = {"load": lambda: os.fstat(errors.fileno()).st_size > 0, "prompt": lambda: os.fstat(out.fileno()).st_size > 0,
                 "round": lambda: os.fstat(out.fileno()).st_size > len(prompt) + 2}[phase]
        check(wait_until(shown, 150), f"{name}: it does not come so far")
        pids = children(process.pid)
        check(len(pids) == ranks, f"{name}: there are only ranks {sorted(pids)}")
        time.sleep(pause)
        check(all(map(state_of, pids.values())), f"{name}: it has ended before")
        begun = time.monotonic()
        os.kill(pids[victim], how)
        gone = wait_until(lambda: process.poll() is not None and not any(map(state_of, pids.values())), LIMIT)
        seconds = time.monotonic() - begun
        check(gone, f"{name}: after {LIMIT} s there are {[rank for rank, pid in pids.items() if state_of(pid)]} and mpirun: {process.poll()}")
        if not gone:
            for pid in [*pids.values(), process.pid]:
                if state_of(pid):
                    os.kill(pid, signal.SIGKILL)
        code = process.wait()
        check(code != 0, f"{name}: the exit code is 0")
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    sentences = errors_of(text)
    if victim == 0 and how == signal.SIGKILL:  # nobody is left to say it
        check(len(sentences) <= 1, f"{name}: {text}")
    else:
        part = f"rank {victim} has not answered" if how == signal.SIGSTOP else "ended"
        check(len(sentences) == 1 and part in sentences[0], f"{name}: {text}")
    print(f"{name}: {seconds:.1f} s, exit code {code}, {sentences}", flush=True)


random.seed(TRIES)
cases = [(2, victim, how, phase) for phase in ("load", "prompt", "round") for victim in (0, 1) for how in (signal.SIGKILL, signal.SIGSTOP)]
cases += [(3, victim, how, phase) for phase in ("load", "prompt", "round") for victim in (0, 1, 2) for how in (signal.SIGKILL, signal.SIGSTOP)]
assert len(cases) == 30
if TRIES < len(cases):  # one of each kind
    cases = [(2, 1, signal.SIGKILL, "round"), (2, 1, signal.SIGSTOP, "prompt"), (3, 0, signal.SIGKILL, "load")][:TRIES]
for case in cases:
    one_try(*case, pause=random.uniform(0, 0.4))
finish()
