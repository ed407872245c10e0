# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs of the programs behind the papers' tables, and pictures of what they print."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

from simulated_machines import Failed, environment_of, output_of

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT_S = 1800


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
    """Programs of `build` (the folder of the folders real and simgrid, and perhaps smpi). Files that they write and read
    go when this goes."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.apportion = self.build / "real/tools/apportion"
        if not self.apportion.exists():
            raise Failed(f"there is no {self.apportion}; build it with tools/build")
        self.temporary = tempfile.TemporaryDirectory()  # of the files
        self.folder = pathlib.Path(self.temporary.name)

    def simulated_app(self, app):
        program = self.build / "simgrid/apps" / app
        if not program.exists():
            raise Failed(f"there is no {program}; build it with tools/build")
        return program

    def has(self, flavour):
        return (self.build / flavour / "apps/matmul").exists()

    def text(self, *words, **variables):
        """What a command prints."""
        own = {"XDG_DATA_HOME": str(self.folder / "no-profiles"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return output_of(words, environment_of(own | variables), LIMIT_S)

    def json(self, *words, **variables):
        return json.loads(self.text(*words, **variables))

    def plan(self, *arguments):
        return self.json(self.apportion, "plan", *arguments, "--json")

    def simulate(self, platform, app, size, *arguments, **variables):
        """What the application prints of a run on a simulated platform."""
        return self.json(self.apportion, "platform", platform, self.simulated_app(app), "--size", size, "--json",
                         *arguments, **variables)

    def file(self, name, *words, again=False, **variables):
        """The file that a command writes to where {out} stands, once. again: it is measured, so that every run differs."""
        made = self.folder / f"{hashlib.sha256(repr((words, variables)).encode()).hexdigest()[:16]}-{name}"
        if again or not made.exists():
            with tempfile.TemporaryDirectory() as folder:
                part = pathlib.Path(folder) / name
                self.text(*(part if str(word) == "{out}" else word for word in words), **variables)
                write_whole(made, part.read_bytes())
        return made

    def text_file(self, name, text):
        """A file of that content, for programs to read."""
        made = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{name}"
        if not made.exists():
            write_whole(made, text.encode())
        return made


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
