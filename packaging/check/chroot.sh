#!/usr/bin/env bash
# chroot.sh DIST WORK
#
# Checks packages on new systems. On Debian 11, whose glibc is older than this system's, a program
# uses the archive's libraries. On Debian 12, the Debian packages are installed by apt, used and
# removed.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ((EUID != 0)); then skip "chroots take root"; fi
apt debootstrap

system() {  # NAME: a minimal Debian, below WORK
    debootstrap --variant=minbase "$1" "$work/$1" >"$work/$1.log" 2>&1 ||
        skip "no debootstrap of $1: $(tail -1 "$work/$1.log")"
}
# inside NAME COMMAND...: runs the command in that system.
inside() {
    chroot "$work/$1" env DEBIAN_FRONTEND=noninteractive HOME=/ \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
}
install_inside() {
    inside "$1" apt-get -qq -o APT::Sandbox::User=root install --no-install-recommends "${@:2}" \
        >>"$work/$1.log" 2>&1
}

works() {  # NAME PROGRAM...: prints what examples/c_quantize prints
    local printed
    printed=$(inside "$@") || fail "$1: exit status $?: $printed"
    [[ $printed == "0 100 113 132"*quantize_linear_f32_u8__* ]] || fail "$1: printed $printed"
}

system bullseye
install_inside bullseye gcc libc6-dev || fail "no compiler: $(tail -3 "$work/bullseye.log")"
tar -xf "$(only_file "hewn-$version-linux-gnu-x86_64.tar.gz")" -C "$work/bullseye/opt"
cp "$root/examples/c_quantize/main.c" "$work/bullseye/opt"
prefix=/opt/hewn-$version-linux-gnu-x86_64
compile=(gcc /opt/main.c "-I$prefix/include")
inside bullseye "${compile[@]}" "-L$prefix/lib" -lhewn -o /opt/shared
inside bullseye "${compile[@]}" "$prefix/lib/libhewn.a" -ldl -lpthread -lm -o /opt/static
works bullseye env "LD_LIBRARY_PATH=$prefix/lib" /opt/shared
works bullseye /opt/static
glibc=$(inside bullseye ldd --version | sed -n '1s/.* //p')
echo "ok      Debian 11, glibc $glibc: both libraries"

system bookworm
cp "$dist"/*.deb "$root/examples/c_quantize/main.c" "$work/bookworm/opt"
inside bookworm sh -c 'rm /opt/*-dbgsym_*'
install_inside bookworm gcc libc6-dev pkg-config ||
    fail "no compiler: $(tail -3 "$work/bookworm.log")"
mapfile -t debs < <(inside bookworm sh -c 'ls /opt/*.deb')
install_inside bookworm "${debs[@]}" || fail "apt: $(tail -3 "$work/bookworm.log")"
inside bookworm sh -c 'gcc /opt/main.c $(pkg-config --cflags --libs hewn) -o /opt/shared'
works bookworm /opt/shared
inside bookworm hewn info >"$work/info" || fail "the tool does not run"
inside bookworm apt-get -qq purge libhewn-dev hewn "libhewn${version%.*}" \
    >>"$work/bookworm.log" 2>&1
left=$(find "$work/bookworm" -xdev -path '*/opt' -prune -o -path '*/var/cache/apt*' -prune \
    -o -name '*hewn*' -print)
[[ -z $left ]] || fail "left behind: $left"
echo "ok      Debian 12: installed, used, removed"
