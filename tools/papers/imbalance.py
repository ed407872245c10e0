# SPDX-License-Identifier: LGPL-2.1-or-later
"""The load imbalancing paper's results (Lastovetsky, Szustak, Wyrzykowski, section 5): times of given offsets (Tables 1
and 3, Fig. 9) and of the teams (Table 2), Algorithm 1 on the predicted times, and self-adaptation (5.6), on its four
teams of cores, simulated with the times measured there."""
import functools
import json
import os
import statistics

from papers.runs import TOP, panels
from papers.tables import Table, markdown, profile_rows, read_csv

STEPS = 40
SIZES = {240: "480,120,128", 480: "960,240,128"}  # four teams with n x n/2 x 128 cells of a domain of n x n x 128
SPEEDS = {112: 1436742, 120: 1240376, 128: 1418579}  # cells per second, printed in 5.4


@functools.cache
def published():
    return read_csv(TOP / "results/imbalance/published.csv")


def of_offset(case):
    return next(row for row in published() if row["domain"] == str(case["domain"]) and row["offset"] == str(case["offset"]))


def run(runs, domain, offset):
    return runs.simulate("xeonphi-teams", "mpdata", SIZES[domain], "--steps", STEPS, STARPU_SCHED="imbalance",
                         APPORTION_OFFSET=str(offset))


def offsets(runs, case):
    row = of_offset(case)
    ours_s, equal_s = (run(runs, case["domain"], offset)["total_seconds"] for offset in (case["offset"], 0))
    return [case | {"published_model_s": row["theory_s"], "published_measured_s": row["measured_s"], "ours_s": f"{ours_s:.3f}",
                    "ratio": f"{ours_s / float(row['measured_s']):.3f}", "published_speedup": row["speedup"],
                    "speedup": f"{equal_s / ours_s:.3f}"}]


OFFSETS_TITLES = {"domain": "domain", "offset": "offset", "published_model_s": "published model [s]",
                  "published_measured_s": "published [s]", "ours_s": "ours [s]", "ratio": "ours / published",
                  "published_speedup": "published speed-up", "speedup": "our speed-up"}


def draw_offsets(rows):
    groups = {f"{domain} x {domain} x 128": [[row[column] for column in ("offset", "published_measured_s", "published_model_s", "ours_s")]
                                             for row in rows if row["domain"] == str(domain)] for domain in SIZES}
    curves = {"published, measured": "lines lw 2", "published, model": "lines lw 2", "ours": "points ps 1.5 lw 2"}
    return panels(groups, curves, "set grid y\nset xlabel 'offset [frames]'\nset ylabel 's for 40 steps'")


def teams(runs, case):
    """The paper's caption gives odd teams the larger part, its times fit the other way round: team 0 is our processor 1."""
    row = of_offset(case)
    own = [processor["compute_seconds"] for processor in run(runs, case["domain"], case["offset"])["report"]["processors"]]
    found = dict(case)
    for team in range(4):
        found |= {f"published_team{team}_s": row[f"team{team}_s"], f"team{team}_s": f"{STEPS * own[team ^ 1]:.3f}"}
    return [found]


def show_teams(rows):
    titles = {"offset": "offset"}
    for team in range(4):
        titles |= {f"published_team{team}_s": f"team {team}, published [s]", f"team{team}_s": "ours [s]"}
    return markdown(rows, titles)


def predicted(domain):
    """frames -> seconds: the larger share's is published; a smaller share is given the larger one's speed, where the paper
    prints none, which decides nothing."""
    balanced = domain // 2
    seconds = {}
    for row in published():
        offset = int(row["offset"])
        if row["domain"] != str(domain) or offset % 4 != 0:
            continue
        seconds[balanced + offset] = float(row["theory_s"])
        if offset > 0:
            small = balanced - offset
            printed = 120 * small * 128 / SPEEDS[small] if domain == 240 and small in SPEEDS else None
            seconds[small] = printed or float(row["theory_s"]) * small / (balanced + offset)
    return seconds


def model_file(runs, domain, cells=1):
    """Of four teams, named as the workers of a simulated machine, in units of so many cells of a frame."""
    seconds = predicted(domain)
    return runs.text_file(f"model-{domain}.csv", "processor,units,seconds\n" + "".join(
        f"CPU {team},{size * domain // 2 // cells},{seconds[size]!r}\n" for team in range(4) for size in sorted(seconds)))


def algorithm_1(runs, case):
    domain = case["domain"]
    balanced = domain // 2
    file, rows = model_file(runs, domain, balanced), []
    for algorithm, theirs in (("equal", (0, {240: "1.486", 480: "6.136"})), ("imbalance", ({240: 8, 480: 20}[domain], {240: "1.386", 480: "5.499"})),
                              ("hpopta", (None, {240: None, 480: None}))):
        plan = runs.plan("--profiles", file, "--units", 4 * balanced, "--algorithm", algorithm)
        shares = [share["units"] for share in plan["shares"]]
        rows.append(case | {"algorithm": algorithm, "published_offset": theirs[0], "published_s": theirs[1][domain],
                            "shares": " ".join(map(str, shares)), "ours_s": f"{plan['makespan_seconds']:.3f}"})
    return rows


