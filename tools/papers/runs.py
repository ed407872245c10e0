# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs of the programs behind the papers' tables. What a run printed is kept, so that an interrupted reproduction goes
on where it was, and a run is repeated only when a program, a machine or a file that it reads has changed."""
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

from simulated_machines import Failed, environment_of, output_of

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT_S = 1800
SHARED = {"config", "planned", "policy"}  # files beside those of single policies


@functools.cache
def hash_of(file):
    return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()


def write_whole(file, content):
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
        try:
            part.write(content)
            part.flush()
            os.chmod(part.name, file.stat().st_mode & 0o777 if file.exists() else 0o644)
            os.replace(part.name, file)
        except BaseException:
            os.unlink(part.name)
            raise


class Runs:
    """Programs of `build` (the folder of the folders real and simgrid, and perhaps smpi), whose output is kept in `kept`."""

    def __init__(self, build, kept):
        self.build, self.kept = pathlib.Path(build), pathlib.Path(kept)
        self.apportion = self.build / "real/tools/apportion"
        if not self.apportion.exists():
            raise Failed(f"there is no {self.apportion}; build it with tools/build")

    def simulated_app(self, app):
        program = self.build / "simgrid/apps" / app
        if not program.exists():
            raise Failed(f"there is no {program}; build it with tools/build")
        return program

    def has(self, flavour):
        return (self.build / flavour / "apps/matmul").exists()

    def output_of(self, words, variables):
        return output_of(words, environment_of({"XDG_DATA_HOME": str(self.kept / "no-profiles")} | variables), LIMIT_S)

    @functools.cache
    def objects(self, policy):
        """Object files of the programs, without those of the policies that a run under this one does not use; under auto,
        or where a run's policy is not told, of all."""
        files = [file for flavour in ("real", "simgrid") for part in ("models", "policies", "codelets", "tools")
                 for file in sorted((self.build / flavour / part).rglob("*.o")) if "mpi" not in file.parts]
        if policy in (None, "auto"):
            return files
        others = {file.stem for file in (TOP / "policies").glob("*.cpp")} - {policy.replace("-", "_")} - SHARED
        # A file of policies/plb_hec/ is compiled to plb_hec_plb_hec_*.cpp.o, beside plb_hec.cpp.o.
        return [file for file in files if file.parent.name != "libapportion_core.a.p" or
                not any(file.name == other + ".cpp.o" or file.name.startswith(f"{other}_{other}_") for other in others)]

    def fingerprint(self, words, policy):
        """Of everything but the arguments that decides what a simulated run or a planner prints."""
        apps = [self.build / "simgrid/apps" / str(word).rsplit("/", 1)[-1] for word in words]
        simulated = any(str(word) == "--platform" for word in words) or any(app.is_file() for app in apps)
        programs = [app for app in apps if app.is_file()]
        if simulated:
            programs += self.objects(policy) + sorted((TOP / "codelets/simulated/platforms").rglob("*.toml"))
        else:
            programs += [self.apportion]
        files = [word for word in words if os.path.isfile(str(word)) and not str(word).startswith(str(self.build))]
        if any(str(file).endswith(".toml") and "[[node]]" in pathlib.Path(file).read_text(encoding="utf-8") for file in files):
            programs += sorted((self.build / "smpi/policies").rglob("*.o"))
        return [hash_of(file) for file in programs + files]

    def key(self, words, variables):
        shown = [str(word).replace(str(self.kept), "").replace(str(self.build), "").replace(str(TOP), "") for word in words]
        described = json.dumps([shown, sorted(variables.items()), self.fingerprint(words, variables.get("STARPU_SCHED"))])
        return hashlib.sha256(described.encode()).hexdigest()[:40]

    def text(self, *words, again=False, **variables):
        """What a command prints. again: it is measured, so that every run differs, and is not looked up."""
        kept = self.kept / (self.key(words, variables) + ".txt")
        if kept.exists() and not again:
            return kept.read_text(encoding="utf-8")
        printed = self.output_of(words, variables)
        write_whole(kept, printed.encode())
        return printed

    def json(self, *words, again=False, **variables):
        return json.loads(self.text(*words, again=again, **variables))

    def plan(self, *arguments, again=False):
        return self.json(self.apportion, "plan", *arguments, "--json", again=again)

    def simulate(self, platform, app, size, *arguments, **variables):
        """What the application prints of a run on a simulated platform."""
        return self.json(self.apportion, "platform", platform, self.simulated_app(app), "--size", size, "--json",
                         *arguments, **variables)

    def file(self, name, *words, again=False, **variables):
        """The file that a command writes to where {out} stands."""
        kept = self.kept / f"{self.key(words, variables)}-{name}"
        if again or not kept.exists():
            with tempfile.TemporaryDirectory() as folder:
                made = pathlib.Path(folder) / name
                self.output_of([made if str(word) == "{out}" else word for word in words], variables)
                write_whole(kept, made.read_bytes())
        return kept

    def text_file(self, name, text):
        """A file of that content, for programs to read."""
        kept = self.kept / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{name}"
        if not kept.exists():
            write_whole(kept, text.encode())
        return kept

def panels(groups, curves, settings, using="1:{}"):
    """A script that draws the same curves (name -> style) of several groups (title -> rows of x and a number for each
    curve) side by side, with one key below all of them."""
    data, plots = [], []
    for number, (title, rows) in enumerate(groups.items()):
        data.append(f"$d{number} << EOD\n" + "\n".join(" ".join(row) for row in rows) + "\nEOD")
        plots.append(f"set title '{title}'\nplot " + ", ".join(
            f"$d{number} using {using.format(k)} with {style} title '{name}'" for k, (name, style) in enumerate(curves.items(), 2)))
    return ("\n".join(data) + f"\nset multiplot layout 1,{len(plots)} margins 0.11,0.98,0.3,0.92 spacing 0.11\n"
            f"set key at screen 0.5,0.02 center bottom\n{settings}\n" + "\nunset key\n".join(plots) + "\nunset multiplot")


def draw(file, script):
    """A picture by gnuplot, whose script reads the data that it contains."""
    try:
        drawn = subprocess.run(["gnuplot"], input="set terminal svg size 900,520 font 'sans,14' background 'white'\n"
                               f"{script}".encode(), capture_output=True, check=True)
    except FileNotFoundError:
        raise Failed("there is no gnuplot, which draws the pictures; tools/setup installs it") from None
    except subprocess.CalledProcessError as error:
        raise Failed(f"gnuplot: {error.stderr.decode(errors='replace').strip().splitlines()[-1]}") from None
    write_whole(file, drawn.stdout)
