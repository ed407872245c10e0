# SPDX-License-Identifier: LGPL-2.1-or-later
"""PLB-HeC's results (section V): execution times and speed-ups over greedy (Figs 4 and 5), distributions (Fig. 6) and
idle times (Fig. 7), on its machines A to D, simulated."""
import bisect
import functools
import re
import statistics

from papers.runs import TOP, panels
from papers.tables import Table, markdown

SIZES = {"matmul": [4096, 8192, 16384, 32768, 65536], "grn": [60000, 100000, 140000],
         "blackscholes": [10000, 100000, 500000]}
MACHINES = {"A": "plbhec-a", "AB": "plbhec-ab", "ABC": "plbhec-abc", "ABCD": "plbhec-abcd"}
PAPERS_POLICIES = ["greedy", "acosta", "hdss", "plb-hec-published"]
PROBED = 0.1  # of the units
BLOCKS = [16, 32, 64, 128, 256, 512]
SEEDS = range(1, 11)
NOISE = 0.03


def units_of(app, size):
    return size // 50 if app == "grn" else size


@functools.cache
def chosen_block(runs, app, size, platform):
    """The largest power of two with which the initial phase of plb-hec-published hands out at most a tenth of the units, and
    the part of the run that the phase takes. The paper chose the block "so that the initial phase of the algorithm would
    take about 10% of the application execution time", which is the same where blocks of all sizes run at the same speed; on
    these machines no block is that good for most loads."""
    def phase(block):
        report = runs.simulate(platform, app, size, STARPU_SCHED="plb-hec-published", APPORTION_INITIAL_BLOCK=str(block))["report"]
        left = sum(report["distributions"][0]["shares"]) if report["distributions"] else 0
        return 1 - left / report["units"], report["probing_seconds"] / report["makespan_seconds"]

    blocks = [2 ** k for k in range(40) if 15 * 2 ** k <= PROBED * units_of(app, size)] or [1]
    number = max(bisect.bisect_right(blocks, PROBED, key=lambda block: phase(block)[0]), 1)
    return blocks[number - 1], phase(blocks[number - 1])[1]


def seconds(runs, platform, app, size, policy, **variables):
    return runs.simulate(platform, app, size, STARPU_SCHED=policy, **variables)["report"]["makespan_seconds"]


def in_blocks(runs, platform, app, size, policy):
    """StarPU's schedulers: with their default number of blocks, and the least of that and others."""
    default = seconds(runs, platform, app, size, policy)
    return default, min([default] + [seconds(runs, platform, app, size, policy, APPORTION_BLOCKS=str(blocks)) for blocks in BLOCKS])


def speedups(runs, case):
    app, size, platform = case["app"], case["size"], MACHINES[case["machines"]]
    block, part = chosen_block(runs, app, size, platform)
    row = dict(case) | {"initial_block": block, "initial_phase_percent": 100 * part}
    row |= {policy + "_s": seconds(runs, platform, app, size, policy, APPORTION_INITIAL_BLOCK=str(block)) for policy in PAPERS_POLICIES}
    compared = runs.json(runs.apportion, "compare", "--platform", platform, "--app", app, "--size", size, "--policies", "plb-hec",
                         "--json")
    row |= {"plb-hec_s": compared["runs"][0]["makespan_seconds"]["median"], "eager_default_s": seconds(runs, platform, app, size, "eager")}
    row["dmda_default_s"], row["dmda_best_s"] = in_blocks(runs, platform, app, size, "dmda")
    return [row | {"bound_s": compared["lower_bound_seconds"]}]


def show_speedups(rows):
    found = []
    for row in rows:
        greedy = float(row["greedy_s"])
        ratio = {policy: f"{greedy / float(row[policy + '_s']):.2f}" for policy in
                 ["acosta", "hdss", "plb-hec-published", "plb-hec", "eager_default", "dmda_default", "dmda_best"]}
        ratio["plb-hec"] = f"**{ratio['plb-hec']}**"
        found.append(row | {"greedy": f"{greedy:.4g}", "phase": f"{float(row['initial_phase_percent']):.0f} %",
                            "over_bound": f"{float(row['plb-hec_s']) / float(row['bound_s']):.2f}"} | ratio)
    titles = {"app": "application", "size": "size", "machines": "machines", "initial_block": "initial block", "phase": "initial phase",
              "greedy": "greedy [s]", "acosta": "acosta", "hdss": "hdss", "plb-hec-published": "plb-hec-published",
              "plb-hec": "**plb-hec**", "eager_default": "eager", "dmda_default": "dmda", "dmda_best": "dmda, best blocks",
              "over_bound": "plb-hec / bound"}
    return markdown(found, titles)


