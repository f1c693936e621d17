#!/usr/bin/env bash
# scripts/clone.sh SOURCE FOLDER: clones the repository SOURCE into FOLDER, even if another user
# owns SOURCE, as may be the case in CI. Git refuses that unless safe.directory allows it, and does
# not pass `-c safe.directory` on to the git that it starts to read SOURCE.
set -euo pipefail
exec git -c safe.directory='*' clone --quiet --upload-pack "git -c safe.directory='*' upload-pack" "$1" "$2"