def grid(runs, case):
    """The same shares as sub-domains of the 2 x 2 grid (Fig. 8), planned and run: a unit is a column of the domain's third
    dimension."""
    domain = case["domain"]
    plan = runs.plan("--profiles", model_file(runs, domain), "--matrix", domain, "--algorithm", "imbalance")
    placed = [f"{r['rows']} x {r['columns']} at {r['first_row']}, {r['first_column']}" for share in plan["shares"] for r in share["rectangles"]]
    run_s = runs.simulate("xeonphi-teams", "mpdata", f"{domain},{domain},128", "--steps", STEPS, "--rectangles",
                          runs.text_file(f"grid-{domain}.json", json.dumps(plan)))["total_seconds"]
    return [case | {f"team_{team}": place for team, place in enumerate(placed)} |
            {"planned_s": f"{plan['makespan_seconds']:.3f}", "run_s": f"{run_s:.3f}"}]


# On the machine at hand: n, the width of a team's frames of 128 cells, and m, their number; steps of 16 where the paper has 4.
WIDTHS, FRAMES = [48, 80, 112, 144], range(16, 129, 16)


def speed_surface(runs, case):
    """All cores together, as the paper measures its teams; a speed is the mean over them."""
    file = runs.file("speed.csv", runs.apportion, "profile", "--app", "mpdata", "--size", f"{128 * os.cpu_count()},{case['n']},128", "--sizes",
                     "16:128:16", "--max-seconds", "1", "--out", "{out}", again=True)
    seconds = {m: [] for m in FRAMES}
    for row in profile_rows(file):
        seconds[int(row["units"])].append(float(row["seconds"]))
    return [case | {"m": m, "seconds": statistics.mean(own), "cells_per_s": case["n"] * m * 128 / statistics.mean(own)}
            for m, own in seconds.items()]


def show_speed_surface(rows):
    speed = {(int(row["n"]), int(row["m"])): float(row["cells_per_s"]) / 1e6 for row in rows}
    of_n = statistics.mean(max(speed[n, m] for n in WIDTHS) / min(speed[n, m] for n in WIDTHS) for m in FRAMES)
    of_m = statistics.mean(max(speed[n, m] for m in FRAMES) / min(speed[n, m] for m in FRAMES) for n in WIDTHS)
    table = markdown([{"n": str(n)} | {str(m): f"{speed[n, m]:.1f}" for m in FRAMES} for n in WIDTHS],
                     {"n": "10⁶ cells/s, n", **{str(m): f"m = {m}" for m in FRAMES}})
    return (f"{table}\n\nThe fastest n is on average {of_n:.2f} times as fast as the slowest one of the same m, and the fastest m "
            f"{of_m:.2f} times as fast as the slowest one of the same n.")


VARIANTS = {"equal": {"STARPU_SCHED": "equal"}, "imbalance": {"STARPU_SCHED": "imbalance"},
            "published": {"STARPU_SCHED": "imbalance", "APPORTION_OFFSET": "published"}}


def adaptation(runs, case):
    size = case["cells"]
    compared = runs.json(runs.apportion, "compare", "--app", "mpdata", "--size", size, "--platform", "xeonphi-teams",
                         "--policies", "equal,imbalance", "--json")
    equal_s, planned_s = (r["makespan_seconds"]["median"] for r in compared["runs"])
    steps = {name: runs.simulate("xeonphi-teams", "mpdata", size, "--steps", "100", **variables) for name, variables in VARIANTS.items()}
    return [case | {"published": case_published(size), "equal_s": equal_s, "with_profile": f"{equal_s / planned_s:.3f}",
                    "adapted": f"{steps['equal']['runs'][-1] / steps['imbalance']['runs'][-1]:.3f}",
                    "hundred_steps": f"{steps['equal']['total_seconds'] / steps['imbalance']['total_seconds']:.3f}",
                    "as_published": f"{steps['equal']['runs'][-1] / steps['published']['runs'][-1]:.3f}",
                    "as_published_hundred_steps": f"{steps['equal']['total_seconds'] / steps['published']['total_seconds']:.3f}"}]


def case_published(size):
    return {"480,120,128": "1.148", "960,240,128": "1.150"}[size]


ADAPTATION_TITLES = {"cells": "cells", "equal_s": "equal, 10 steps [s]", "published": "published",
                     "with_profile": "imbalance, profile", "adapted": "imbalance, none: adapted",
                     "hundred_steps": "100 steps in all", "as_published": "tried as published",
                     "as_published_hundred_steps": "100 steps in all"}


OFFSETS = [{"domain": int(row["domain"]), "offset": int(row["offset"])} for row in published()]
TABLES = [
    Table("offsets", OFFSETS, offsets, OFFSETS_TITLES, picture=draw_offsets, sampled=lambda case: case["offset"] in (8, 20)),
    Table("teams", [case for case in OFFSETS if case["domain"] == 240], teams, show_teams, sampled=lambda case: case["offset"] == 9),
    Table("algorithm-1", [{"domain": domain} for domain in SIZES], algorithm_1, sampled=lambda case: True),
    Table("grid", [{"domain": domain} for domain in SIZES], grid, sampled=lambda case: True),
    Table("speed-surface", [{"n": n} for n in WIDTHS], speed_surface, show_speed_surface, exact=False),
    Table("adaptation", [{"cells": size} for size in SIZES.values()], adaptation, ADAPTATION_TITLES,
          sampled=lambda case: case["cells"] == "480,120,128"),
]
