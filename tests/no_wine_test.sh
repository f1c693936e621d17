#!/usr/bin/env bash
# Says why the Windows build's tests do not run, and has ctest list them as skipped.
"$(dirname "${BASH_SOURCE[0]}")/../scripts/wine.sh" || exit
echo "wine: skipped: build-windows-x86_64/ is not there: scripts/cross.sh windows-x86_64"
exit 77
