#!/usr/bin/env bash
# packaging/deb.sh FOLDER
#
# Builds this system's Debian packages into FOLDER, by debhelper: libhewn0.x, libhewn-dev, hewn (the
# tool) and their debug symbols. HEWN_SIGNATURES and HEWN_TARGETS in the environment limit the
# kernels.
set -euo pipefail
out=$(realpath -m "${1:?"usage: packaging/deb.sh FOLDER"}")
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD header=include/hewn/hewn.h
part() { sed -n "s/^#define HEWN_VERSION_$1 //p" "$header"; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)
soversion=$(part MAJOR).$(part MINOR)
scripts/setup.sh --all debhelper
export PATH="$root/.venv/bin:$PATH" HEWN_GENERATORS=$root/build/hewn_generators
cmake --preset default >/dev/null
cmake --build --preset default --target hewn_generators

# The build is in a temporary folder, because debhelper cannot build in a folder whose name has a
# space. Its flags keep the folder's name out of the packages.
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
source=$build/hewn-$version
mkdir "$source"
# The files are those that git has or, in a source package, all except builds.
{ git ls-files -z || find . -path './build*' -prune -o -path ./dist -prune -o -path ./.venv \
    -prune -o -type f -print0; } | xargs -0 cp --parents --no-dereference -t "$source"
ln -s "$root/.venv" "$source/.venv"  # has Halide; debug information may have this name
cp -r packaging/debian "$source/debian"
cd "$source/debian"
sed -i "s/@SOVERSION@/$soversion/" control rules
mv libhewn.install "libhewn$soversion.install"
for package in "libhewn$soversion" libhewn-dev hewn; do
    cp lintian-overrides "$package.lintian-overrides"
done
rm lintian-overrides
# The symbols file says that all functions exist since this version. Before 1.0, each minor version
# has another soname, so older versions do not matter.
{
    echo "libhewn.so.$soversion libhewn$soversion #MINVER#"
    echo "* Build-Depends-Package: libhewn-dev"
    sed -n "s/^HEWN_API .*HEWN_CALL \(hewn_[a-z0-9_]*\)(.*/ \1@Base $version/p" "$root/$header" |
        sort
} >"libhewn$soversion.symbols"
epoch=${SOURCE_DATE_EPOCH:-$(stat --format=%Y "$root/CHANGELOG.md")}
date=$(date --utc --rfc-email --date="@$epoch")
cat >changelog <<END
hewn ($version-1) unstable; urgency=medium

  * Release $version. CHANGELOG.md has what changed.

 -- hewn <hewn@example.org>  $date
END
cd ..
dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes --no-check-builddeps
rm -rf "$out"
mkdir -p "$out"
mv ../*.deb "$out"
