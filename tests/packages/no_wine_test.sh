#!/usr/bin/env bash
# Says why the Windows build's tests do not run, as scripts/wine.sh found when it last ran. ctest
# lists them as skipped by its exit status.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
cat build-wine/skipped 2>/dev/null ||
    echo "wine: skipped: build-windows-x86_64/ is not there: scripts/cross.sh windows-x86_64," \
        "which needs scripts/wine.sh"
exit 77
