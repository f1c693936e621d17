#!/usr/bin/env bash
# only.sh DIST WORK
#
# Checks that scripts/release.sh --only makes the same wheels and archive as a whole release and
# nothing else, and that it refuses wrong arguments before it builds anything.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
release=$root/scripts/release.sh

refused() {  # WORDS ARGUMENT...
    local said status=0
    said=$("$release" -B "$work/refused" "${@:2}" 2>&1) || status=$?
    [[ $status == 2 && $said == *"$1"* ]] || fail "${*:2}: exit status $status: $said"
    [[ ! -e $work/refused/dist ]] || fail "${*:2}: is refused, but packs"
    echo "ok      refused: ${*:2}"
}
refused "wheel, onnxruntime or archive" --only rpm
refused "linux-musl-arm64" --only archive --system linux-riscv64
refused "macos-arm64" --only wheel --system macos-x86_64
refused "not for linux-musl-x86_64" --only onnxruntime --system linux-musl-x86_64
refused "--only" --system linux-gnu-x86_64
refused "whole release" --only wheel --check

[[ $(basename "$(dirname "$dist")") == build-packages-quick ]] ||
    skip "this is not what --quick has packed"
arch=$(uname -m)
system=linux-gnu-${arch/aarch64/arm64}
for form in "wheel:$wheel_name-$version-*-*-manylinux*_$arch.whl" \
    "onnxruntime:${wheel_name}_onnxruntime-$version-*_$arch.whl" \
    "archive:hewn-$version-$system.tar.gz"; do
    made=$work/${form%%:*}
    "$release" --quick --only "${form%%:*}" -B "$(dirname "$dist")" --dist "$made" \
        >"$made.log" 2>&1 || fail "--only ${form%%:*}: $(tail "$made.log")"
    wanted=$(cd "$dist" && compgen -G "${form#*:}" | sort || true)
    packed=$(cd "$made" && compgen -G "*" | sort || true)
    [[ $wanted && $packed == "$wanted" ]] || fail "${form%%:*}: makes $packed, not $wanted"
    while IFS= read -r file; do cmp "$dist/$file" "$made/$file"; done <<<"$wanted"
    echo "ok      --only ${form%%:*}: ${wanted//$'\n'/, }"
done
