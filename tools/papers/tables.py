# SPDX-License-Identifier: LGPL-2.1-or-later
"""A paper's tables: how their rows are found, how they are kept as CSV, and how they are shown on the paper's page."""
import csv
import io
import re
from dataclasses import dataclass
from typing import Callable

from simulated_machines import Failed


@dataclass
class Table:
    """`rows(runs, case)` gives the rows of a case, dictionaries of numbers and texts. Cases are dictionaries, too, and
    their keys are the first columns. An exact table is one that gives the same numbers on every machine; the cases that
    `sampled` holds are found again by a test."""
    name: str
    cases: list
    rows: Callable
    show: Callable | dict = None  # (rows of texts) -> Markdown, or titles as markdown() has them; None: as they are
    exact: bool = True
    sampled: Callable = lambda case: False
    picture: Callable = None  # (rows) -> a script for gnuplot
    of: str = None  # the table whose rows it shows; it has no cases and no CSV file of its own
    flavour: str = None  # that its runs need beside real and simgrid; where it is not built, the table is left as it is


def text_of(value):
    """As in a CSV file: four digits of a number are enough, and the same everywhere."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def csv_of(rows):
    out = io.StringIO()
    columns = list(rows[0])
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: text_of(row[column]) for column in columns} for row in rows)
    return out.getvalue()


def read_csv(file):
    if not file.exists():
        raise Failed(f"there is no {file}; tools/reproduce makes it")
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def profile_rows(file):
    """Of a file that apportion profile has written."""
    return list(csv.DictReader(line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")))


def markdown(rows, titles=None):
    """Rows of texts; titles: column -> what stands above it, in this order; others are left out."""
    titles = titles or {column: column for column in rows[0]}
    is_number = {column: all(re.fullmatch(r"[-+*~]*[\d.]*(e[-+]?\d+)?( [x%])?[*]*", row[column]) for row in rows)
                 for column in titles}
    lines = ["| " + " | ".join(titles.values()) + " |",
             "|" + "|".join("--:" if is_number[column] else "---" for column in titles) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row[column] for column in titles) + " |" for row in rows])


def begin_mark(name):
    return f"<!-- {name}: made by tools/reproduce from results/ -->"


END_MARK = "<!-- end -->"


def filled(page, shown, page_name):
    """The page with every table between its marks."""
    for name, text in shown.items():
        begin = page.find(begin_mark(name))
        end = page.find(END_MARK, begin)
        if begin < 0 or end < 0:
            raise Failed(f"{page_name}: has no lines '{begin_mark(name)}' and '{END_MARK}'; write them where the table belongs")
        page = page[:begin + len(begin_mark(name))] + f"\n{text}\n" + page[end:]
    return page
