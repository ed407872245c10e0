#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# reproduce.sh REPRODUCE SOURCE BUILD: the papers' pages are what the CSV files make, some simulated and planned figures
# come out again as they are kept, and what tools/reproduce refuses. BUILD has the folders real and simgrid; without: pages only.
. "$(dirname "$0")/../checks.sh"
tool=$1 source=$2 build=${3:-}

"$tool" --check || fail "pages differ from results/"
refuses "no paper" 2 "name a paper, or all" "$tool"
refuses "an unknown paper" 2 "magic is no paper; use hpopta, plb-hec," "$tool" magic
refuses "an unknown table" 2 "--only nothing: there is no such table" "$tool" ilp --only nothing
refuses "a folder without programs" 1 "build it with tools/build" "$tool" ilp --build "$folder"

# A changed figure is seen on the page and by finding it again.
mkdir "$folder/copy"
cp -r "$source/tools" "$source/docs" "$source/results" "$source/codelets" "$source/RESULTS.md" "$folder/copy"
sed -i '0,/5.303/s//5.304/' "$folder/copy/results/ilp/optimal.csv"
status=0
"$folder/copy/tools/reproduce" --check 2>"$folder/err" || status=$?
[ $status -ne 0 ] && grep -q 'docs/papers/ilp.md: is not what results/ilp makes; run tools/reproduce ilp' "$folder/err" ||
    fail "a changed CSV file: $status, $(cat "$folder/err")"
sed -i 's/^| `dmda` by default | 0/| `dmda` by default | 1/' "$folder/copy/RESULTS.md"
! "$folder/copy/tools/reproduce" plb-hec --check 2>"$folder/err" && grep -q "RESULTS.md: does not say '| .dmda. by default | 0" "$folder/err" ||
    fail "a figure in the text that no CSV file has: $(cat "$folder/err")"

# What it writes is there whole, wherever it is, and is readable as before.
mkdir "$folder/it's"
(cd "$source/tools" && python3 -B - "$folder/it's") <<'END' || fail "a picture in a folder with a quote"
import pathlib, sys
from papers.runs import draw, write_whole
folder = pathlib.Path(sys.argv[1])
draw(folder / "x.svg", "plot x")
text = (folder / "x.svg").read_text(encoding="utf-8")
assert "<svg" in text and "</svg>" in text, text
try:
    write_whole(folder / "x.svg", None)
except TypeError:
    pass
assert (folder / "x.svg").read_text(encoding="utf-8") == text
assert [file.name for file in folder.iterdir()] == ["x.svg"]
assert (folder / "x.svg").stat().st_mode & 0o777 == 0o644
END

mkdir -p "$folder/fake/real/tools"
touch "$folder/fake/real/tools/apportion"
# A table whose flavour is not built stays as it is, and that is said.
before=$(cat "$folder/copy/results/hpopta/clusters-simulated.csv")
"$folder/copy/tools/reproduce" hpopta --only clusters-simulated --build "$folder/fake" 2>"$folder/err" || fail "without smpi: $(cat "$folder/err")"
grep -q 'clusters-simulated is left as it is; tools/build smpi builds what it needs' "$folder/err" || fail "without smpi: $(cat "$folder/err")"
[ "$(cat "$folder/copy/results/hpopta/clusters-simulated.csv")" = "$before" ] || fail "changed a table without its flavour"
[ -n "$build" ] || exit 0
status=0
"$folder/copy/tools/reproduce" ilp --only optimal --sample --build "$build" >"$folder/out" 2>"$folder/err" || status=$?
[ $status -ne 0 ] && grep -q 'optimal.csv: published_s is 5.304 of .* but now 5.303' "$folder/err" ||
    fail "a changed figure: $status, $(cat "$folder/out" "$folder/err")"
"$tool" --sample --build "$build" || fail "figures are not what they were"
