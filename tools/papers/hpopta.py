# SPDX-License-Identifier: LGPL-2.1-or-later
"""HPOPTA's results: the worked example (Figs 3-12), the speed functions of its server (Figs 1, 2, 13, 15) with their
variations and bands, gains over smooth functions and constant speeds (section 6.2, Figs 14, 16), and clusters (6.3), all
on the simulated server or planned."""
import csv
import io
import math
import re
import statistics

from papers.fftw import FLAGS, transform_times
from papers.runs import TOP, panels
from papers.tables import Table, markdown, profile_rows

# The paper's grids, ranges of n and reference sizes (section 6.2); work is that of an x by x problem.
APPS = {"matmul": {"step": 64, "largest": 44800, "from": 6400, "to": 134400, "power": 3, "references": [4736, 28672, 44800]},
        "fft2d": {"step": 16, "largest": 24000, "from": 1600, "to": 72000, "power": 2, "references": [4320, 13824, 24000]}}
PROCESSORS = ["Haswell, 22 cores", "K40c", "Xeon Phi 3120P"]
SPEED_AXES = "set grid y\nset yrange [0:*]\nset ylabel 'GFLOP/s'\nset xtics rotate by 45 right\n"
LARGEST_PRIME = 127  # of an FFT's size; CUFFT fails above


def is_allowed(app, size):
    if app != "fft2d":
        return True
    for factor in range(2, LARGEST_PRIME + 1):
        while size % factor == 0:
            size //= factor
    return size == 1


def profile(runs, app):
    """Of x by x problems, as the paper measures them, at its sizes."""
    grid = APPS[app]
    file = runs.file("square.csv", runs.apportion, "profile", "--square", "--app", app, "--platform", "hclserver", "--sizes",
                     f"{grid['step']}:{grid['largest']}:{grid['step']}", "--out", "{out}")
    return [row for row in profile_rows(file) if is_allowed(app, int(row["units"]))]


def profile_file(runs, app, nodes=1):
    return runs.text_file(f"hclserver-{app}-{nodes}.csv", copies_of_servers(profile(runs, app), nodes))


def copies_of_servers(rows, nodes):
    """A profile; nodes > 1: of a cluster of such servers."""
    out, rows = io.StringIO(), list(rows)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["processor", "units", "seconds"])
    for node in range(nodes):
        for row in rows:
            name = row["processor"] if nodes == 1 else f"node{node}/{row['processor']}"
            writer.writerow([name, row["units"], row["seconds"]])
    return out.getvalue()


def times(runs, app):
    """processor -> size -> seconds."""
    found = {name: {} for name in PROCESSORS}
    for row in profile(runs, app):
        found[row["processor"]][int(row["units"])] = float(row["seconds"])
    return found


def condition(runs, file, app, units):
    return runs.json(runs.apportion, "plan", "--profiles", file, "--condition", "--units", units, "--work-power",
                     APPS[app]["power"], "--references", ",".join(map(str, APPS[app]["references"])), "--json")


# Section 4's example: times of 1 to 16 units.
EXAMPLE = [[6, 13, 2, 12, 14, 14, 13, 1, 3, 4, 20, 2, 11, 5, 3, 10], [12, 10, 7, 6, 4, 4, 8, 1, 3, 16, 13, 13, 16, 18, 20, 17],
           [1, 7, 4, 4, 8, 9, 1, 14, 13, 14, 19, 15, 18, 18, 16, 19], [6, 3, 4, 4, 3, 2, 7, 9, 13, 14, 13, 16, 19, 17, 15, 20]]


def example(runs, case):
    file = runs.text_file("example.csv", "processor,units,seconds\n" + "".join(
        f"P{p},{x},{t}\n" for p, row in enumerate(EXAMPLE) for x, t in enumerate(row, 1)))
    plan = runs.plan("--profiles", file, "--units", 16, "--algorithm", case["algorithm"])
    shares = " ".join(str(share["units"]) for share in plan["shares"])
    published = {"equal": ("4 4 4 4", 12)}.get(case["algorithm"], ("8 8 0 0", 1))
    return [case | {"published_shares": published[0], "published": published[1], "shares": shares,
                    "ours": int(plan["makespan_seconds"]), "proven": "yes" if plan["optimal"] else "no"}]


