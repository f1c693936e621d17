#!/usr/bin/env bash
# bare.sh DIST WORK: the README's two commands, ./demo.sh and ./test.sh, in a clone of the last
# commit on a Debian 12 made anew, which has no packages beyond the base, so that a missing step of
# the set-up shows. Prints how long each took.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ((EUID != 0)); then skip "chroots take root"; fi
apt debootstrap

system=$work/bookworm
debootstrap --variant=minbase bookworm "$system" >"$work/debootstrap.log" 2>&1 ||
    skip "no debootstrap: $(tail -1 "$work/debootstrap.log")"
# Every machine has these. PoCL asks /sys for the processors, and a test opens terminals.
trap 'umount "$system"/{dev/pts,sys,proc} 2>/dev/null' EXIT
mount -t proc proc "$system/proc" && mount -t sysfs -o ro sysfs "$system/sys" &&
    mount -t devpts devpts "$system/dev/pts" || skip "/proc, /sys and /dev/pts cannot be mounted"
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/opt LC_ALL=C.UTF-8)
# Where this machine's network has certificates of its own, pip needs them.
if [[ ${PIP_CERT-} ]]; then
    cp "$PIP_CERT" "$system/opt/certificates.pem"
    environment+=(PIP_CERT=/opt/certificates.pem)
fi
"$root/scripts/clone.sh" "$root" "$system/opt/hewn"

# works COMMAND: what it printed is in WORK/COMMAND.log.
works() {
    local start=$SECONDS
    chroot "$system" env -i "${environment[@]}" bash -c "cd /opt/hewn && $1" \
        </dev/null >"$work/$(basename "$1").log" 2>&1 ||
        fail "$1: $(tail -20 "$work/$(basename "$1").log")"
    echo "ok      $1 on a bare Debian 12: $((SECONDS - start)) s"
}
works ./demo.sh
works "python3 tests/documents/demo_test.py demo-output"
works ./test.sh