# What the text of section V says; the figures print no numbers.
CLAIMS = [
    ("matmul 65536 on ABCD, plb-hec / greedy", "2.2", "matmul", 65536, "ABCD", "plb-hec-published"),
    ("matmul 65536 on ABCD, hdss / greedy", "1.2", "matmul", 65536, "ABCD", "hdss"),
    ("matmul 65536 on ABCD, acosta / greedy", "1.04", "matmul", 65536, "ABCD", "acosta"),
    ("matmul 65536 on A, plb-hec / greedy", "about 1", "matmul", 65536, "A", "plb-hec-published"),
    ("matmul 65536 on ABC, plb-hec / greedy", "above 1.2", "matmul", 65536, "ABC", "plb-hec-published"),
    ("matmul 4096 on ABCD, plb-hec / greedy", "below 1", "matmul", 4096, "ABCD", "plb-hec-published"),
    ("GRN 140,000 on ABC, plb-hec / greedy", "below 1.2", "grn", 140000, "ABC", "plb-hec-published"),
    ("GRN 140,000 on ABCD, plb-hec / greedy", "above 1.2", "grn", 140000, "ABCD", "plb-hec-published"),
    ("Black-Scholes 500,000 on ABC, plb-hec / greedy", "above 1.2", "blackscholes", 500000, "ABC", "plb-hec-published"),
    ("Black-Scholes 500,000 on ABCD, plb-hec / greedy", "above 1.2", "blackscholes", 500000, "ABCD", "plb-hec-published"),
]


def show_claims(rows):
    """Of the rows of the speed-ups."""
    found = []
    for claim, published, app, size, machines, policy in CLAIMS:
        row = next(row for row in rows if (row["app"], row["size"], row["machines"]) == (app, str(size), machines))
        ours, improved = (float(row["greedy_s"]) / float(row[name + "_s"]) for name in (policy, "plb-hec"))
        is_number = re.fullmatch(r"[\d.]+", published)
        found.append({"claim": claim, "published": published, "ours, policies as published": f"{ours:.2f}",
                      "ours / published": f"{ours / float(published):.2f}" if is_number else "",
                      "ours, plb-hec": f"{improved:.2f}" if policy == "plb-hec-published" else ""})
    return markdown(found)