RELATIVE = {("matmul", 4736): (0.34, 0.59, 0.07), ("matmul", 28672): (0.27, 0.55, 0.18), ("matmul", 44800): (0.27, 0.49, 0.24),
            ("fft2d", 4320): (0.18, 0.78, 0.04), ("fft2d", 13824): (0.69, 0.26, 0.05), ("fft2d", 24000): (0.60, 0.35, 0.05)}


def relative_speeds(runs, case):
    speeds = [1 / of_processor[case["size"]] for of_processor in times(runs, case["app"]).values()]
    published = RELATIVE[case["app"], case["size"]]
    return [case | {"published": " : ".join(f"{s:.2f}" for s in published),
                    "ours": " : ".join(f"{s / sum(speeds):.2f}" for s in speeds)}]


VARIATIONS = {"matmul": ([700, 50, 150], 29), "fft2d": ([350, 560, 200], 150)}  # per processor, and between the bands


def extrema(points):
    """Of (size, speed) the local ones, each with whether it is a minimum; the first and the last size are none."""
    steps = [(here, following[1] > here[1]) for here, following in zip(points, points[1:]) if following[1] != here[1]]
    return [(here, rises) for (_, rose), (here, rises) in zip(steps, steps[1:]) if rises != rose]


def trend(points, sizes):
    """Speeds at these sizes by the polynomial through (size, speed), chosen as models/speed_trend.hpp does; by polynomials that
    are orthogonal at the points."""
    count, fastest = len(points), max(speed for _, speed in points)
    rest = [speed / fastest for _, speed in points]
    least, most = points[0][0], points[-1][0]
    x = [(2 * size - least - most) / (most - least) for size in [size for size, _ in points] + sizes]
    polynomial, before, norm_before, fitted = [1] * len(x), [0] * len(x), 1, [0] * len(x)
    negligible, best, chosen = 1e-6 * sum(y * y for y in rest), math.inf, None
    for k in range(2, 2 + min(11, 1 + count // 4)):  # parameters, with the variance
        norm = sum(p * p for p in polynomial[:count])
        factor = sum(p * y for p, y in zip(polynomial, rest)) / norm
        fitted = [f + factor * p for f, p in zip(fitted, polynomial)]
        rest = [y - factor * p for y, p in zip(rest, polynomial)]
        criterion = count * math.log((sum(y * y for y in rest) + negligible) / count) + 2 * k + 2 * k * (k + 1) / max(count - k - 1, 1)
        if criterion < best and min(fitted[:count]) > 1e-9:
            best, chosen = criterion, [fastest * f for f in fitted[count:]]
        middle = sum(at * p * p for at, p in zip(x, polynomial[:count])) / norm
        polynomial, before = [(at - middle) * p - norm / norm_before * q for at, p, q in zip(x, polynomial, before)], polynomial
        norm_before = norm
    return chosen


def variations(runs, case):
    """Differences of speeds at neighbouring extrema, and of the trends through minima and maxima, in percent of the lower one."""
    app, rows = case["app"], []
    for k, (processor, of_size) in enumerate(times(runs, app).items()):
        found = extrema([(size, size ** APPS[app]["power"] / seconds) for size, seconds in sorted(of_size.items())])
        changes = [(100 * abs(a - b) / min(a, b), f"{start} and {end}") for ((start, a), _), ((end, b), _) in zip(found, found[1:])]
        largest, between = max(changes, key=lambda change: change[0])
        minima, maxima = ([point for point, is_minimum in found if is_minimum == wanted] for wanted in (True, False))
        sizes = [size for size, _ in minima]
        bands = [100 * (upper / lower - 1) for lower, upper in zip(trend(minima, sizes), trend(maxima, sizes))]
        rows.append(case | {"processor": processor, "published_percent": VARIATIONS[app][0][k], "largest_percent": largest,
                            "ratio": largest / VARIATIONS[app][0][k], "mean_percent": statistics.mean(change for change, _ in changes),
                            "between": between, "published_band_percent": VARIATIONS[app][1], "largest_band_percent": max(bands),
                            "mean_band_percent": statistics.mean(bands)})
    return rows


GAINS = {("matmul", "smooth-fpm"): (0, 14, 261), ("matmul", 4736): (None, 122, None), ("matmul", 28672): (None, 106, None),
         ("matmul", 44800): (None, 82, None), ("fft2d", "smooth-fpm"): (0, 40, 502), ("fft2d", 4320): (None, 301, None),
         ("fft2d", 13824): (None, 164, None), ("fft2d", 24000): (None, 129, None)}


def gains(runs, case):
    app, grid = case["app"], APPS[case["app"]]
    found = condition(runs, profile_file(runs, app), app, f"{grid['from']}:{grid['to']}:{grid['step']}")
    rows = []
    for gain in found["gains"]:
        published = GAINS.get((app, gain["reference_units"] or gain["over"]), (None, None, None))
        over = f"cpm at {gain['reference_units']}" if gain["reference_units"] else gain["over"]
        rows.append(case | {"over": over, "published_mean_percent": published[1], "mean_percent": gain["average_percent"],
                            "ratio": gain["average_percent"] / published[1] if published[1] else None,
                            "published_largest_percent": published[2], "largest_percent": gain["maximum_percent"],
                            "least_percent": gain["minimum_percent"], "largest_at": gain["maximum_at_units"],
                            "numbers": gain["numbers"], "left_out": gain["left_out"]})
    return rows


def said(rows_of):
    """What the text of pages says of the gains."""
    trend = {row["app"]: row for row in rows_of("gains") if row["over"] == "smooth-fpm"}
    mean = [f"{float(trend[app]['mean_percent']):.1f} %" for app in APPS]
    yield "RESULTS.md", f"HPOPTA gains {mean[0]} (DGEMM) and {mean[1]} (FFT)"
    yield "docs/papers/README.md", f"| {mean[0]}; {mean[1]} | " + "; ".join(f"{float(trend[app]['ratio']):.2f}" for app in APPS) + " |"
    ratios = {app: [float(row["ratio"]) for row in rows_of("gains") if row["app"] == app and row["over"].startswith("cpm")] for app in APPS}
    yield "docs/papers/hpopta.md", "Over constant speeds they are " + " and ".join(
        f"{min(found):.2f} to {max(found):.2f} of the paper's ({app})" for app, found in ratios.items())


# Workloads whose distributions the paper prints, of HPOPTA; "used" where it names the processors only.
OPTIMA = {("matmul", 6784): "1856 4928 0", ("fft2d", 1920): "464 1456 0", ("fft2d", 1200): "GPU only", ("fft2d", 19632): "CPU and GPU"}


def optima(runs, case):
    app, units = case["app"], case["units"]
    file = profile_file(runs, app)
    plan = runs.plan("--profiles", file, "--units", units, "--algorithm", "hpopta")
    published = runs.plan("--profiles", file, "--units", units, "--algorithm", "hpopta-published")
    gain = [g for g in condition(runs, file, app, f"{units}:{units}:1")["gains"] if g["over"] == "smooth-fpm"][0]
    return [case | {"published": OPTIMA[app, units], "ours": " ".join(str(share["units"]) for share in plan["shares"]),
                    "seconds": plan["makespan_seconds"], "algorithms_1_and_2_s": published["makespan_seconds"],
                    "smooth_fpm_percent_above": gain["average_percent"]}]


def server(runs, case):
    """Figs 14 and 16: the speed of the whole server."""
    app, units = case["app"], case["units"]
    file = profile_file(runs, app)
    plan = runs.plan("--profiles", file, "--units", units, "--algorithm", "hpopta")
    gain = [g for g in condition(runs, file, app, f"{units}:{units}:1")["gains"] if g["over"] == "smooth-fpm"][0]["average_percent"]
    work = 2 * units ** 3 if app == "matmul" else units ** 2 * math.log2(units ** 2)
    speed = 1e-9 * work / plan["makespan_seconds"]
    return [case | {"hpopta_gflops": speed, "smooth_fpm_gflops": speed / (1 + gain / 100), "gain_percent": gain}]


def show_server(rows):
    found = []
    for app in APPS:
        own = [float(row["gain_percent"]) for row in rows if row["app"] == app]
        found.append({"application": app, "sizes": str(len(own)), "mean": f"{statistics.mean(own):.1f}", "most": f"{max(own):.0f}"})
    return markdown(found, {"application": "application", "sizes": "sizes drawn", "mean": "hpopta faster, mean %", "most": "most %"})


def draw_server(rows):
    groups = {f"{app}, the whole server": [[row["units"], row["hpopta_gflops"], row["smooth_fpm_gflops"]]
                                           for row in rows if row["app"] == app] for app in APPS}
    return panels(groups, dict.fromkeys(["hpopta", "smooth-fpm"], "lines lw 2"), SPEED_AXES + "set xlabel 'n'")


def speeds(runs, case):
    """Figs 1, 2, 13, 15."""
    app = case["app"]
    found = times(runs, app)
    rows = []
    for size in sorted(found[PROCESSORS[0]]):
        work = 2 * size ** 3 if app == "matmul" else size ** 2 * math.log2(size ** 2)
        rows.append(case | {"size": size} | {name: 1e-9 * work / found[name][size] for name in PROCESSORS})
    return rows


def show_speeds(rows):
    found = [{"application": app, "sizes": str(len(own)), "least": own[0]["size"], "largest": own[-1]["size"]}
             for app in APPS for own in [[row for row in rows if row["app"] == app]]]
    return markdown(found, {"application": "application", "sizes": "sizes", "least": "smallest", "largest": "largest"})


def draw_speeds(rows):
    groups = {f"{app}, x by x": [[row[column] for column in ["size"] + PROCESSORS] for row in rows if row["app"] == app] for app in APPS}
    return panels(groups, dict.fromkeys(PROCESSORS, "lines"), SPEED_AXES + "set xlabel 'x'")


def clusters(runs, case):
    """Identical servers (section 6.3), of which each has a third of the server's largest sizes to do."""
    app, nodes = case["app"], case["nodes"]
    file, step = profile_file(runs, app, nodes), APPS[app]["step"]
    units = [nodes * step * k for k in (100, 400, 700)]
    rows = [condition(runs, file, app, f"{n}:{n}:1") for n in units]
    smooth = [gain["average_percent"] for found in rows for gain in found["gains"] if gain["over"] == "smooth-fpm"]
    return [case | {"processors": 3 * nodes, "smooth_fpm_mean_percent": statistics.mean(smooth), "smooth_fpm_largest_percent": max(smooth)}]


CLUSTERS = {2: "two-servers", 4: "four-servers"}
SIMULATED_ON_CLUSTERS = [{"app": "matmul", "nodes": nodes, "units": nodes * units} for nodes in CLUSTERS for units in (6400, 12800, 20480)] + [
    {"app": "fft2d", "nodes": nodes, "units": 6400} for nodes in CLUSTERS]


def clusters_simulated(runs, case):
    """Columns of one product, whose height of 1024 is small so that little is copied, or rows of one transform, which
    computes them twice: planned, and by the application over nodes, outer and inner policy the same."""
    app, nodes, units = case.values()
    size = f"1024,{units},1024" if app == "matmul" else units
    step = APPS[app]["step"]
    file = runs.file("units.csv", runs.apportion, "profile", "--app", app, "--size", size, "--platform", "hclserver",
                     "--sizes", f"{step}:{units}:{step}", "--out", "{out}")
    all_nodes = copies_of_servers(profile_rows(file), nodes)
    planned = {plan["algorithm"]: plan["makespan_seconds"] * (2 if app == "fft2d" else 1) for plan in
               runs.plan("--profiles", runs.text_file("servers.csv", all_nodes), "--units", units, "--algorithm", "all")}
    platform = TOP / f"results/hpopta/{CLUSTERS[nodes]}.toml"
    any_server = runs.text_file("server.csv", re.sub("(?m)^# machine.*\n", "", file.read_text(encoding="utf-8")))
    seconds = {policy: runs.json(runs.apportion, "platform", platform, runs.build / "smpi/apps" / app, "--size", size, "--json",
                                 STARPU_SCHED=policy, APPORTION_NODES=policy, APPORTION_PROFILES=str(any_server))["seconds"]
               for policy in FFT2D_POLICIES}
    row = case | {"planned_hpopta_s": planned["hpopta"], "simulated_hpopta_s": seconds["hpopta"],
                  "simulated_over_planned": seconds["hpopta"] / planned["hpopta"]}
    for policy in FFT2D_POLICIES[1:]:
        row |= {f"planned_{policy}_percent_above": 100 * (planned[policy] / planned["hpopta"] - 1),
                f"simulated_{policy}_percent_above": 100 * (seconds[policy] / seconds["hpopta"] - 1)}
    return [row]


def show_clusters_simulated(rows):
    shown = [row | {column: f"{float(row[column]):.0f}" for column in row if column.endswith("above")} for row in rows]
    return markdown(shown, {column: re.sub("_s$", " [s]", column.replace("_percent_above", ", % above")).replace("_", " ") for column in rows[0]})


FFT2D_PLANNERS, FFT2D_POLICIES = ["hpopta", "smooth-fpm", "fpm", "cpm"], ["hpopta", "fpm", "cpm", "equal"]


def rows_of_fft2d(runs, case):
    """Rows of one transform of n x n, rather than squares: planned, each share as one problem, and by the application,
    which may cut shares."""
    size = case["size"]
    file = runs.file("rows.csv", runs.apportion, "profile", "--app", "fft2d", "--size", size, "--platform", "hclserver",
                     "--sizes", f"16:{size}:16", "--out", "{out}")
    planned = {plan["algorithm"]: plan["makespan_seconds"] for plan in
               runs.plan("--profiles", file, "--units", size, "--algorithm", "all")}
    compared = runs.json(runs.apportion, "compare", "--app", "fft2d", "--size", size, "--platform", "hclserver", "--policies",
                         ",".join(FFT2D_POLICIES), "--json", APPORTION_PROFILES=str(file))
    seconds = {run["policy"]: run["makespan_seconds"]["median"] for run in compared["runs"]}
    row = case | {"planned_hpopta_s": planned["hpopta"]}
    row |= {f"planned_{p}_percent_above": 100 * (planned[p] / planned["hpopta"] - 1) for p in FFT2D_PLANNERS[1:]}
    row |= {"simulated_hpopta_s": seconds["hpopta"]}
    return [row | {f"simulated_{p}_percent_above": 100 * (seconds[p] / seconds["hpopta"] - 1) for p in FFT2D_POLICIES[1:]}]


def show_rows_of_fft2d(rows):
    columns = [column for column in rows[0] if column.endswith("above")]
    mean = {column: "" for column in rows[0]} | {"size": "mean"} | {
        column: f"**{statistics.mean(float(row[column]) for row in rows):.0f}**" for column in columns}
    shown = [row | {column: f"{float(row[column]):.0f}" for column in columns} for row in rows] + [mean]
    return markdown(shown, {"size": "n"} | {column: re.sub("_s$", " [s]", column.replace("_percent_above", ", % above")).replace("_", " ")
                                            for column in rows[0] if column != "size"})


# On the machine at hand: three processors by kernel variant, each one core alone.
OPENBLAS_KERNELS = ["Haswell", "Sandybridge", "Nehalem"]
FFTW_PLANS = {"measure": FLAGS["measure"], "estimate": FLAGS["estimate"], "unaligned": FLAGS["estimate"] | FLAGS["unaligned"]}
GRANULE, MEASURED_SIZE, MOST_UNITS = 5, {"matmul": 512, "fftw": 1024}, 510
MEASURED_N = range(130, MOST_UNITS + 1, 20)  # no share is larger than what was measured
MEASURED_ALGORITHMS = ["hpopta", "smooth-fpm", "fpm", "cpm", "equal"]


def matmul_times(runs, openblas_kernel):
    """units -> seconds."""
    file = runs.file("measured.csv", runs.apportion, "profile", "--app", "matmul", "--size", MEASURED_SIZE["matmul"], "--sizes",
                     f"{GRANULE}:{MOST_UNITS}:{GRANULE}", "--max-seconds", "0.1", "--out", "{out}", again=True,
                     OPENBLAS_CORETYPE=openblas_kernel, STARPU_NCPU="1")
    return {int(row["units"]): float(row["seconds"]) for row in profile_rows(file)}


def measured_times(runs, app):
    """variant -> granules -> seconds."""
    if app == "matmul":
        found = {name: matmul_times(runs, name) for name in OPENBLAS_KERNELS}
    else:
        sizes = range(GRANULE, MOST_UNITS + 1, GRANULE)
        found = {name: transform_times(flags, MEASURED_SIZE[app], sizes) for name, flags in FFTW_PLANS.items()}
    return {name: {units // GRANULE: seconds for units, seconds in times.items()} for name, times in found.items()}


def measured(runs, case):
    """Distributions planned by one measurement, and what they take by a second one."""
    app = case["app"]
    before, after = measured_times(runs, app), measured_times(runs, app)
    profile_of = runs.text_file("measured.csv", "processor,units,seconds\n" + "".join(
        f"{name},{x},{t!r}\n" for name, of_size in before.items() for x, t in of_size.items()))
    predicted, real = {}, {}
    for algorithm in MEASURED_ALGORITHMS:
        for n in MEASURED_N:
            plan = runs.plan("--profiles", profile_of, "--units", n // GRANULE, "--algorithm", algorithm)
            shares = dict(zip(before, (share["units"] for share in plan["shares"])))
            predicted[algorithm, n], real[algorithm, n] = (
                max(times[name][x] for name, x in shares.items() if x) for times in (before, after))
    rows = []
    for algorithm in MEASURED_ALGORITHMS:
        off = [100 * (real[algorithm, n] / predicted[algorithm, n] - 1) for n in MEASURED_N]
        promised, gained = ([100 * (times[algorithm, n] / times["hpopta", n] - 1) for n in MEASURED_N] for times in (predicted, real))
        rows.append(case | {"algorithm": algorithm, "numbers": len(MEASURED_N), "off_mean_percent": statistics.mean(off),
                            "off_least_percent": min(off), "off_most_percent": max(off),
                            "predicted_gain_percent": statistics.mean(promised), "gain_percent": statistics.mean(gained),
                            "least_gain_percent": min(gained), "most_gain_percent": max(gained)})
    return rows


def show_measured(rows):
    def text(row, *columns):
        return ", ".join(f"{float(row[column]):.0f}" for column in columns)

    found = []
    for row in rows:
        is_hpopta = row["algorithm"] == "hpopta"
        found.append({"kernel": row["app"], "planned by": row["algorithm"],
                      "measured over predicted makespan, %: mean; least, most":
                          text(row, "off_mean_percent") + "; " + text(row, "off_least_percent", "off_most_percent"),
                      "hpopta faster, predicted, mean %": "" if is_hpopta else text(row, "predicted_gain_percent"),
                      "measured, mean %": "" if is_hpopta else text(row, "gain_percent"),
                      "least, most": "" if is_hpopta else text(row, "least_gain_percent", "most_gain_percent")})
    return markdown(found)


def every(app, count):
    grid = APPS[app]
    return [(grid["from"] + (grid["to"] - grid["from"]) * k // count) // grid["step"] * grid["step"] for k in range(count)]


EACH_APP = [{"app": app} for app in APPS]
TABLES = [
    Table("example", [{"algorithm": a} for a in ("equal", "hpopta-published", "hpopta")], example,
          sampled=lambda case: True),
    Table("relative-speeds", [{"app": app, "size": size} for app, size in RELATIVE], relative_speeds, sampled=lambda case: True),
    Table("variations", EACH_APP, variations, sampled=lambda case: True),
    Table("gains", EACH_APP, gains, sampled=lambda case: case["app"] == "matmul"),
    Table("optima", [{"app": app, "units": units} for app, units in OPTIMA], optima, sampled=lambda case: True),
    Table("speeds", EACH_APP, speeds, show_speeds, picture=draw_speeds),
    Table("server", [{"app": app, "units": units} for app in APPS for units in every(app, 30)], server, show_server, picture=draw_server),
    Table("clusters", [{"app": app, "nodes": nodes} for app in APPS for nodes in (2, 4)], clusters),
    Table("clusters-simulated", SIMULATED_ON_CLUSTERS, clusters_simulated, show_clusters_simulated, flavour="smpi"),
    Table("rows-of-fft2d", [{"size": size} for size in range(1600, 24001, 1600)], rows_of_fft2d, show_rows_of_fft2d,
          sampled=lambda case: case["size"] == 1600),
    Table("measured", [{"app": app} for app in MEASURED_SIZE], measured, show_measured, exact=False),
]
