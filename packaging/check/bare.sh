#!/usr/bin/env bash
# bare.sh DIST WORK
#
# Runs the README's two commands, ./demo.sh and ./test.sh, in a clone of the last commit on a new
# Debian 12. It has only the base packages, so that a step missing in the set-up is noticed. Prints
# how long each command took.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ((EUID != 0)); then skip "chroots take root"; fi
apt debootstrap

system=$work/bookworm
debootstrap --variant=minbase bookworm "$system" >"$work/debootstrap.log" 2>&1 ||
    skip "no debootstrap: $(tail -1 "$work/debootstrap.log")"
# Every machine has these file systems. PoCL looks for the processors in /sys, and a test opens
# terminals.
trap 'umount "$system"/{dev/pts,sys,proc} 2>/dev/null' EXIT
mount -t proc proc "$system/proc" && mount -t sysfs -o ro sysfs "$system/sys" &&
    mount -t devpts devpts "$system/dev/pts" || skip "/proc, /sys and /dev/pts cannot be mounted"
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/opt LC_ALL=C.UTF-8)
# If this machine's network has its own certificates, pip needs them.
if [[ ${PIP_CERT-} ]]; then
    cp "$PIP_CERT" "$system/opt/certificates.pem"
    environment+=(PIP_CERT=/opt/certificates.pem)
fi
"$root/scripts/clone.sh" "$root" "$system/opt/hewn"

# works COMMAND: runs the command. Its output is in WORK/COMMAND.log.
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