def said(rows_of):
    """What the text of pages says of the speed-ups and the distributions."""
    rows = rows_of("speedups")
    names = {"eager_default_s": "`eager` by default", "dmda_default_s": "`dmda` by default",
             "dmda_best_s": "`dmda` with the best of seven numbers of blocks", "bound_s": "the lower bound"}
    for column, name in names.items():
        ratios = [float(row["plb-hec_s"]) / float(row[column]) for row in rows]
        yield "RESULTS.md", f"| {name} | {statistics.geometric_mean(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"
    four = next(row for row in rows if (row["app"], row["size"], row["machines"]) == ("matmul", "65536", "ABCD"))
    ours = {policy: float(four["greedy_s"]) / float(four[policy + "_s"]) for policy in PAPERS_POLICIES + ["plb-hec"]}
    yield "RESULTS.md", (f"`plb-hec-published` is {ours['plb-hec-published']:.1f} times as fast as greedy (paper: 2.2) and `plb-hec` "
                         f"{ours['plb-hec']:.1f} times")
    over = {policy: ours[policy] / published for policy, published in (("plb-hec-published", 2.2), ("hdss", 1.2), ("acosta", 1.04))}
    yield "docs/papers/README.md", (f"| {ours['plb-hec-published']:.1f}; {ours['hdss']:.1f}; {ours['acosta']:.2f} | "
                                    f"{over['plb-hec-published']:.1f}; {over['hdss']:.1f}; {over['acosta']:.2f} |")
    page = "docs/papers/plb-hec.md"
    yield page, f"with {over['plb-hec-published']:.1f} and {over['hdss']:.1f} times its factors"
    phases = [float(row["initial_phase_percent"]) for row in rows]
    yield page, f"it takes {min(phases):.0f} to {max(phases):.0f} %, because first, small blocks"
    acosta = statistics.geometric_mean([float(row["greedy_s"]) / float(row["acosta_s"]) for row in rows])
    yield page, f"ahead of greedy by {100 * (acosta - 1):.0f} % in the geometric mean"
    for row in rows:
        if row["app"] == "matmul":
            yield "docs/measurements.md", (f"| {MACHINES[row['machines']]} | {row['size']} | {row['bound_s']} | "
                                           f"**{float(row['plb-hec_s']) / float(row['bound_s']):.2f}** |")

    rows = rows_of("distributions")
    ends = [[(app, str(sizes[k])) for app, sizes in ENDS.items()] for k in (0, 1)]

    def of_processors(policy, kind, end, column, together):
        """Of each application of that size."""
        found = [[float(row[column]) for row in rows if row["policy"] == policy and (row["app"], row["size"]) == case and
                  row["processor"].endswith(kind)] for case in ends[end]]
        return ", ".join(f"{together(values):.0f}" for values in found)

    def cpus(policy, end):
        return of_processors(policy, "CPU", end, "planned_percent", sum)

    for policy in ("hdss", "acosta"):
        yield page, " | ".join(f"{cpus('plb-hec-published', end)} and {cpus(policy, end)}: yes"
                               for end in (0, 1)).removesuffix(": yes")
    idle = {policy: [of_processors(policy, "GPU", end, "idle_percent", statistics.mean) for end in (0, 1)]
            for policy in ("hdss", "plb-hec-published")}
    yield page, " | ".join(f"{idle['hdss'][end]} and {idle['plb-hec-published'][end]}: {'yes' if end else '**no**'}" for end in (0, 1))
    yield page, f"| {idle['plb-hec-published'][0]} | {idle['plb-hec-published'][1]}: yes |"
    off = [float(row["makespan_deviation_percent"]) for row in rows if row["policy"] == "plb-hec"]
    yield page, f"its makespans deviate by {min(off):.0f} to {max(off):.0f} %"


def noisy_platform(runs):
    """plbhec-abcd-one-gpu with noise."""
    folder = TOP / "codelets/simulated/platforms"
    text = (folder / "plbhec-abcd-one-gpu.toml").read_text(encoding="utf-8").replace('"plbhec/', f'"{folder}/plbhec/')
    return runs.text_file("plbhec-abcd-one-gpu-noise.toml", f"noise = {NOISE}\n" + text)


# By StarPU's names of the workers, nine cores and six devices.
PROCESSORS = {"A CPU": r"CPU \d+", "A GPU": r"CUDA 0", "B CPU": r"CUDA 1", "B GPU": r"CUDA 2", "C CPU": r"CUDA 3",
              "C GPU": r"CUDA 4", "D CPU": r"CUDA 5", "D GPU": r"CUDA 6"}


def workers_of(report, processor):
    pattern = re.compile(PROCESSORS[processor] + r"\b")
    return [k for k, worker in enumerate(report["processors"]) if pattern.match(worker["name"])]


def decided(policy, report):
    """The distribution that the paper's Fig. 6 shows: at the end of the modelling, of hdss' first phase, of acosta's run. Where
    the load ended before that, the units that were computed."""
    planned = report["distributions"][-1 if policy == "acosta" else 0]["shares"] if report["distributions"] else None
    shares = planned or [processor["units"] for processor in report["processors"]]
    return [share / sum(shares) for share in shares]


