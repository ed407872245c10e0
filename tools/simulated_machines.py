# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scripts that measure policies share: runs of programs, machines drawn by chance, and the figures that tables
are made of."""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys


COUNT = {"jacobi": "--iterations", "mpdata": "--steps"}
QUIET = {"STARPU_SILENT": "1", "APPORTION_LEARN": "0"}


def size_arguments(size):
    """Of "512x128x64:40", which has iterations, those for the size."""
    return ["--size", size.partition(":")[0].replace("x", ",")]


class Failed(Exception):
    """One sentence."""


def environment_of(variables):
    """Of nothing but what a run is told: neither the user's variables nor what was learnt before."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("APPORTION_", "STARPU_"))}
    return own | QUIET | variables


def output_of(command, environment, limit_s=None):
    """What the program prints. Fails with the last line of what it says beside."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                              timeout=limit_s, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"had not ended after {limit_s:g} s") from None
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise Failed(f"exit status {done.returncode}: {lines[-1] if lines else 'no message'}")
    return done.stdout


class Machine:
    """A platform drawn by chance, and what programs need to run on it. All their files go into `folder`."""

    def __init__(self, build, folder, seed, limit_s=600, variables=None):
        self.build, self.folder, self.limit_s = build, folder, limit_s
        self.file = folder / f"random-{seed}.toml"
        self.environment = environment_of({"XDG_CACHE_HOME": str(folder)} | (variables or {}))
        self.file.write_text(self.ask("platform", "--random", seed), encoding="utf-8")

    def ask(self, *arguments):
        """What the `apportion` command prints."""
        return output_of([self.build / "tools/apportion", *arguments], self.environment, self.limit_s)

    def describe(self):
        """The platform as JSON."""
        return json.loads(self.ask("platform", self.file, "--json"))

    def seconds(self, app, size, repeat, variables):
        """The makespans of a load that is submitted `repeat` times in one process, or the sum of iterations' makespans."""
        command = [self.build / "tools/apportion", "platform", self.file, self.build / "apps" / app, *size_arguments(size), "--json"]
        if app not in COUNT:
            return json.loads(output_of([*command, "--repeat", repeat], self.environment | variables, self.limit_s))["runs"]
        report = self.folder / "iterations.jsonl"
        report.unlink(missing_ok=True)
        output_of([*command, COUNT[app], size.partition(":")[2]],
                  self.environment | variables | {"APPORTION_REPORT": str(report)}, self.limit_s)
        runs = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        loads = [k for k, run in enumerate(runs) if run["run"] == 1] + [len(runs)]  # the first counts: others compute the error
        return [sum(run["makespan_seconds"] for run in runs[:loads[1]])]


def below(values, share):
    """The value that this share of the ascending values is not above."""
    return values[max(math.ceil(share * len(values)) - 1, 0)]


def for_all(measure, tasks, jobs, what):
    """The results of measure(task) in the order of the tasks, `jobs` at a time, with progress on a terminal."""
    shown = sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, result in enumerate(pool.map(measure, tasks), 1):
            if shown:
                print(f"\r{done} of {len(tasks)} {what}", end="", file=sys.stderr, flush=True)
            yield result
    if shown:
        print("\r\033[K", end="", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def seed_range(text):
    first, dots, last = text.partition("..")
    if not first.isdigit() or (dots and not last.isdigit()) or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"{text}: give A..B, whole numbers from 0 on, A <= B")
    return range(int(first), int(last or first) + 1)


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number from 1 on")
    return int(text)


def names(text):
    return [name for name in text.split(",") if name]
