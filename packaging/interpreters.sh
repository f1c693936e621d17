# shellcheck shell=bash
# Sourced by what needs a Python of a certain version. Versions are written as in 3.11, and 3.13t for
# a free-threaded Python.

# version_of_tag TAG: 3.11 for the tag cp311-cp311 of a wheel, 3.13t for cp313-cp313t.
version_of_tag() { sed -E 's/^cp3([0-9]+)-(abi3|cp3[0-9]+(t?))$/3.\1\3/' <<<"$1"; }

# python_at_hand VERSION: the path of such an interpreter on this machine: the system's, one on the
# PATH, or one of pyenv's. Exit status 1: there is none.
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
