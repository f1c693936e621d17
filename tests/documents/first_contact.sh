#!/usr/bin/env bash
# Does what a new user does first: first_contact.sh FOLDER
#
# It makes a clone of this repository in FOLDER, runs ./demo.sh there, which is the README's first
# command, and checks what that printed and wrote. The clone has only what is committed.
set -euo pipefail
source=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(realpath -m "${1:?"usage: $0 FOLDER"}")
fail() { echo "first_contact: $*" >&2 && exit 1; }

rm -rf "$folder"
"$source/scripts/clone.sh" "$source" "$folder"
cd "$folder"
./demo.sh 2>&1 | tee "$folder.log"

# The log has what examples/add prints, and a line with the time of each stage.
grep -qE '^11 22 33 44 \(add_f32__x86_64_[a-z0-9_]+\)$' "$folder.log" ||
    fail "examples/add has not printed its sum"
grep -q '^== time: set up [0-9.]* s, .*run the demo [0-9.]* s$' "$folder.log" ||
    fail "demo.sh has not printed how long its stages took"
python3 tests/documents/demo_test.py demo-output "$folder.log"
git diff --quiet && [[ -z $(git status --porcelain) ]] ||
    fail "the demo has changed or left files in the clone: $(git status --short)"
echo "first_contact: passed"
