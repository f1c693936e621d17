"""Table of bench/gpu.sh: hewn's kernels beside the device's copy rate and, where installed, PyTorch
on the same device.

    gpu_report.py ROWS.jsonl REPORT.json TABLE.md"""
import json
import sys


def torch_rows(elements):
    """GB/s of PyTorch's own operators, with bytes counted as hewn's are; empty without PyTorch or
    its GPU."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}

    def rate(size, call):
        call()
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        best = float("inf")
        for _ in range(3):
            start.record()
            for _ in range(20):
                call()
            end.record()
            torch.cuda.synchronize()
            best = min(best, start.elapsed_time(end) / 20e3)
        return size / best / 1e9

    rows = {}
    for n in elements:
        try:
            for name, dtype in [("f32", torch.float32), ("f16", torch.float16),
                                ("i64", torch.int64), ("i32", torch.int32),
                                ("i16", torch.int16), ("i8", torch.int8)]:
                a, b, out = (torch.ones(n, dtype=dtype, device="cuda") for _ in range(3))
                rows["add_" + name, n] = rate(3 * n * a.element_size(),
                                              lambda: torch.add(a, b, out=out))
            x = torch.ones(n, device="cuda")
            for name, dtype in [("i8", torch.qint8), ("u8", torch.quint8)]:
                rows["quantize_linear_f32_" + name, n] = rate(
                    5 * n, lambda: torch.quantize_per_tensor(x, 0.5, 3, dtype))
                q = torch.quantize_per_tensor(x, 0.5, 3, dtype)
                rows["dequantize_linear_" + name + "_f32", n] = rate(5 * n, q.dequantize)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
    return rows


def main(rows_file, report_file, table_file):
    with open(rows_file, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    elements = sorted({row["elements"] for row in rows})
    rates = {(row["kernel"], row["elements"]): row["gb_per_s"] for row in rows}
    torch = torch_rows(elements)
    with open(report_file, "w", encoding="utf-8") as file:
        json.dump({"device": rows[0]["device"], "rows": rows,
                   "torch": [{"kernel": k, "elements": n, "gb_per_s": r}
                             for (k, n), r in torch.items()]}, file, indent=1)

    def name(n):
        if n >= 1 << 30:
            return f"{n >> 30} Gi"
        return f"{n >> 20} Mi" if n >= 1 << 20 else f"{n >> 10} Ki"

    lines = [f"{rows[0]['device']}: GB/s, and of the copy's rate"
             + ("; PyTorch's GB/s in brackets" if torch else ""), "",
             "| kernel | " + " | ".join(map(name, elements)) + " |",
             "|---|" + "---|" * len(elements)]
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        cells = []
        for n in elements:
            rate, copy = rates.get((kernel, n)), rates.get(("copy", n))
            peer = torch.get((kernel, n))
            text = "-" if rate is None else f"{rate:.1f}"
            if rate is not None and kernel != "copy" and copy:
                text += f", {rate / copy:.2f}"
            cells.append(text + (f" ({peer:.1f})" if peer else ""))
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    with open(table_file, "w", encoding="utf-8") as file:
        file.write(text)
    print(text, end="")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
