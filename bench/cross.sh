#!/usr/bin/env bash
# Builds the benchmarks bench_variants and bench_calls for another system, so that you can copy them
# there: bench/cross.sh TARGET [CMAKE ARGUMENT...]. The arguments are those of scripts/cross.sh.
# Google Benchmark is built with them, from the source package of Debian or Ubuntu.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
if ((!$#)); then
    echo "usage: bench/cross.sh TARGET [CMAKE ARGUMENT...]" >&2
    exit 2
fi
target=$1 source=$PWD/build/google-benchmark

# Downloads Google Benchmark's source by apt. It uses a copy of apt's configuration that includes
# source packages, because the system's own configuration may not.
fetch_source() {
    local apt=$source.apt file options
    rm -rf "$source" "$apt"
    mkdir -p "$source" "$apt/parts" "$apt/lists/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        if [[ -f $file ]]; then
            sed 's/^deb /deb-src /' "$file" >"$apt/parts/$(basename "$file" .list).list"
        fi
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        if [[ -f $file ]]; then
            sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
        fi
    done
    options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
        -o "Dir::State::Lists=$apt/lists" -o APT::Sandbox::User=)
    apt-get "${options[@]}" update
    (cd "$apt" && apt-get "${options[@]}" source --download-only benchmark)
    tar --extract --file "$apt"/benchmark_*.orig.tar.* --directory "$source" --strip-components=1
}

[[ -f $source/CMakeLists.txt ]] || fetch_source
scripts/cross.sh "$@" -DHEWN_BUILD_BENCH=ON -DHEWN_BENCHMARK_SOURCE="$source"
ls -l "build-$target"/bench/bench_{variants,calls}*