def distributions(runs, case):
    app, size, policy = case["app"], case["size"], case["policy"]
    platform = noisy_platform(runs)
    block, _ = chosen_block(runs, app, size, "plbhec-abcd-one-gpu")
    variables = {} if policy == "plb-hec" else {"APPORTION_INITIAL_BLOCK": str(block)}
    reports = [runs.simulate(platform, app, size, STARPU_SCHED=policy, APPORTION_PLATFORM_SEED=str(seed), **variables)["report"]
               for seed in SEEDS]
    makespans = [report["makespan_seconds"] for report in reports]
    found = []
    for processor in PROCESSORS:
        members = workers_of(reports[0], processor)
        shares = [100 * sum(decided(policy, report)[k] for k in members) for report in reports]
        units = [100 * sum(report["processors"][k]["units"] for k in members) / report["units"] for report in reports]
        idle = [statistics.mean(report["processors"][k]["idle_percent"] for k in members) for report in reports]
        found.append(case | {"processor": processor, "planned_percent": statistics.mean(shares),
                             "planned_deviation": statistics.stdev(shares), "computed_percent": statistics.mean(units),
                             "computed_deviation": statistics.stdev(units), "idle_percent": statistics.mean(idle),
                             "idle_deviation": statistics.stdev(idle), "makespan_s": statistics.mean(makespans),
                             "makespan_deviation_percent": 100 * statistics.stdev(makespans) / statistics.mean(makespans)})
    return found


def show_distributions(rows):
    """A block of lines for each application and size: planned share and idle time, mean and deviation."""
    titles = {"app": "application", "size": "size", "policy": "policy", "makespan": "makespan [s]"} | {p: p for p in PROCESSORS}
    found = {}
    for row in rows:
        key = (row["app"], row["size"], row["policy"])
        line = found.setdefault(key, {"app": row["app"], "size": row["size"], "policy": row["policy"],
                                      "makespan": f"{row['makespan_s']} ± {float(row['makespan_deviation_percent']):.1f} %"})
        line[row["processor"]] = (f"{float(row['planned_percent']):.1f} ± {float(row['planned_deviation']):.1f}; "
                                  f"{float(row['idle_percent']):.0f} ± {float(row['idle_deviation']):.0f}")
    return markdown(list(found.values()), titles)


def picture(rows):
    """Speed-ups over greedy on ABCD."""
    policies = ["acosta", "hdss", "plb-hec-published", "plb-hec"]
    groups = {app: [[row["size"]] + [f"{float(row['greedy_s']) / float(row[p + '_s']):.4g}" for p in policies]
                    for row in rows if row["app"] == app and row["machines"] == "ABCD"] for app in SIZES}
    return panels(groups, dict.fromkeys(policies, "linespoints lw 2"), "set yrange [0:*]\nset grid y\n"
                  "set xtics rotate by 45 right\nset ylabel 'times as fast as greedy'", "{}:xtic(1)")


def solver(runs, case):
    """The times that IPOPT takes in plb-hec-published."""
    times = []
    for _ in range(10):
        report = runs.simulate("plbhec-abcd", "matmul", 65536, STARPU_SCHED="plb-hec-published")["report"]["solver"]
        times.append(1e3 * report["seconds"] / max(report["solves"], 1))
    return [case | {"published_ms": 170.0, "published_deviation_ms": 32.3, "ours_ms": statistics.mean(times),
                    "ours_deviation_ms": statistics.stdev(times), "ratio": statistics.mean(times) / 170}]


SPEEDUPS = [{"app": app, "size": size, "machines": machines} for app, sizes in SIZES.items() for size in sizes for machines in MACHINES]
ENDS = {app: (sizes[0], sizes[-1]) for app, sizes in SIZES.items()}
TABLES = [
    # No case is sampled: a change of plb-hec, the last of its columns, need not wait for all of them.
    Table("speedups", SPEEDUPS, speedups, show_speedups, picture=picture),
    Table("claims", [], None, show_claims, of="speedups"),
    Table("distributions", [{"app": app, "size": size, "policy": policy} for app, sizes in ENDS.items() for size in sizes
                            for policy in ["acosta", "hdss", "plb-hec-published", "plb-hec"]], distributions, show_distributions,
          sampled=lambda case: case == {"app": "blackscholes", "size": 10000, "policy": "hdss"}),
    Table("solver", [{"machines": "ABCD", "app": "matmul", "size": 65536}], solver, exact=False),
]
