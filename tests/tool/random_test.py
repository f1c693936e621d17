#!/usr/bin/env python3
"""Random command lines of hewn, both correct and damaged ones:

    python3 random_test.py <path of hewn> [--seconds 3600] [--seed N] [--case N]

The seed and a case's number determine the case. hewn must keep this contract. Either its exit
status is 0, it prints one line on standard output, and its outputs are complete and, compared with
NumPy, right bit for bit. Or its exit status is 1, 2 or 3, it prints one error on standard error
that names what is wrong, and every file is as it was. No signal ends it, and it leaves no other or
temporary file."""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import cli
import numpy as np

F32, F16 = np.float32, np.float16
PACKED = {"u4": (0, 15), "i4": (-8, 7), "u2": (0, 3), "i2": (-2, 1)}
DTYPES = {"f32": F32, "f16": F16, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
          "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64}
STOPS = {"--help", "-h", "--version", "--man", "--completion"}  # hewn then does nothing else
JUNK = ["", "-", "--", "x", "-1", "1e999", "nan", "u9", "f64", "0x", "--nonsense", "--scale", "-o",
        "--axis", "--axis=9", "--block-size=0", "--threads=-1", "--type=f32", "--variant=none",
        "--device=cuda:9", "--feature-level=7", "--max-scans", "=", "\u00e9\u2713", "a b", "\x01",
        "missing.npy", "no/such/folder.npy", "folder", "folder.npy", "loop.npy", "broken.npy",
        "text.npy", "broken.png", "empty.jpg", "other.npy", "/dev/null", "/proc/x.npy", "link.npy",
        "9" * 400, "n" * 300 + ".npy", "info", "--version", "--help", "99999999999999999999"]


class Failure(Exception):
    """hewn broke the contract."""


def clamped(quotient, zero_point, least, most):
    value = np.rint(quotient).astype(np.float64) + zero_point
    return np.clip(np.where(np.isnan(quotient), zero_point, value), least, most)


def rounded_to(precision, values):
    """Rounds values of float64 once, to a float type of 16 bits. Returns them as f32."""
    if precision == "f16":
        return values.astype(F16).astype(F32)
    _, exponent = np.frexp(values)
    unit = np.ldexp(1.0, np.maximum(exponent, -125) - 8)  # bf16 has 8 bits, and f32's exponents
    result = np.where(np.isfinite(values), np.rint(values / unit) * unit, values)
    return result.astype(F32)


class Case:
    """A command line, the files in its current folder, and what each output must contain."""

    def __init__(self, chance):
        self.chance, self.rng = chance, np.random.default_rng(chance.getrandbits(63))
        self.files, self.outputs, self.count = {}, {}, 0
        self.small_floats = {}  # by the names of outputs that have codes: the types
        rank = chance.choice([0, 1, 1, 2, 2, 3, 4, 8])
        self.shape = tuple(chance.randint(1, 2 if rank > 4 else 6) for _ in range(rank))
        if rank and chance.random() < 0.05:
            self.shape = (0, *self.shape[1:])
        command = chance.choice([self.add, self.quantize, self.quantize, self.dequantize,
                                 self.dequantize_codes, self.quantized_pair, self.dynamic,
                                 self.directml_quantize, self.directml_dequantize])
        with np.errstate(all="ignore"):
            self.words = command()
        if chance.random() < 0.3:
            self.words += [chance.choice(["--threads=1", "--device=cpu", "--feature-level=hewn",
                                          "--threads=2"])]

    def save(self, array):
        self.count += 1
        name = f"{'abcdefghij'[self.count]}.npy"
        self.files[name] = np.asarray(array, order=self.chance.choice("CF"))
        return name

    def picture(self):
        """Writes a PNG of random pixels. Returns its name, and what a quantization reads from
        it."""
        self.count += 1
        name, channels = f"{'abcdefghij'[self.count]}.png", self.chance.randint(1, 4)
        self.shape = tuple(self.chance.randint(1, 6) for _ in range(2)) + (channels,) * (channels > 1)
        dtype = self.chance.choice([np.uint8, np.uint16])
        pixels = self.rng.integers(0, np.iinfo(dtype).max, self.shape, dtype, endpoint=True)
        self.files[name] = cli.make_png(pixels, 8 * pixels.itemsize, [0, 4, 2, 6][channels - 1])
        return name, pixels.astype(F32) / F32(np.iinfo(dtype).max)

    def output_of_codes(self, word, codes):
        """Codes are compared by their numbers, because a type may have several codes of NaN."""
        words = self.output(cli.small_values(word)[codes].astype(F32))
        self.small_floats[words[1]] = word
        return words

    def output(self, array, option="-o"):
        array = np.asarray(array)
        is_picture = 2 <= array.ndim <= (3 if array.shape[-1] in (1, 2, 3, 4) else 2)
        is_picture = is_picture and array.size and array.dtype in (np.uint8, np.uint16)
        self.count += 1
        name = f"out{self.count}.{'png' if is_picture and self.chance.random() < 0.3 else 'npy'}"
        self.outputs[name] = array
        return [option, name]

    def data(self, kind, special=True):
        """Random values that have the type. NumPy does not have bf16: its values are f32."""
        values = cli.sample(self.rng, self.shape, DTYPES.get(kind, F32))
        if special and values.dtype.kind == "f" and values.size and self.chance.random() < 0.3:
            values.reshape(-1)[self.rng.integers(values.size)] = self.chance.choice(
                [np.nan, np.inf, -np.inf, -0.0, 1e-7])
        return np.asarray(rounded_to(kind, values.astype(float))) if kind == "bf16" else values

    def save_as(self, kind, values):
        return self.save(cli.to_bf16(values) if kind == "bf16" else values)

    def parameter(self, make, option, kind=""):
        """A scale or zero point. Returns its words on the command line, and its values so that they
        broadcast over the data. `make` makes an array of a given shape, whose type `kind` is."""
        shape, form = self.shape, self.chance.choice(["number", "one", "broadcast", "axis"])
        if form == "axis" and shape and 0 not in shape and self.axis is not None:
            length = shape[self.axis]
            along = make((-(-length // self.block),))
            size = [1] * len(shape)
            size[self.axis] = length
            return [option, self.save_as(kind, along)], np.repeat(along, self.block)[:length].reshape(size)
        if form == "broadcast" and shape and self.axis is None:
            sizes = tuple(size if self.chance.random() < 0.5 else 1 for size in shape)
            values = make(sizes[self.chance.randint(0, len(sizes) - 1):])
            return [option, self.save_as(kind, values)], values
        values = make(())
        if form == "number":
            return [f"{option}={values.item()!r}"], values
        return [option, self.save_as(kind, values.reshape((1,) * self.chance.randint(0, 1)))], values

    def scale(self, kind="f32"):
        def make(shape):
            exact = np.asarray(2.0 ** self.rng.integers(-6, 6, shape)
                               * self.rng.integers(1, 9, shape) / 7)
            return np.asarray(rounded_to(kind, exact) if kind == "bf16" else exact.astype(DTYPES[kind]))
        return make

    def scale_like(self, kind):
        return self.parameter(self.scale(kind), "--scale", kind)

    def zero(self, kind, most=None):
        least, most = most or (np.iinfo(DTYPES[kind]).min, np.iinfo(DTYPES[kind]).max)
        return lambda shape: np.asarray(self.rng.integers(least, most, shape, endpoint=True,
                                                          dtype=np.int64)).astype(DTYPES[kind])

    def choose_axis(self, whole_blocks=False):
        """Chooses whether the line has --axis and --block-size. With --axis, 1-D parameters of
        several elements have one element for each block along the axis."""
        self.axis, self.block = None, 1
        if not self.shape or self.chance.random() < 0.5:
            return []
        self.axis = self.chance.randrange(len(self.shape))
        words = [f"--axis={self.axis - self.chance.choice([0, len(self.shape)])}"]
        if self.chance.random() < 0.4:
            length = max(self.shape[self.axis], 1)
            self.block = self.chance.choice([size for size in range(1, length + 1)
                                             if not whole_blocks or length % size == 0])
            words.append(f"--block-size={self.block}")
        return words

    # ---- The commands ----

    def add(self):
        a = self.data(self.chance.choice(list(DTYPES)))
        if self.chance.random() < 0.2 and a.dtype.kind != "f":
            b = np.asarray(self.rng.integers(0, 99)).astype(a.dtype)
            return ["add", self.save(a), str(b), *self.output(a + b)]
        shape = tuple(size if self.chance.random() < 0.7 else 1 for size in self.shape)
        b = cli.sample(self.rng, shape[self.chance.randint(0, len(shape)):], a.dtype)
        return ["add", self.save(a), self.save(b), *self.output(a + b)]

    def quantize(self):
        kind_of_x = "f32"  # also where a picture is read
        if self.chance.random() < 0.2:
            name, x = self.picture()
        else:
            kind_of_x = self.chance.choice(["f32", "f16", "bf16", "i32"])
            x = self.data(kind_of_x)
            name = self.save_as(kind_of_x, x)
        kind = self.chance.choice(["u8", "i8", "u16", "i16", "u32", "i32", *PACKED, *cli.SMALL_FLOATS])
        is_small = kind in cli.SMALL_FLOATS
        words = ["quantize", name, "--type", kind, *self.choose_axis()]
        scale_words, scale = self.scale_like("f32" if kind_of_x == "i32" else kind_of_x)
        zero_words, zero = [], 0
        if not is_small:
            stored = kind if kind in DTYPES else kind[0] + "8"
            limits = PACKED.get(kind) or (np.iinfo(DTYPES[kind]).min, np.iinfo(DTYPES[kind]).max)
        if self.chance.random() < 0.6 and not is_small:
            zero_words, zero = self.parameter(self.zero(stored, limits), "--zero-point")
        precision = self.chance.choice([None, None, "f32", "f16", "bf16"])
        if precision in ("f16", "bf16"):
            left, right = (rounded_to(precision, a.astype(np.float64)) for a in (x, scale))
            quotient = rounded_to(precision, left.astype(np.float64) / right.astype(np.float64))
        else:
            quotient = x.astype(F32) / scale.astype(F32)
        words += [f"--precision={precision}"] if precision else []
        if is_small:
            saturate = self.chance.choice([None, "1", "0"])
            words += [f"--saturate={saturate}"] if saturate else []
            return [*words, *scale_words,
                    *self.output_of_codes(kind, cli.small_codes(quotient, kind, saturate != "0"))]
        result = clamped(quotient, zero, *limits)
        return [*words, *scale_words, *zero_words,
                *self.output(result.astype(np.int64).astype(DTYPES[stored]))]

    def directml_quantize(self):
        kind_of_x = self.chance.choice(["f32", "f16"])
        x, kind = self.data(kind_of_x), self.chance.choice(["u8", "i8", "u4", "i4"])
        stored, limits = kind[0] + "8", PACKED.get(kind) or (
            (0, 255) if kind == "u8" else (-128, 127))
        words = ["dml-quantize", self.save(x), "--type", kind, *self.choose_axis(True)]
        scale_words, scale = self.scale_like(kind_of_x)
        zero_words, zero = [], (limits[1] + 1) // 2 if kind[0] == "u" else 0
        if self.chance.random() < 0.6:
            zero_words, zero = self.parameter(self.zero(stored, limits), "--zero-point")
        result = clamped(x.astype(F32) / scale.astype(F32), zero, *limits)
        return [*words, *scale_words, *zero_words,
                *self.output(result.astype(np.int64).astype(DTYPES[stored]))]

    def directml_dequantize(self):
        kind = self.chance.choice(["u8", "i8", "u4", "i4"])
        stored, limits = kind[0] + "8", PACKED.get(kind)
        x = self.zero(stored, limits)(self.shape)
        bits = [f"--bits={kind[1]}"] if kind in PACKED else []
        words = ["dml-dequantize", self.save(x), *bits, *self.choose_axis(True)]
        kind_of_scale = self.chance.choice(["f32", "f16"])
        scale_words, scale = self.scale_like(kind_of_scale)
        zero_words, zero = [], {"u8": 128, "u4": 8}.get(kind, 0)
        if self.chance.random() < 0.6:
            zero_words, zero = self.parameter(self.zero(stored, limits), "--zero-point")
        result = cli.dequantize(x, scale, zero)
        return [*words, *scale_words, *zero_words, "--type", kind_of_scale, *self.output(result)]

    def dequantize_codes(self):
        word = self.chance.choice(cli.SMALL_FLOATS)
        numbers = cli.small_values(word)
        x = np.asarray(self.rng.choice(np.flatnonzero(np.isfinite(numbers)), self.shape))
        words = ["dequantize", self.save(cli.untyped(x)), f"--input-type={word}", *self.choose_axis()]
        kind = self.chance.choice(["f32", "f16", "bf16"])
        scale_words, scale = self.scale_like(kind)
        result = numbers[x].astype(F32) * scale.astype(F32)
        result = cli.to_bf16(result) if kind == "bf16" else result.astype(DTYPES[kind])
        return [*words, *scale_words, "--type", kind, *self.output(result)]

    def dequantize(self):
        kind = self.chance.choice(["u8", "i8", "u16", "i16", "u32", "i32", *PACKED])
        stored, limits = kind if kind in DTYPES else kind[0] + "8", PACKED.get(kind)
        x = self.zero(stored, limits)(self.shape)
        bits = [f"--bits={kind[1]}"] if kind in PACKED else []
        words = ["dequantize", self.save(x), *bits, *self.choose_axis()]
        kind = self.chance.choice(["f32", "f16", "bf16"])
        scale_words, scale = self.scale_like(kind)
        zero_words, zero = [], 0
        if self.chance.random() < 0.6:
            zero_words, zero = self.parameter(self.zero(stored, limits), "--zero-point")
        result = cli.dequantize(x, scale, zero)
        result = cli.to_bf16(result) if kind == "bf16" else result
        return [*words, *scale_words, *zero_words, "--type", kind, *self.output(result)]

    def quantized_pair(self):
        kind, command = self.chance.choice(["u8", "i8"]), self.chance.choice(["qadd", "qmul"])
        a, b = self.data(kind), self.data(kind)
        words, values = [command, self.save(a), self.save(b)], []
        self.axis, shape, self.shape = None, self.shape, ()
        for prefix in ["--a-", "--b-", "--"]:
            scale_words, scale = self.parameter(self.scale(), f"{prefix}scale")
            zero_words, zero = self.parameter(self.zero(kind), f"{prefix}zero-point")
            words += scale_words + zero_words
            values += [scale, int(zero)]
        self.shape = shape
        formula = cli.quantized_add if command == "qadd" else cli.quantized_mul
        result = formula(a, *values[:2], b, *values[2:], DTYPES[kind])
        return [*words, "--type", kind, *self.output(result)]

    def dynamic(self):
        kind_of_x = self.chance.choice(["f32", "f16", "bf16"])
        x = self.data(kind_of_x, special=False)
        kind = self.chance.choice(["u8", "i8"])
        limits = np.iinfo(DTYPES[kind])
        wide = x.astype(F32)
        high, low = (F32(f(wide, initial=0)) for f in (np.max, np.min))
        scale = F32(1) if high == low else (high - low) / F32(255)
        zero = np.rint(np.clip(F32(limits.min) - low / scale, limits.min, limits.max))
        result = clamped(wide / scale, np.float64(zero), limits.min, limits.max)
        words = ["dynamic", self.save_as(kind_of_x, x), "--type", kind]
        words += self.output(result.astype(DTYPES[kind]))
        if self.chance.random() < 0.5:
            words += self.output(scale, "--output-scale")
        if self.chance.random() < 0.5:
            words += self.output(DTYPES[kind](zero), "--output-zero-point")
        return words

    def damage(self):
        """Changes one or two words of the line."""
        for _ in range(self.chance.randint(1, 2)):
            at, junk = self.chance.randrange(len(self.words) + 1), self.chance.choice(JUNK)
            if at == len(self.words) or self.chance.random() < 0.2:
                self.words.insert(at, junk)
            elif self.chance.random() < 0.3:
                del self.words[at]
            elif "=" in self.words[at] and self.chance.random() < 0.5:
                self.words[at] = self.words[at].partition("=")[0] + "=" + junk
            else:
                self.words[at] = self.chance.choice([junk, self.chance.choice(self.words)])


def lay_out(folder, case):
    for name, held in case.files.items():
        if name.endswith(".png"):
            (folder / name).write_bytes(held)
        else:
            np.save(folder / name, held)
    (folder / "folder").mkdir()
    (folder / "folder.npy").mkdir()
    (folder / "loop.npy").symlink_to("loop.npy")
    (folder / "link.npy").symlink_to("other.npy")
    np.save(folder / "other.npy", np.arange(6, dtype=F32).reshape(2, 3))
    data = (folder / "other.npy").read_bytes()
    (folder / "broken.npy").write_bytes(data[:case.chance.randrange(len(data))])
    (folder / "text.npy").write_text("no array")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "empty.jpg").write_bytes(b"")


def contents(folder):
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else
            path.read_bytes() if path.is_file() else "folder" for path in folder.rglob("*")}


def same(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    bits = {2: np.uint16, 4: np.uint32}[got.itemsize] if got.dtype.kind in "fV" else got.dtype
    left, right = (np.ascontiguousarray(a).view(bits).reshape(-1) if a.ndim else
                   a.reshape(1).view(bits) for a in (got, wanted))
    equal = left == right
    if got.dtype.kind == "f":
        equal |= (np.isnan(got) & np.isnan(wanted)).reshape(-1)
    return bool(equal.all())


def check_done(case, words, is_right, result, before, after, folder):
    new = {name for name in after if before.get(name) != after[name]}
    gone = before.keys() - after.keys()
    if gone or result.stderr:
        raise Failure(f"exit status 0, and {gone} are gone, or standard error has something")
    if STOPS & {word.partition("=")[0] for word in words} or "info" in words[:2]:
        if new:
            raise Failure(f"{new} were written")
        return
    # A damaged line may overwrite an input with the same bytes.
    if not (new or result.stdout.partition(":")[0] in before) or result.stdout.count("\n") != 1:
        raise Failure("exit status 0 without an output, or without one line that tells of it")
    if is_right and new != set(case.outputs):
        raise Failure(f"{new} were written, not {set(case.outputs)}")
    for name in new:
        if name.endswith(".png"):
            got = cli.read_png(folder / name)
            got = got.astype(got.dtype.newbyteorder("="))
            if is_right:
                got = got.reshape(case.outputs[name].shape)
        elif name.endswith(".npy"):
            got = np.load(folder / name)
            if is_right and name in case.small_floats and got.dtype == "V1":
                numbers = cli.small_values(case.small_floats[name])
                got = np.asarray(numbers[got.view("u1")]).astype(F32)
        else:
            raise Failure(f"{name} was written")
        if is_right and not same(got, case.outputs[name]):
            raise Failure(f"{name} is {got.tolist()}, not {case.outputs[name].tolist()}")


def check_refused(words, is_right, result, before, after):
    lines = result.stderr.splitlines()
    if lines[1:] == ["Run hewn --help, or hewn <subcommand> --help."] and result.returncode == 2:
        del lines[1]
    if len(lines) != 1 or not lines[0].startswith("hewn: error: ") or result.stdout:
        raise Failure("not one line of error")
    if before != after:
        raise Failure(f"refused, but changed {before.items() ^ after.items()}")
    if is_right and "no kernel" not in lines[0]:
        raise Failure("a right command line was refused")
    named = [part for word in words for part in (word, *word.split("=", 1)) if part]
    named += ["''"] if "" in words else []
    if not (any(name in lines[0] for name in named) or "Tensor" in lines[0]
            or "required" in lines[0] or "--" in lines[0] or "ubcommand" in lines[0]):
        raise Failure("the error names no argument")


def run(hewn, seed, number):
    chance = random.Random(f"{seed} {number}")
    case = Case(chance)
    is_right = chance.random() < 0.4
    if not is_right:
        case.damage()
    words = [word.replace("\0", "") for word in case.words]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lay_out(folder, case)
        before = contents(folder)
        environment = {**os.environ, "OCL_ICD_VENDORS": name, "LC_ALL": "C.UTF-8"}
        environment.pop("HEWN_VARIANT", None)
        result = subprocess.run([hewn, *words], capture_output=True, cwd=folder, env=environment,
                                text=True, errors="surrogateescape", timeout=120)
        after = contents(folder)
        try:
            if result.returncode == 0:
                check_done(case, words, is_right, result, before, after, folder)
            elif result.returncode in (1, 2, 3):
                check_refused(words, is_right, result, before, after)
            else:
                raise Failure("not an exit status of hewn")
        except Failure as failure:
            print(f"--seed {seed} --case {number}: {failure}\n  hewn {words}\n  exit status "
                  f"{result.returncode}\n  {result.stdout!r}\n  {result.stderr!r}\n  "
                  f"{ {name: getattr(held, 'shape', 'PNG') for name, held in case.files.items()} }")
            return is_right, result.returncode, True
    return is_right, result.returncode, False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hewn", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    if options.case is not None:
        return run(options.hewn, options.seed, options.case)[2]
    end, number, right, done, failures = time.monotonic() + options.seconds, 0, 0, 0, 0
    while time.monotonic() < end and failures < 10:
        is_right, code, failed = run(options.hewn, options.seed, number)
        number, right, done = number + 1, right + is_right, done + (code == 0)
        failures += failed
    print(f"{number} command lines from --seed {options.seed}, {right} of them right, {done} with "
          f"exit status 0: {failures} break the contract")
    return failures > 0 or right == 0


if __name__ == "__main__":
    sys.exit(main())
