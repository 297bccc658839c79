#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN: what cannot be is one sentence of rank 0, its exit code, and no rank that waits for ever."""
import os
import shutil
import tempfile

from ranks import MODEL, finish, other_build, refused, run, two

RUN = ["run", "-m", MODEL, "-p", "def f(", "-n", "8"]


def cannot(ranks, arguments, code, part, environment=None):
    refused(run(ranks, *arguments, environment=environment), code, part, f"{arguments} in {ranks} ranks")


def ranks_that_differ():
    """One of another build, and one that finds another model behind the same path."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*RUN, "--devices", "mpi"]
        other = os.path.join(folder, "other")
        if other_build(other):
            refused(two(arguments, arguments, other), 2, "another version of Skipstone", "a rank of another build")
        folders = [os.path.join(folder, name) for name in ("first", "second")]
        for place, model in zip(folders, (MODEL, MODEL.replace("skipstone-py.gguf", "skipstone-py-plain.gguf"))):
            os.mkdir(place)
            shutil.copy(model, os.path.join(place, "model.gguf"))
        arguments = ["model.gguf" if argument == MODEL else argument for argument in arguments]
        refused(two(arguments, arguments, folders=folders), 2, "another model", "a rank with another model")


cannot(1, [*RUN, "--devices", "mpi"], 2, "mpirun -n 2")
cannot(2, ["run", "-m", "/nowhere.gguf", "-p", "x", "--devices", "mpi"], 3, "no such file")
cannot(2, ["run", "-m", MODEL, "--devices", "mpi"], 2, "no prompt")
cannot(2, [*RUN, "--bogus", "--devices", "mpi"], 2, "--bogus")
cannot(2, [*RUN, "--devices", "mpi:1"], 2, "layers for 1 ranks")
cannot(3, [*RUN, "--devices", "mpi:1,2"], 2, "layers for 2 ranks")
cannot(2, [*RUN, "--devices", "mpi:1,x"], 2, "'x'")
cannot(2, [*RUN, "--devices", "mpi:0,20"], 2, "'0'")
cannot(2, [*RUN, "--devices", "mpi:"], 2, "''")
cannot(2, [*RUN, "--devices", "mpi:3,3"], 2, "gives out 6 layers")
cannot(2, [*RUN, "--devices", "mpi:99999999999,1"], 2, "99999999999")
cannot(2, [*RUN, "--devices", "mpi", "--transfer-ms", "x"], 2, "--transfer-ms")
cannot(2, [*RUN, "--devices", "mpi", "--draft", "nothing"], 2, "nothing")
cannot(2, [*RUN, "--devices", "mpi"], 4, "rank 1 has no device: its machine has 1 for 2 ranks", {"SKIPSTONE_SAME_DEVICE": ""})
cannot(2, [*RUN, "--devices", "mpi"], 4, "", {"VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"})
ranks_that_differ()
finish()
