# shellcheck shell=bash
# For scripts that need a virtual environment of their own, which source this file.

# make_venv FOLDER REQUIREMENTS: makes the virtual environment FOLDER with exactly these wheels. It
# is made anew if the folder (whose name its scripts hold), Python or the requirements have changed.
# Exits with status 77 if the wheels cannot be had.
make_venv() {
    local venv=$1 requirements=$2 python=/usr/bin/python3 wanted
    [[ -x $python ]] || python=python3
    wanted="$venv $("$python" -V) $(sha256sum <"$requirements")"
    exec 9<"$requirements"
    flock 9  # one at a time
    if [[ ! -f $venv/hewn.stamp || $(<"$venv/hewn.stamp") != "$wanted" ]]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
            --only-binary :all: -r "$requirements" >&2 ||
            { echo "skipped: the wheels of $requirements cannot be had" && exit 77; }
        printf '%s\n' "$wanted" >"$venv/hewn.stamp"
    fi
    exec 9<&-
}
