# SPDX-License-Identifier: LGPL-2.1-or-later
"""FuPerMod's figures: speed functions (Fig. 1), partial models of two processors (Fig. 2), dynamic balancing of Jacobi's
method on four processors (Fig. 3), and the column-based partition of its matrix multiplication, with the
shapes of SummaGen. The paper prints no numbers."""
from papers.runs import TOP
from papers.tables import Table, markdown

PLATFORM = TOP / "results/fupermod/four-processors.toml"
ITERATIONS, SIZE = 12, 8000
POLICIES = ["fpm-dynamic-published", "fpm-dynamic", "plb-hec", "equal"]


def jacobi(runs, case):
    """Fig. 3: how far the processors' times are apart, iteration by iteration."""
    done = runs.simulate(PLATFORM, "jacobi", SIZE, "--iterations", ITERATIONS, STARPU_SCHED=case["policy"])
    return [case | {"iteration": k + 1, "imbalance_percent": percent}
            for k, percent in enumerate(done["imbalance_percent"])]


def show_jacobi(rows):
    found = []
    for policy in POLICIES:
        own = [row for row in rows if row["policy"] == policy]
        found.append({"policy": policy} | {row["iteration"]: f"{float(row['imbalance_percent']):.1f}" for row in own})
    return markdown(found, {"policy": "difference of times in %, iteration"} | {str(k + 1): str(k + 1) for k in range(ITERATIONS)})


def said(rows_of):
    """What the text says of the last iterations."""
    last = {row["policy"]: float(row["imbalance_percent"]) for row in rows_of("jacobi") if row["iteration"] == str(ITERATIONS)}
    yield "docs/papers/fupermod.md", f"left with differences of {last['fpm-dynamic']:.0f} and {last['plb-hec']:.0f} %"


def draw_jacobi(rows):
    data = "$d << EOD\n" + "\n".join(" ".join([str(k + 1)] + [next(
        row["imbalance_percent"] for row in rows if row["policy"] == policy and row["iteration"] == str(k + 1)) for policy in POLICIES])
        for k in range(ITERATIONS)) + "\nEOD\n"
    return (data + "set xlabel 'iteration'\nset ylabel 'difference of the times, % of the longest'\nset grid y\nset yrange [0:100]\nplot " +
            ", ".join(f"$d using 1:{k + 2} with linespoints lw 2 title '{policy}'" for k, policy in enumerate(POLICIES)))


# Fig. 2's kind: two speed functions of a matrix multiplication, in units per second; the second one falls where its
# memory ends. t(x) = x / s(x) at 20 sizes.
def speed(processor, x):
    return (400 * x / (x + 20) if processor == 0 else 300 * x / (x + 60)) / (1 + (max(0, x - 700) / 300 if processor else 0))


UNITS, STEPS = 1000, 4


def partial_models(runs, case):
    """Algorithm 1's partitions step by step: the models have the points of the steps before and no others."""
    shares, known, rows = [UNITS // 2, UNITS // 2], [{}, {}], []
    for step in range(1, STEPS + 1):
        seconds = [share / speed(p, share) if share else 0 for p, share in enumerate(shares)]
        for p, share in enumerate(shares):
            known[p][share] = seconds[p]
        rows.append(case | {"step": step, "share_1": shares[0], "share_2": shares[1], "seconds_1": seconds[0], "seconds_2": seconds[1],
                            "difference_percent": 100 * abs(seconds[0] - seconds[1]) / max(seconds)})
        file = runs.text_file("partial.csv", "processor,units,seconds\n" + "".join(
            f"P{p + 1},{x},{known[p][x]!r}\n" for p in (0, 1) for x in sorted(known[p]) if x))
        plan = runs.plan("--profiles", file, "--units", UNITS, "--algorithm", "fpm")
        shares = [share["units"] for share in plan["shares"]]
    return rows


SIDE = 240


def shapes(runs, case):
    """A matrix of SIDE x SIDE blocks on processors of these speeds."""
    speeds = [int(s) for s in case["speeds"].split()]
    file = runs.text_file("speeds.csv", "processor,units,seconds\n" + "".join(
        f"P{p},{x},{x / s!r}\n" for p, s in enumerate(speeds) for x in (SIDE, SIDE * SIDE)))
    plan = runs.json(runs.apportion, "plan", "--profiles", file, "--matrix", SIDE, "--algorithm", "fpm", "--json")
    p, least = len(speeds), sum(2 * (SIDE * SIDE * s / sum(speeds)) ** 0.5 for s in speeds)
    parts = [[(r["rows"], r["columns"]) for r in share["rectangles"]] for share in plan["shares"]]
    shown = " ".join("+".join(f"{rows}x{columns}" for rows, columns in part) for part in parts)
    off = max(abs(sum(rows * columns for rows, columns in part) / share["units"] - 1) for part, share in zip(parts, plan["shares"]))
    return [case | {"shape": plan["shape"], "rectangles": shown, "half_perimeters": plan["half_perimeters"],
                    "columns": plan["half_perimeters_of_columns"], "slices": (p + 1) * SIDE,
                    "squares": f"{least:.0f}", "less_than_slices_percent": 100 * (1 - plan["half_perimeters"] / ((p + 1) * SIDE)),
                    "largest_area_error_percent": 100 * off}]


SHAPES_TITLES = {"speeds": "speeds", "shape": "shape", "rectangles": "rectangles, rows x columns",
                 "half_perimeters": "half perimeters", "columns": "of columns", "slices": "of slices",
                 "squares": "of squares (bound)", "less_than_slices_percent": "less than slices, %",
                 "largest_area_error_percent": "area off by, %"}


TABLES = [
    Table("jacobi", [{"policy": policy} for policy in POLICIES], jacobi, show_jacobi, picture=draw_jacobi,
          sampled=lambda case: True),
    Table("partial-models", [{"units": UNITS}], partial_models, sampled=lambda case: True),
    Table("shapes", [{"speeds": text} for text in ("2 1", "9 1", "20 2 1", "12 11 1", "6 4 1", "1 1 1 1", "4 1 1 1", "8 4 2 1 1",
                                                    "1 1 1 1 1 1 1 1 1", "16 8 8 4 4 2 2 1 1 1")],
          shapes, SHAPES_TITLES, sampled=lambda case: True),
]
