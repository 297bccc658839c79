#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN: what cannot be is one sentence of rank 0, its exit code, and no rank that waits for ever."""
from ranks import MODEL, check, errors_of, finish, run

RUN = ["run", "-m", MODEL, "-p", "def f(", "-n", "8"]


def refused(ranks, arguments, code, part, environment=None):
    result = run(ranks, *arguments, environment=environment)
    errors = errors_of(result.stderr)
    check(len(errors) == 1 and part in errors[0], f"{arguments} in {ranks} ranks: {result.stderr}")
    check(result.returncode == code, f"{arguments} in {ranks} ranks ends with {result.returncode}, not {code}")


refused(1, [*RUN, "--devices", "mpi"], 2, "mpirun -n 2")
refused(2, ["run", "-m", "/nowhere.gguf", "-p", "x", "--devices", "mpi"], 3, "no such file")
refused(2, ["run", "-m", MODEL, "--devices", "mpi"], 2, "no prompt")
refused(2, [*RUN, "--bogus", "--devices", "mpi"], 2, "--bogus")
refused(2, [*RUN, "--devices", "mpi:1"], 2, "layers for 1 ranks")
refused(3, [*RUN, "--devices", "mpi:1,2"], 2, "layers for 2 ranks")
refused(2, [*RUN, "--devices", "mpi:1,x"], 2, "'x'")
refused(2, [*RUN, "--devices", "mpi:0,20"], 2, "'0'")
refused(2, [*RUN, "--devices", "mpi:"], 2, "''")
refused(2, [*RUN, "--devices", "mpi:3,3"], 2, "gives out 6 layers")
refused(2, [*RUN, "--devices", "mpi:99999999999,1"], 2, "99999999999")
refused(2, [*RUN, "--devices", "mpi", "--hop-ms", "x"], 2, "--hop-ms")
refused(2, [*RUN, "--devices", "mpi", "--draft", "nothing"], 2, "nothing")
refused(2, [*RUN, "--devices", "mpi"], 4, "rank 1 has no device: its machine has 1 for 2 ranks", {"SKIPSTONE_SAME_DEVICE": ""})
refused(2, [*RUN, "--devices", "mpi"], 4, "", {"VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"})
finish()
