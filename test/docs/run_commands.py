#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of a page of the documentation and compares what they print with what the page shows.

run_commands.py PAGE.md SOURCE_FOLDER BUILD_FOLDER STARPU_PC_FOLDER

Commands are the lines that begin with "$ " in fenced blocks of the kind `console`; lines after a trailing backslash
belong to the command, the others are its output. Blocks of the kind `console not-run` are left out (they install,
take minutes, or need a simulated build), those of the kind `console needs-cuda` where there is no nvcc or StarPU has
no CUDA, those of the kind `console needs-opencl` where the machine or StarPU has no OpenCL. In those of the kind `console exact`, whose
figures no clock makes, numbers are as shown. All commands of a page run in one shell, in a copy of the source folder as it is after tools/build, with
compilers that take warnings for errors. Output is compared line by line: any number and unit of time stands for any
other, "..." for any text or, on a line of its own, any lines, and a command without output may print anything.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

MARK = "@@@ end of command"


def commands(page, kinds):
    """(line number, command, lines of output, whether numbers are those) in order, of blocks of these kinds."""
    found, fence = [], None
    with open(page) as lines:
        for number, line in enumerate(lines.read().splitlines(), 1):
            if line.startswith("```"):
                fence = line[3:].strip() if fence is None else None
            elif fence in kinds:
                if line.startswith("$ "):
                    found.append((number, [line[2:]], [], fence == "console exact"))
                elif found and found[-1][1][-1].endswith("\\") and not found[-1][2]:
                    found[-1][1].append(line)
                elif found:
                    found[-1][2].append(line)
                else:
                    sys.exit(f"{page}:{number}: output before the first command")
    return found


def pattern(line, exact):
    """What lines stand for this one: other numbers and units of time (unless exact), in columns of other widths."""
    parts = re.split(r"(\s+|[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?: (?:ns|us|ms|s)\b)?)", line.strip())
    expression = ""
    for part in parts:
        if "..." in part:
            expression += ".*".join(re.escape(text) for text in part.split("..."))
        elif not part or part.isspace():
            expression += r"\s*" if part else ""
        elif not exact and part.lstrip("+-")[0].isdigit():
            expression += r"[-+]?[\d][\d.,]*(?:e[-+]?\d+)?(?:\s*(?:ns|us|ms|s)\b)?"
        else:
            expression += re.escape(part)
    return re.compile(expression + r"\s*$")


def matches(shown, printed, exact):
    """Whether the printed lines are the shown ones."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(matches(shown[1:], printed[k:], exact) for k in range(len(printed) + 1))
    return (bool(printed) and bool(pattern(shown[0], exact).match(printed[0].strip())) and
            matches(shown[1:], printed[1:], exact))


def starpu_flags(folder, *options):
    run = subprocess.run(["pkg-config", *options, "starpu-1.4"], env=dict(os.environ, PKG_CONFIG_PATH=folder),
                         stdout=subprocess.PIPE, text=True, check=True)
    return [flag[2:] for flag in run.stdout.split()]


def kinds_of_blocks(folders):
    """Those that can be run with the StarPU of these headers."""
    kinds = ["console", "console exact"]
    for config in (os.path.join(folder, "starpu_config.h") for folder in folders):
        if os.path.exists(config):
            with open(config) as file:
                defined = file.read()
            if shutil.which("nvcc") and re.search(r"^#define STARPU_USE_CUDA 1", defined, re.M):
                kinds.append("console needs-cuda")
            opencl = subprocess.run(["pkg-config", "--exists", "OpenCL"]).returncode == 0
            if opencl and re.search(r"^#define STARPU_USE_OPENCL 1", defined, re.M):
                kinds.append("console needs-opencl")
    return kinds


def set_up(folder, source, build):
    # Copies: no command may change the source folder.
    shutil.copytree(source, folder, dirs_exist_ok=True,
                    ignore=lambda at, _: {"build", ".git", "results"} if at == source else ())
    os.mkdir(os.path.join(folder, "build"))
    os.symlink(build, os.path.join(folder, "build", "real"))
    os.mkdir(os.path.join(folder, ".bin"))
    # Backslashes in -D options are those of StarPU's pkg-config file, meant for make.
    for compiler, strict in (("cc", "-Wall -Wextra -Werror"), ("c++", "-Wall -Wextra -Werror"), ("nvcc", "")):
        path = shutil.which(compiler)
        if path:
            script = os.path.join(folder, ".bin", compiler)
            with open(script, "w") as file:
                file.write(f'#!/bin/bash\nexec {path} {strict} "${{@//\\\\/}}"\n')
            os.chmod(script, 0o755)


def main():
    page, source, build, starpu = sys.argv[1:]
    headers = starpu_flags(starpu, "--cflags-only-I")
    libraries = ":".join(starpu_flags(starpu, "--libs-only-L"))
    to_run = commands(page, kinds_of_blocks(headers))
    if not to_run:
        sys.exit(f"{page}: has no command to run")
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder, source, build)
        script = "set -e\n" + "".join(
            "\n".join(command) + f"\necho '{MARK}'$EPOCHREALTIME\n" for _, command, *_ in to_run)
        # What is not installed yet finds StarPU through the compilers' variables.
        headers = ":".join(headers)
        environment = dict(os.environ, XDG_DATA_HOME=os.path.join(folder, ".data"), LC_ALL="C", STARPU_SILENT="1",
                           STARPU_NCPU="2", STARPU_WORKERS_NOBIND="1", STARPU_NOPENCL="0",
                           PATH=os.path.join(folder, ".bin") + ":" + os.environ["PATH"],
                           PKG_CONFIG_PATH=os.path.join(build, "meson-uninstalled") + ":" + starpu,
                           C_INCLUDE_PATH=headers, CPLUS_INCLUDE_PATH=headers, LIBRARY_PATH=libraries,
                           LD_LIBRARY_PATH=os.path.join(build, "policies", "starpu") + ":" + libraries)
        environment.pop("APPORTION_LEARN", None)  # as for users, in a folder of its own
        with open(page) as text:
            if "console needs-cuda" in text.read():
                environment.pop("STARPU_NCUDA", None)
        begun = time.time()
        run = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
    parts = re.split(re.escape(MARK) + r"([\d.]+)\n", run.stdout)
    outputs, ends = parts[::2], [begun] + [float(end) for end in parts[1::2]]
    seconds = [end - start for start, end in zip(ends, ends[1:])] + [time.time() - ends[-1]]
    failed = run.returncode != 0
    for (number, command, shown, exact), printed, took in zip(to_run, outputs, seconds):
        lines = [line for line in printed.splitlines() if not line.startswith("[starpu]")]
        right = not shown or matches(shown, lines, exact)
        failed = failed or not right
        print(f"{page}:{number}: {'as shown' if right else 'DIFFERS'}, {took:.1f} s: {command[0]}")
        if not right:
            print("    " + "\n    ".join(lines))
    if run.returncode != 0:
        number, command, *_ = to_run[min(len(outputs) - 1, len(to_run) - 1)]
        print(f"{page}:{number}: FAILED: {command[0]}\n{outputs[-1]}")
    sys.exit(failed)


main()
