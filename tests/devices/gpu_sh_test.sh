#!/usr/bin/env bash
# Runs bench/gpu.sh from packing to the report, with the CUDA driver that computes nothing. The pack
# runs without this build, as on a machine with a card. Because nothing is computed, every
# comparison must fail there, and everything else must pass.
#
#     gpu_sh_test.sh SOURCE BUILD SCRATCH-FOLDER
set -euo pipefail
source=$1 build=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
failed=0
check() {  # check WHAT COMMAND...
    if "${@:2}"; then echo "ok      $1"; else
        echo "FAILED  $1"
        failed=1
    fi
}

"$source/bench/gpu.sh" --build "$build" --pack "$scratch/pack"
size=$(du -sk "$scratch/pack" | cut -f1)
check "a pack of $size KiB leaves 4 of 64 MiB" test "$size" -lt $((60 * 1024))

code=0
env -i PATH=/usr/bin:/bin HOME="$scratch" "$source/bench/gpu.sh" --from "$scratch/pack" --dry-run \
    --results "$scratch/results" --minutes 4 >"$scratch/output.txt" 2>&1 || code=$?
check "exit code 1, not $code: results differ" test "$code" = 1
outcome() { grep -q "\"step\": \"$1\", \"outcome\": \"$2\"" "$scratch/results/steps.jsonl"; }
check "the devices' tests pass" outcome "devices' tests" passed
for step in "conformance" "random cases" "variants' tests"; do
    check "no result is right: $step" outcome "$step" failed
done
check "hewn verify finds each variant wrong" \
    test "$(grep -c '^DIFFERS .*__cuda' "$scratch/results/log.txt")" = \
    "$(sed -n 's/^variants *\([0-9]*\) on 1 devices.*/\1/p' "$scratch/results/log.txt")"
check "rows are measured" outcome speed passed

# The report must have every kernel of the build in every size and layout that the kernel has,
# launched by itself and in a graph.
"$build/bin/hewn" info --json >"$scratch/info.json"
python3 - "$scratch" <<'END' || failed=1
import json
import sys

info, report = (json.load(open(sys.argv[1] + file)) for file in ("/info.json",
                                                                  "/results/report.json"))
kernels = {f"{v['operator']}_{v['signature']}" for v in info["variants"]
           if v["target"].startswith("cuda") and v["operator"] != "dynamic_quantize_linear"}
rows = {(r["kernel"], r["layout"], r["elements"]): r for r in report["rows"] if r["by"] == "hewn"}
places = [("dense", n << 10) for n in (4, 16, 64)] + [("launch", 4096), ("graph", 4096)]
places += [(layout, 16384) for layout in ("per_channel_outer", "inner_3", "transposed",
                                          "strided_rows")]
missing = [(k, *place) for k in kernels for place in places if (k, *place) not in rows]
passes = {k for (k, _, elements), row in rows.items() if row.get("passes") and elements == 16384}
missing += {"quantize_linear_f32_u4", "dequantize_linear_u4_f32", "quantize_linear_f16_u8",
            "dynamic_quantize_linear_f32_u8", "dynamic_quantize_linear_f16_u8"} - passes
wrong = [at for at, row in rows.items() if "error" in row]
right = [at for at, row in rows.items() if row.get("differing") == 0]
print(f"{len(kernels)} kernels, {len(rows)} rows; missing {missing[:5]}, not measured {wrong[:5]}, "
      f"equal to the reference {right[:5]}")
sys.exit(bool(not kernels or missing or wrong or right))
END
for file in table.md chart.svg log.txt; do
    check "$file" test -s "$scratch/results/$file"
done
check "at most 8 files" test "$(find "$scratch/results" -type f | wc -l)" -le 8
if ((failed)); then tail -50 "$scratch/output.txt"; fi
exit $failed
