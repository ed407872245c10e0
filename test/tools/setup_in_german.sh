#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# setup_in_german.sh SETUP: tools/setup understands an apt that speaks another language, here one that only pretends:
# it takes a packaged StarPU, and installs what is missing without new package lists.
. "$(dirname "$0")/../checks.sh"
setup=$1
mkdir "$folder/tools" "$folder/bin"
cp "$setup" "$folder/tools/setup"
echo missing-package >"$folder/tools/debian-packages"
printf '#!/bin/sh\n' >"$folder/tools/starpu-flavour"
cat >"$folder/bin/apt-cache" <<'END'
#!/bin/sh
case ${LC_ALL:-${LC_MESSAGES:-$LANG}} in
de_*) printf '%s:\n  Installiert:           (keine)\n  Installationskandidat: 1.4.7+dfsg-1\n' "$2" ;;
*) printf '%s:\n  Installed: (none)\n  Candidate: 1.4.7+dfsg-1\n' "$2" ;;
esac
END
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/dpkg-query"
printf '#!/bin/sh\necho "$@" >>"%s/said"\n' "$folder" >"$folder/bin/apt-get"
printf '#!/bin/sh\nexec "$@"\n' >"$folder/bin/sudo"
chmod +x "$folder"/bin/* "$folder"/tools/starpu-flavour
touch "$folder/said"
env -u LC_ALL -u APPORTION_STARPU_REAL LANG=de_DE.UTF-8 PATH="$folder/bin:$PATH" "$folder/tools/setup"
grep -q 'install .* libstarpu-dev$' "$folder/said" ||
    fail "the packaged StarPU was not taken; apt-get was called with: $(cat "$folder/said")"
! grep -q update "$folder/said" || fail "the candidate of a package was not understood"
