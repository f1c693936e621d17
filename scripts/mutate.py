"""Mutation testing: how many changes of the code do the tests notice? scripts/mutate.sh runs this.

Changes the code of a subject in one place at a time, builds it, and runs the subject's tests until
one fails. Each change, a mutant, ends in one of these ways:

    noticed    a test failed, crashed or hung
    survived   every test passed: a test is missing, or the change has no effect that a test can see
               (it costs only time, or lies in code that never runs)
    same       the compiler made the same machine code, so it is not counted
    invalid    it does not compile, so it is not counted

The lines are chosen at random from all lines of the subject's files, and of each line one of the
changes that universalmutator makes of it. The same seed chooses the same mutants.

Works on clones of the last commit in build-mutation/, one for each job, so that the checkout is not
touched. Writes each mutant that is counted to build-mutation/SUBJECT-SEED.jsonl, and prints the
survivors and a table by folder at the end.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import difflib
import hashlib
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-mutation"
CTEST = "ctest --test-dir build --stop-on-failure --no-tests=error -LE '^(checked|long)$'"
# A test counts as hanging after this many times as long as it takes without a change.
PATIENCE = 10


@dataclasses.dataclass
class Subject:
    files: list[str]  # patterns of paths
    made: str  # pattern of the files that `build` makes; if they stay the same, so does the machine code
    build: str  # a shell command, as `link` and the tests are
    link: str  # makes everything else that the tests need
    tests: list[str]  # the quickest first


SUBJECTS = {
    "runtime": Subject(
        files=["runtime/**/*.cpp", "runtime/**/*.h"],
        made="build/libhewn.a",
        build="cmake --build build --target hewn_static",
        link="cmake --build build --target hewn_quick hewn_gpu_tests fake_cuda fake_opencl",
        tests=[
            f"{CTEST} -R '^(plan|c_api|gpu[.].*|conformance.*)$' -E 'gpu[.]script'",
            f"{CTEST} -R '^(api|allocation|guard_pages)$'",
            f"{CTEST} -R '^variants[.]x86_64_avx2$'",
            f"{CTEST} -R '^(variants[.](x86_64_sse41|x86_64_avx512.*|opencl[.]few)|cli[.].*|verify)$'",
        ],
    ),
    "python": Subject(
        files=["bindings/python/src/*", "bindings/python/hewn/*.py"],
        made="build/python/venv/lib/python*/site-packages/hewn/*",
        build="cmake --build build --target hewn hewn_static &&"
        " bindings/python/test.sh build build/python --collect-only -q",
        link="true",
        tests=["bindings/python/test.sh build build/python -x"],
    ),
    "javascript": Subject(
        files=["bindings/web/*.mjs"],
        made="build-wasm32/web/*.mjs",
        build="cmake --build build-wasm32",
        link="true",
        tests=["bindings/web/test.sh build-wasm32 build-wasm32/npm node"],
    ),
    "onnxruntime": Subject(
        files=["bindings/onnxruntime/*.cpp", "bindings/onnxruntime/*.h", "bindings/onnxruntime/python/*/*.py"],
        made="build/bindings/onnxruntime/python/*/*",
        build="cmake --build build --target hewn_onnxruntime hewn_refused_threads",
        link="true",
        tests=[f"{CTEST} -R '^onnxruntime[.](nodes|behaviour|reference|random)[.]newest$'"],
    ),
}
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".mjs": "javascript"}


@dataclasses.dataclass
class Mutant:
    file: str
    line: int
    before: str
    after: str
    text: str  # the whole file


class Mutants:
    """Iterates over the mutants of a subject's files, in an order that the seed decides."""

    def __init__(self, subject, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        files = sorted({path for pattern in subject.files for path in ROOT.glob(pattern)})
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *files], cwd=ROOT).returncode
        if changed:
            sys.exit("mutate: the subject's files have changes that are not committed")
        self.lines = [
            (file, number)
            for file in files
            if file.suffix in LANGUAGES
            for number in range(1, len(file.read_text(encoding="utf-8").splitlines()) + 1)
        ]
        self.random.shuffle(self.lines)

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            while self.lines:
                file, number = self.lines.pop()
                choices = mutations(file, number)
                if choices:
                    return self.random.choice(choices)
        raise StopIteration


def mutations(file, number):
    before = file.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        chosen = pathlib.Path(folder) / "lines"
        chosen.write_text(f"{number}\n", encoding="ascii")
        made = pathlib.Path(folder) / "made"
        made.mkdir()
        command = ["mutate", file, LANGUAGES[file.suffix], "--noCheck", "--lines", chosen, "--mutantDir", made]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        found = []
        for path in sorted(made.iterdir()):
            after = path.read_text(encoding="utf-8")
            changed = [
                line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line.startswith(("- ", "+ "))
            ]
            old = " ".join(line[2:].strip() for line in changed if line[0] == "-")
            new = " ".join(line[2:].strip() for line in changed if line[0] == "+")
            if changed:
                found.append(Mutant(str(file.relative_to(ROOT)), number, old, new, after))
        return found


