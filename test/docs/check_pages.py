#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares README.md and docs/ with the sources: check_pages.py SOURCE_FOLDER HELLO_BLOCKS

README has at most 180 lines and shows code of docs/examples, as do the other pages; its table of policies names every policy;
docs/report.md has every field of a report and no other; links between pages lead somewhere; figures that stand on several
pages are the same (those of the papers: tools/reproduce --check).
"""
import json
import os
import re
import subprocess
import sys
import tempfile

problems = []


def expect(condition, problem):
    if not condition:
        problems.append(problem)


def read(name):
    with open(os.path.join(source, name)) as file:
        return file.read()


def pages():
    for folder, _, names in os.walk(source):
        relative = os.path.relpath(folder, source)
        if relative.split(os.sep)[0] in ("build", ".git"):
            continue
        yield from (os.path.normpath(os.path.join(relative, name)) for name in names if name.endswith(".md"))


def anchors(page):
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links():
    for page in pages():
        text = re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            expect(os.path.exists(os.path.join(source, path)), f"{page}: {target} leads nowhere")
            if anchor and path.endswith(".md"):
                expect(anchor in anchors(path), f"{page}: {target}: there is no such heading")


def check_code():
    examples = "".join(read(os.path.join("docs/examples", name)) for name in os.listdir(os.path.join(source, "docs/examples")))
    for page in ("README.md", "docs/writing-a-load.md"):
        blocks = re.findall(r"^```c(?:pp)?\n(.*?)^```", read(page), re.M | re.S)
        expect(blocks, f"{page}: shows no code")
        for block in blocks:
            expect(block in examples, f"{page}: this code is in no file of docs/examples:\n{block}")


def run_hello(environment):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        variables = dict(os.environ, STARPU_SILENT="1", STARPU_NCPU="2", STARPU_WORKERS_NOBIND="1",
                         APPORTION_REPORT=report, APPORTION_TRACE="1", **environment)
        run = subprocess.run([hello], env=variables, capture_output=True, text=True)
        with open(report) if os.path.exists(report) else open(os.devnull) as file:
            return run.stdout + run.stderr, file.read()


def check_policies():
    listed = re.findall(r"^  (\S+) ", run_hello({"STARPU_SCHED": "help"})[0], re.M)
    named = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`[^|]*) \|", re.search(
        r"^\| `STARPU_SCHED` .*?\n\n", read("README.md"), re.M | re.S).group(), re.M)[1:]))
    lacking = [policy for policy in listed[:len(named)] if policy not in named]
    expect(len(named) > 10 and named == listed[:len(named)], "README.md: its table of policies " +
           (f"lacks {lacking[0]}" if lacking else f"is not in the order {listed[:len(named)]}"))


def fields_of(value, name):
    """section -> names of fields, one section for the run and one for each array of objects."""
    found = {}
    for key, child in value.items():
        path = f"{name}.{key}" if name else key
        if isinstance(child, dict):
            for section, names in fields_of(child, path).items():
                found.setdefault(section, set()).update(names)
        elif isinstance(child, list) and child and isinstance(child[0], dict):
            found.setdefault("", set()).add(path)
            found.setdefault(path, set()).update(fields_of(child[0], "").get("", set()))
        else:
            found.setdefault("", set()).add(path)
    return found


def check_report():
    text = read("docs/report.md")
    documented = {"": set(re.findall(r"^\| `([^`]+)`", text.split("\n## ")[1], re.M))}
    for section in text.split("\n## ")[2:]:
        documented[section[1:section.index("[]")]] = set(re.findall(r"^\| `([^`]+)`", section, re.M))
    source_fields = set()
    for pair in re.findall(r'\{"(\w+)",|\["(\w+)"\] =', read("policies/starpu/report.cpp")):
        source_fields.update(name for name in pair if name)
    last_names = {path.split(".")[-1] for names in documented.values() for path in names}
    groups = {path.split(".")[0] for names in documented.values() for path in names if "." in path}
    expect(last_names | groups == source_fields,
           f"docs/report.md: differs from report.cpp in {sorted((last_names | groups) ^ source_fields)}")
    output, line = run_hello({"STARPU_SCHED": "plb-hec"})
    if not line:
        problems.append(f"{hello}: wrote no report: {output}")
        return
    report = json.loads(line)
    for section, names in fields_of(report, "").items():
        missing = {name for name in names if name not in documented.get(section, set()) and name not in groups}
        expect(not missing, f"docs/report.md: section '{section}' lacks {sorted(missing)}")


def check_figures():
    """What RESULTS and README say of machines drawn by chance is in the table of the measurements."""
    rows = {(policy, run, over): cells.split(" | ") for policy, run, over, cells in
            re.findall(r"^\| (plb-hec, \w+) \| (\d) \| (\w+) \| (.*?) \|$", read("docs/measurements.md"), re.M)}
    said = {}
    for title, policy, run in (("first run", "first", "1"), ("sixth run of a process", "first", "6"),
                               ("first run of a second process, which knows what the first learnt", "second", "1")):
        by_default, tuned, plan = (rows[f"plb-hec, {policy}", run, over] for over in ("default", "tuned", "plan"))
        said[policy, run] = tuned
        cells = [title, by_default[0], by_default[-1], tuned[0], tuned[-1], plan[0], plan[3]]
        expect(f"| {' | '.join(cells)} |\n" in read("RESULTS.md"), f"RESULTS.md: has no row {cells}, as docs/measurements.md has it")
    first, sixth = said["first", "1"], said["first", "6"]
    expect(f"first runs take {first[0]} times" in read("README.md") and f"in {first[-1]} of" in read("README.md") and
           f"sixth runs take {sixth[0]} times" in read("README.md"), "README.md: differs from docs/measurements.md on machines drawn by chance")


source, hello = sys.argv[1:]
lines = read("README.md").count("\n")
expect(lines <= 180, f"README.md: has {lines} lines; move details to docs/")
check_links()
check_code()
check_policies()
check_report()
check_figures()
print("\n".join(problems) or "all as in the sources")
sys.exit(bool(problems))
