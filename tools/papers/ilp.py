# SPDX-License-Identifier: LGPL-2.1-or-later
"""The data assignment paper's results (Boinski, Czarnul, section 4): optimal times (Tables 1-3, 9-11, B.1-B.3), other
distributions (Tables 4, 5, B.4, B.5), time limits of the solver (Tables 12-14), and the coefficients of the network and
the buses (Tables A.3, A.5)."""
import functools
import json

from papers.runs import TOP
from papers.tables import Table, read_csv

PUBLISHED = TOP / "results/ilp"
EXAMPLES = TOP / "tools/examples"
MIN_MIN_ITERATIONS, ITERATIONS = 1000, 1300


def instance(unknowns):
    return EXAMPLES / ("instance.json" if unknowns == 512 else f"instance-{unknowns}.json")


@functools.cache
def published(name):
    return read_csv(PUBLISHED / f"published-{name}.csv")


def published_row(name, case):
    return next(row for row in published(name) if all(row[key] == str(value) for key, value in case.items()))


def cases_of(name, *keys):
    return [{key: row[key] if key == "configuration" else int(row[key]) for key in keys} for row in published(name)]


def shares_of(plan):
    return [share["units"] for share in plan["shares"]]


def modelled_s(unknowns, shares):
    """T = sum of 2 a + d (in + out) / b over the nodes, one after the other, + max c d."""
    data = json.loads(instance(unknowns).read_text(encoding="utf-8"))
    bytes_per_s = dict(zip(data["nodes"], data["b_N_bytes_per_s"]))
    bytes_of_packet = data["d_si_bytes"] + data["d_sr_bytes"]
    return (sum(2 * a for a in data["a_N_s"]) + max(c * d for c, d in zip(data["c_s"], shares)) +
            sum(d * bytes_of_packet / bytes_per_s[unit["node"]] for unit, d in zip(data["pus"], shares)))


def optimal(runs, case):
    row = published_row("optimal", case)
    plan = runs.plan("--instance", instance(case["unknowns"]), "--units", case["packets"])
    parallel = runs.plan("--instance", instance(case["unknowns"]), "--units", case["packets"], "--network", "parallel")
    theirs = [int(share) for share in row["shares"].split()]
    time_s, found_s = float(row["time_s"]), round(plan["makespan_seconds"], 3)
    return [case | {"published_s": row["time_s"], "ours_s": f"{found_s:.3f}", "ratio": f"{found_s / time_s:.5f}",
                    "published_shares_s": f"{modelled_s(case['unknowns'], theirs):.3f}",
                    "packets_elsewhere": sum(abs(a - b) for a, b in zip(theirs, shares_of(plan))) // 2,
                    "parallel_network_s": f"{parallel['makespan_seconds']:.3f}", "published_real_s": row["real_time_s"],
                    "published_solver_s": row["lp_solve_s"], "shares": " ".join(map(str, shares_of(plan)))}]


OPTIMAL_TITLES = {"unknowns": "unknowns", "packets": "packets", "published_s": "published [s]", "ours_s": "ours [s]",
                  "ratio": "ours / published", "published_shares_s": "published distribution, our model [s]",
                  "packets_elsewhere": "packets assigned otherwise", "parallel_network_s": "eq. 3 as printed [s]",
                  "published_real_s": "published, real run [s]", "published_solver_s": "their solver [s]"}


def min_min_instance(runs, unknowns):
    """As it was planned with: 1000 iterations instead of 1300."""
    data = json.loads(instance(unknowns).read_text(encoding="utf-8"))
    part = MIN_MIN_ITERATIONS / ITERATIONS
    data["c_s"] = [c - (1 - part) * compute for c, compute in zip(data["c_s"], data["compute_s"])]
    data["compute_s"] = [part * compute for compute in data["compute_s"]]
    return runs.text_file(f"min-min-{unknowns}.json", json.dumps(data))


PLANNERS = {"Optimal": "ilp", "Proportional": "proportional", "Min-min v1": "min-min-v1", "Min-min v2": "min-min-v2"}


def configurations(runs, case):
    """Times of the published distributions and of ours, all by the same model."""
    row, unknowns = published_row("configurations", case), case["unknowns"]
    theirs = [int(share) for share in row["shares"].split()]
    ours, elsewhere = theirs, None
    planner = PLANNERS.get(case["configuration"])
    if planner:
        file = instance(unknowns) if planner == "ilp" else min_min_instance(runs, unknowns)
        ours = shares_of(runs.plan("--instance", file, "--units", case["packets"], "--algorithm", planner))
        elsewhere = sum(abs(a - b) for a, b in zip(theirs, ours)) // 2
    modelled, planned = (modelled_s(unknowns, shares) for shares in (theirs, ours))
    real = float(row["real_time_s"])
    return [case | {"published_real_s": row["real_time_s"], "model_of_published_s": modelled, "ratio": modelled / real,
                    "ours_s": planned if planner else None, "packets_elsewhere": elsewhere,
                    "shares": " ".join(map(str, ours))}]


