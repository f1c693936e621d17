# shellcheck shell=bash
# Functions to find a Python of a certain version, for scripts that source this file. Versions are
# written 3.11, or 3.13t for a free-threaded Python.

# version_of_tag TAG: prints 3.11 for the wheel's tag cp311-cp311, and 3.13t for cp313-cp313t.
version_of_tag() { sed -E 's/^cp3([0-9]+)-(abi3|cp3[0-9]+(t?))$/3.\1\3/' <<<"$1"; }

# python_at_hand VERSION: prints the path of such an interpreter on this machine: the system's, one
# on the PATH, or one of pyenv's. The exit status is 1 if there is none.
python_at_hand() {
    local candidate
    while IFS= read -r candidate; do
        if [[ $("$candidate" -c 'import sys, sysconfig
t = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%d.%d%s" % (*sys.version_info[:2], t))' 2>/dev/null) == "$1" ]]; then
            echo "$candidate" && return
        fi
    done < <(
        echo /usr/bin/python3
        type -aP "python$1" || true
        if command -v pyenv >/dev/null; then compgen -G "$(pyenv root)/versions/*/bin/python$1"; fi
    )
    return 1
}
