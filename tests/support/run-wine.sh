#!/usr/bin/env bash
# tests/support/run-wine.sh PROGRAM.exe ARGUMENT...: runs a Windows program under Wine, in a prefix
# of its own (scripts/wine.sh prepares it): a display that nobody sees, Direct3D 12 over Vulkan on
# Mesa's software rasteriser. Relative file names are as on Linux. One program at a time: a Wine
# server that outlives its display has no adapters. HEWN_WINE_NO_ADAPTER=1: without any Vulkan
# device; HEWN_WINE_OVERRIDES: more of WINEDLLOVERRIDES.
# Exit status 77, with the reason: Wine cannot be had here.
set -euo pipefail
wine=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build-wine
"$wine/../scripts/wine.sh" >&2

export WINEPREFIX=$wine/prefix WINEDEBUG=${WINEDEBUG:--all}
export VK_DRIVER_FILES=$wine/lavapipe.json VK_ICD_FILENAMES=$wine/lavapipe.json
if [[ ${HEWN_WINE_NO_ADAPTER:-} ]]; then
    export VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent
fi
# The native HLSL compiler, if any.
export WINEDLLOVERRIDES="d3dcompiler_47=n;mscoree,mshtml=;${HEWN_WINE_OVERRIDES:-}"
export VKD3D_CONFIG=virtual_heaps  # the same results, without 40 seconds of start-up
export VKD3D_SHADER_CACHE_PATH=$wine XDG_CACHE_HOME=$wine/cache
exec flock --close "$wine/lock" xvfb-run --auto-servernum sh \
    -c 'wine "$@"; status=$?; wineserver -k; exit $status' sh "$@"
