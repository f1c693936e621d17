#!/usr/bin/env bash
# tests/support/run-wine.sh PROGRAM.exe ARGUMENT...: runs a Windows program under Wine. ctest runs
# the programs of builds for Windows by it.
#
# The program runs in a Wine prefix of its own (scripts/wine.sh prepares it), with a display that
# nobody sees and with Direct3D 12 over Vulkan on Mesa's software rasteriser. Relative file names
# are as on Linux. One program runs at a time, because a Wine server that outlives its display has
# no adapters.
#
# HEWN_WINE_NO_ADAPTER=1 hides all Vulkan devices. HEWN_WINE_OVERRIDES is added to WINEDLLOVERRIDES.
# The exit status is 77, after the reason, if there is no Wine here.
set -euo pipefail
wine=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build-wine
"$wine/../scripts/wine.sh" >&2

export WINEPREFIX=$wine/prefix WINEDEBUG=${WINEDEBUG:--all}
export VK_DRIVER_FILES=$wine/lavapipe.json VK_ICD_FILENAMES=$wine/lavapipe.json
if [[ ${HEWN_WINE_NO_ADAPTER:-} ]]; then
    export VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent
fi
# Take the native HLSL compiler, if there is one, and never Wine's own.
export WINEDLLOVERRIDES="d3dcompiler_47=n;mscoree,mshtml=;${HEWN_WINE_OVERRIDES:-}"
export VKD3D_CONFIG=virtual_heaps  # the same results, without 40 seconds of start-up
export VKD3D_SHADER_CACHE_PATH=$wine XDG_CACHE_HOME=$wine/cache
exec flock --close "$wine/lock" xvfb-run --auto-servernum sh \
    -c 'wine "$@"; status=$?; wineserver -k; exit $status' sh "$@"