class Failed(Exception):
    pass


class Worker:
    """A clone with a build of its own."""

    def __init__(self, subject, number):
        self.subject = subject
        self.folder = FOLDER / f"worker-{number}"
        self.log = FOLDER / f"worker-{number}.log"
        if not self.folder.exists():
            subprocess.run([ROOT / "scripts/clone.sh", ROOT, self.folder], check=True)
            (self.folder / ".venv").symlink_to(ROOT / ".venv")
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
        self.run(f"git fetch --quiet {shlex.quote(str(ROOT))} {head} && git reset --quiet --hard {head}")
        generators = shlex.quote(str(ROOT / "build/hewn_generators"))
        build = "build-wasm32" if "build-wasm32" in subject.build else "build"
        preset = "default" if build == "build" else "wasm32"
        self.run(f"cmake --preset {preset} -B {build} -DHEWN_GENERATORS={generators}")
        self.run(subject.build)
        self.run(subject.link)
        self.limits = []
        for test in subject.tests:
            start = time.monotonic()
            self.run(test)
            self.limits.append(PATIENCE * (time.monotonic() - start) + 10)
        self.made = self.digest()

    def run(self, command, limit=None):
        with self.log.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                raise Failed("hung") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
                    process.wait()
        if status:
            raise Failed(f"{command}: status {status}, see {self.log}")

    def digest(self):
        digest = hashlib.sha256()
        for path in sorted(filter(pathlib.Path.is_file, self.folder.glob(self.subject.made))):
            digest.update(path.read_bytes())
        return digest.digest()

    def outcome(self, mutant):
        """How the mutant ends (see the head of this file), and the test that noticed it."""
        file = self.folder / mutant.file
        before = file.read_text(encoding="utf-8")
        file.write_text(mutant.text, encoding="utf-8")
        try:
            try:
                self.run(self.subject.build)
            except Failed:
                return "invalid", ""
            if self.digest() == self.made:
                return "same", ""
            try:
                self.run(self.subject.link)
            except Failed:
                return "invalid", ""
            for test, limit in zip(self.subject.tests, self.limits, strict=True):
                try:
                    self.run(test, limit)
                except Failed as failure:
                    return "noticed", self.failed_test() or str(failure)
            return "survived", ""
        finally:
            file.write_text(before, encoding="utf-8")

    def failed_test(self):
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in lines if "***" in line or line.startswith(("FAILED", "not ok"))), "")


def work(worker, mutants, results, wanted, lock, out):
    for mutant in mutants:
        outcome, test = worker.outcome(mutant)
        with lock:
            if outcome in ("same", "invalid"):
                continue
            if len(results) == wanted:
                return
            results.append((mutant, outcome))
            shown = {key: value for key, value in dataclasses.asdict(mutant).items() if key != "text"}
            print(json.dumps({**shown, "outcome": outcome, "test": test}), file=out, flush=True)
            survived = sum(outcome == "survived" for _, outcome in results)
            print(f"{len(results)} of {wanted}, {survived} survived: {mutant.file}:{mutant.line} {outcome}", flush=True)
            if len(results) == wanted:
                return


def print_summary(results):
    by_folder = collections.defaultdict(collections.Counter)
    for mutant, outcome in results:
        by_folder[os.path.dirname(mutant.file)][outcome] += 1
        if outcome == "survived":
            print(f"\n{mutant.file}:{mutant.line}\n    - {mutant.before}\n    + {mutant.after}")
    print(f"\n{'folder':32} {'noticed':>8} {'survived':>9}")
    for folder, counts in [*sorted(by_folder.items()), ("all", sum(by_folder.values(), collections.Counter()))]:
        share = counts["noticed"] / (counts["noticed"] + counts["survived"])
        print(f"{folder:32} {counts['noticed']:8} {counts['survived']:9}  {share:.1%}")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/mutate.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--count", type=int, default=100, help="how many mutants to count (default: 100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time, each in a clone (default: 1)")
    options = parser.parse_args()
    subject = SUBJECTS[options.subject]
    FOLDER.mkdir(exist_ok=True)
    mutants = Mutants(subject, options.seed)
    results, lock = [], threading.Lock()
    with (
        (FOLDER / f"{options.subject}-{options.seed}.jsonl").open("w", encoding="utf-8") as out,
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
    ):
        try:
            workers = list(pool.map(lambda number: Worker(subject, number), range(options.jobs)))
        except Failed as failure:
            sys.exit(f"mutate: without a change: {failure}")
        print("mutate: all tests pass without a change", flush=True)
        tasks = [pool.submit(work, worker, mutants, results, options.count, lock, out) for worker in workers]
        for task in tasks:
            task.result()
    print_summary(results)


if __name__ == "__main__":
    main()