CONFIGURATIONS_TITLES = {"unknowns": "unknowns", "configuration": "configuration", "published_real_s": "published, real run [s]",
                         "model_of_published_s": "that distribution, our model [s]", "ratio": "model / real",
                         "ours_s": "distribution by our planner [s]", "packets_elsewhere": "packets assigned otherwise"}


def time_limits(runs, case):
    """lp_solve on our formulation: measured, so that it depends on the machine."""
    row = published_row("time-limits", case)
    optimal_s = float(published_row("optimal", {key: case[key] for key in ("unknowns", "packets")})["time_s"])
    plan = runs.plan("--instance", instance(case["unknowns"]), "--units", case["packets"], "--algorithm", "ilp-milp",
                     "--time-limit", case["limit_s"])
    exact = runs.plan("--instance", instance(case["unknowns"]), "--units", case["packets"], "--algorithm", "ilp")
    return [case | {"published_real_s": row["real_time_s"], "published_optimal_s": f"{optimal_s:.3f}",
                    "ours_s": plan["makespan_seconds"], "solver_s": plan["solve_seconds"],
                    "proven": "yes" if plan["optimal"] else "no", "ilp_us": 1e6 * exact["solve_seconds"]}]


TIME_LIMITS_TITLES = {"unknowns": "unknowns", "packets": "packets", "limit_s": "limit [s]",
                      "published_real_s": "published, real run [s]", "published_optimal_s": "published optimum [s]",
                      "ours_s": "ilp-milp [s]", "solver_s": "lp_solve ran [s]", "proven": "proven", "ilp_us": "ilp [µs]"}


def coefficients(_, case):
    """Equation 4 from the published two-way times: b is the mean over the neighbouring sizes of a pair."""
    rows = [row for row in published("profiling") if row["pair"] == case["pair"]]
    one_way = [(int(row["size_bytes"]), float(row["two_way_ms"]) / 2000) for row in rows]
    found = [(large - small) / (large_s - small_s) for (small, small_s), (large, large_s) in zip(one_way[1:], one_way[2:])]
    b, theirs = sum(found) / len(found), float(rows[0]["published_b_bytes_per_s"])
    return [case | {"published_a_s": rows[0]["published_a_s"], "a_s": one_way[0][1], "published_b_bytes_per_s": theirs,
                    "b_bytes_per_s": b, "ratio": b / theirs}]


COEFFICIENTS_TITLES = {"pair": "to", "published_a_s": "a, published [s]", "a_s": "a, ours [s]",
                       "published_b_bytes_per_s": "b, published [bytes/s]", "b_bytes_per_s": "b, ours [bytes/s]",
                       "ratio": "ours / published"}


def fission_instance(runs, configuration):
    """That of 1024 unknowns with the units of Table 7 or 8, whose column of one iteration has the seconds of 1300."""
    data = json.loads(instance(1024).read_text(encoding="utf-8"))
    units = {(row["node"], row["device"]): row for row in published("units") if row["configuration"] == configuration}
    data["pus"] = [unit for unit in data["pus"] if (unit["node"], unit["device"]) in units]
    own = [units[unit["node"], unit["device"]] for unit in data["pus"]]
    data["compute_s"] = [float(row["calculation_s"]) for row in own]
    data["c_s"] = [float(row["calculation_s"]) + float(row["deinitialization_s"]) for row in own]
    return runs.text_file("fission.json", json.dumps(data))


def fission(runs, case):
    """Fig. 2, which prints no numbers."""
    seconds = {name: runs.plan("--instance", file, "--units", case["packets"])["makespan_seconds"] for name, file in {
        "fission_s": instance(1024), "no_fission_s": fission_instance(runs, "GPUs and CPUs without fission"),
        "gpus_s": fission_instance(runs, "GPUs")}.items()}
    return [case | seconds | {"gpus_percent": 100 * (seconds["gpus_s"] / seconds["fission_s"] - 1),
                              "no_fission_percent": 100 * (seconds["no_fission_s"] / seconds["fission_s"] - 1)}]


FISSION_TITLES = {"packets": "packets", "fission_s": "CPUs and GPUs, fission [s]", "no_fission_s": "without fission [s]",
                  "no_fission_percent": "longer, %", "gpus_s": "GPUs only [s]", "gpus_percent": "longer, %"}


PAIRS = list(dict.fromkeys(row["pair"] for row in published("profiling")))
TABLES = [
    Table("optimal", cases_of("optimal", "unknowns", "packets"), optimal, OPTIMAL_TITLES,
          sampled=lambda case: case["packets"] in (64, 2048)),
    Table("configurations", cases_of("configurations", "unknowns", "packets", "configuration"), configurations,
          CONFIGURATIONS_TITLES, sampled=lambda case: case["configuration"] != "Optimal"),
    Table("time-limits", cases_of("time-limits", "unknowns", "packets", "limit_s"), time_limits, TIME_LIMITS_TITLES, exact=False),
    Table("fission", [{"packets": packets} for packets in (64, 128, 256, 512, 768, 1024, 1536, 2048)], fission, FISSION_TITLES,
          sampled=lambda case: case["packets"] == 512),
    Table("coefficients", [{"pair": pair} for pair in PAIRS], coefficients, COEFFICIENTS_TITLES, sampled=lambda case: True),
]
