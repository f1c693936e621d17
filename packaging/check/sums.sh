#!/usr/bin/env bash
# sums.sh DIST WORK
#
# Checks that SHA256SUMS has the hash of every file in DIST, and that the bill of materials is valid
# and has the same hashes.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$dist"
sha256sum --check --strict --quiet SHA256SUMS
missing=$(comm -3 <(find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | sort) \
    <(sed 's/^[^ ]*  //' SHA256SUMS | sort))
[[ -z $missing ]] || fail "only in one of $dist and SHA256SUMS: $missing"
"$root/packaging/python.sh" - "$(only_file 'hewn-*.cdx.json')" <<'END'
import json, pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = pathlib.Path(sys.argv[1]).read_text()
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
if error:
    sys.exit(f"FAILED  {error}")
sums = dict(reversed(line.split()) for line in open("SHA256SUMS"))
files = [part for part in json.loads(text)["components"] if part["type"] == "file"]
wrong = [file["name"] for file in files if file["hashes"][0]["content"] != sums[file["name"]]]
if wrong or not files:
    sys.exit(f"FAILED  other hashes in the bill of materials: {wrong or 'it names no file'}")
print(f"ok      {len(sums)} sums, {len(files)} files in the bill of materials")
END
