#!/usr/bin/env bash
# Installs what hewn needs: system packages (on Debian 12 and 13, Ubuntu 22.04 and 24.04; as root or
# with sudo), and the virtual environment .venv with the wheels of scripts/requirements.txt. If
# everything is installed already, it only checks that.
#
#     scripts/setup.sh [PACKAGE...]             installs what a build needs
#     scripts/setup.sh --tests [PACKAGE...]     also installs what ./test.sh needs
#     scripts/setup.sh --all [PACKAGE...]       also installs what ./test.sh --all needs
#
# PACKAGE is the name of another system package to install.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
    g++ binutils pkg-config           # compiler and linker
    python3 python3-venv              # the virtual environment
    libpng-dev libjpeg-dev            # pictures in the command line tool and the demo
    libcli11-dev nlohmann-json3-dev   # the command line tool
)
for_tests=(
    libgtest-dev python3-dev
    pocl-opencl-icd ocl-icd-libopencl1  # runs the OpenCL kernels on the CPU
)
for_all_tests=(
    git                       # lists the sources
    make                      # a project built by make
    qemu-user-static          # older CPUs, and ARM's
    g++-aarch64-linux-gnu     # the build for ARM
    valgrind                  # a CPU that raises no floating-point flags
    doxygen                   # the reference of the headers
    musl-tools                # another C library
    abigail-tools             # compares binary interfaces
    libpthreadpool-dev        # a peer of the benchmark
    zsh fish man-db mandoc    # read the tool's completions and man page
)
case ${1-} in
-h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
--tests) packages+=("${for_tests[@]}") && shift ;;
--all) packages+=("${for_tests[@]}" "${for_all_tests[@]}") && shift ;;
-*) echo "setup.sh: there is no option $1; --help lists them" >&2 && exit 2 ;;
esac
packages+=("$@")

install_packages() {
    local missing=() root=()
    if ! { command -v dpkg-query && command -v apt-get; } >/dev/null; then
        echo "setup: not a Debian or Ubuntu machine; needed are the equivalents of: ${packages[*]}"
        return
    fi
    mapfile -t missing < <(comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) \
        <(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${packages[@]}" \
            2>/dev/null | sed -n 's/^installed //p' | sort -u))
    ((${#missing[@]})) || return 0

    echo "setup: installing ${missing[*]}"
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            echo "setup: needs root to run: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        root=(sudo)
    fi
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    "${apt[@]}" update
    "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

# .venv is complete if its stamp names this folder (because its scripts hold absolute paths), this
# Python and these requirements. The path of the folder has no links in it (cd -P), so that it is
# the same for every script that calls this one.
install_wheels() {
    local python=/usr/bin/python3 stamp=.venv/hewn.stamp wanted
    exec 9<scripts/setup.sh  # one at a time
    flock 9
    [[ -x $python ]] || python=python3
    wanted="$PWD $("$python" -V) $(sha256sum <scripts/requirements.txt)"
    if [[ -x .venv/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi

    echo "setup: making .venv"
    if ! "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))'; then
        echo "setup: $python is $("$python" -V); the wheels need Python 3.10 to 3.13" >&2
        exit 1
    fi
    rm -rf .venv  # if it is a link, this removes only the link
    # These variables make pip find packages elsewhere or put them there, and .venv would lack them.
    unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
    export PIP_USER=0
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: -r scripts/requirements.txt
    printf '%s\n' "$wanted" >"$stamp"
}

install_packages
install_wheels
