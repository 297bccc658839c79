#!/usr/bin/env python3
"""PROGRAM MODEL MPIRUN: a server whose model lies in several ranks answers as one alone does, and ends in peace where rank 0 gets SIGINT."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.request

from ranks import ENVIRONMENT, MODEL, check, children, command, errors_of, finish, state_of, wait_until

PROMPTS = ["def parse(self, text):\n    ", "class Stack:\n", "The sea was calm, and", "import os\nimport sys\n\n\ndef main():\n"]
QUESTIONS = [{"prompt": prompt, "max_tokens": 24, "seed": 7, **how} for prompt in PROMPTS for how in ({"temperature": 0}, {"temperature": 0.8, "top_p": 0.9})]


class Server:
    def __init__(self, ranks):
        self.name, self.ranks, self.text = f"{ranks} ranks", ranks, ""
        devices = ["--devices", "mpi"] if ranks > 1 else []
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command(ranks, ["serve", "-m", MODEL, "--port", "0", *devices]), env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.errors)
        wait_until(lambda: "Serving" in self.said() or self.process.poll() is not None, 100)
        address = re.search(r"http://\S+:\d+", self.said())
        check(address is not None, f"{self.name}: no server: {self.text}")
        self.address = address[0] if address else ""
        self.pids = children(self.process.pid) if ranks > 1 else {0: self.process.pid}

    def said(self):
        self.errors.seek(0)
        self.text = self.errors.read().decode(errors="replace")
        return self.text

    def ask(self, question):
        request = urllib.request.Request(self.address + "/v1/completions", json.dumps(question).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=100) as answer:
            return json.load(answer)["choices"][0]

    def interrupt(self):
        os.kill(self.pids[0], signal.SIGINT)
        gone = wait_until(lambda: self.process.poll() is not None and not any(map(state_of, self.pids.values())), 40)
        check(gone and self.process.wait() == 0, f"{self.name}: SIGINT: exit code {self.process.poll()}")
        check("Ending" in self.said() and not errors_of(self.text), f"{self.name}: SIGINT: {self.text}")
        if not gone:
            self.process.kill()
        self.errors.close()


def texts(server, last):
    with concurrent.futures.ThreadPoolExecutor(len(QUESTIONS)) as asking:
        answers = list(asking.map(server.ask, QUESTIONS))
        long = asking.submit(server.ask, last)
        wait_until(long.done, 0.3)
        check(not long.done(), f"{server.name}: the last answer is there before the server is to end")
        server.interrupt()
        answers.append(long.result())
    return [(answer["text"], answer["finish_reason"]) for answer in answers]


# The last one is still being answered when the server is to end.
LONG = {"prompt": PROMPTS[0], "max_tokens": 300, "temperature": 0}
alone = texts(Server(1), LONG)
check(len(alone) == len(QUESTIONS) + 1 and all(text for text, _ in alone), f"alone: {alone}")
for count in (2, 3):
    several = texts(Server(count), LONG)
    check(several == alone, f"{count} ranks: {several}, alone {alone}")
finish()
