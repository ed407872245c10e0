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

# A run under a policy is repeated when that policy or what all share has changed, and not when another policy has.
core=$folder/fake/simgrid/policies/libapportion_core.a.p
mkdir -p "$folder/fake/real/tools" "$folder/fake/simgrid/apps" "$core"
touch "$folder/fake/real/tools/apportion" "$folder/fake/simgrid/apps/matmul" "$core"/{hdss,plb_hec,plb_hec_plb_hec_plan,policy}.cpp.o
changes() { # POLICY FILE: whether the key of a run changes with the object file
    (cd "$source/tools" && python3 -B - "$folder/fake" "$core/$2" "$1") <<'END'
import pathlib, sys
from papers.runs import Runs, hash_of
build, changed, policy = sys.argv[1:]
runs = Runs(build, build)
words, variables = [runs.apportion, runs.simulated_app("matmul")], {} if policy == "none" else {"STARPU_SCHED": policy}
before = runs.key(words, variables)
pathlib.Path(changed).write_text("changed")
hash_of.cache_clear()
after = runs.key(words, variables)
pathlib.Path(changed).write_text("")
sys.exit(before == after)
END
}
for changing in "plb-hec plb_hec" "plb-hec plb_hec_plb_hec_plan" "hdss hdss" "hdss policy" "auto plb_hec" "none plb_hec"; do
    changes ${changing% *} "${changing#* }.cpp.o" || fail "a run under ${changing% *} is not repeated when ${changing#* } has changed"
done
for kept in "hdss plb_hec" "hdss plb_hec_plb_hec_plan" "plb-hec hdss" "dmda plb_hec"; do
    ! changes ${kept% *} "${kept#* }.cpp.o" || fail "a run under ${kept% *} is repeated when ${kept#* } has changed"
done
# A table whose flavour is not built stays as it is, and that is said.
before=$(cat "$folder/copy/results/hpopta/clusters-simulated.csv")
"$folder/copy/tools/reproduce" hpopta --only clusters-simulated --build "$folder/fake" 2>"$folder/err" || fail "without smpi: $(cat "$folder/err")"
grep -q 'clusters-simulated is left as it is; tools/build smpi builds what it needs' "$folder/err" || fail "without smpi: $(cat "$folder/err")"
[ "$(cat "$folder/copy/results/hpopta/clusters-simulated.csv")" = "$before" ] || fail "changed a table without its flavour"
[ -n "$build" ] || exit 0
status=0
"$folder/copy/tools/reproduce" ilp --only optimal --sample --build "$build" --kept "$folder/kept" >"$folder/out" 2>"$folder/err" || status=$?
[ $status -ne 0 ] && grep -q 'optimal.csv: published_s is 5.304 of .* but now 5.303' "$folder/err" ||
    fail "a changed figure: $status, $(cat "$folder/out" "$folder/err")"
"$tool" --sample --build "$build" --kept "$folder/kept" || fail "figures are not what they were"
