#!/usr/bin/env python3
"""docs_test.py BUILD [GENERATED]: README.md has at most 200 lines and the documents at most 20,000
words. Links, anchors and the paths in backticks lead somewhere, also from the code's comments. What
documents count is what the build has. GENERATED: its lists, kernels.json among them."""

import functools
import json
import pathlib
import re
import subprocess
import sys
import unittest

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_README_LINES = 200
MAX_WORDS = 20_000
# Not counted: figures, proofs and experiments; licences in the words of others.
UNCOUNTED = ("docs/lab/", "THIRD_PARTY.md")
CODE = (".c", ".cmake", ".cpp", ".h", ".hpp", ".py", ".sh", ".txt")
FOLDERS = (
    "bench|bindings|cmake|docs|examples|generators|include|packaging|reference|runtime|scripts|tests"
    "|tools|tuning"
)


def tracked(*patterns):
    # Whoever owns the folder; new files too.
    command = ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z", "--cached"]
    command += ["--others", "--exclude-standard"]
    names = subprocess.run([*command, "--", *patterns], stdout=subprocess.PIPE, check=True).stdout
    files = {name for name in names.decode().split("\0") if name}
    return sorted(name for name in files if (ROOT / name).is_file())


@functools.cache
def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def tokens(name):
    return MarkdownIt("commonmark").enable("table").parse(text(name))


def inline(name, *types):
    """The parts of a page's prose and tables that are of these types."""
    for token in tokens(name):
        yield from (child for child in token.children or [] if child.type in types)


def words(name):
    """Of prose and tables. What has neither a letter nor a digit is no word, nor is a program."""
    parts = " ".join(c.content for c in inline(name, "text", "code_inline")).split()
    return sum(bool(re.search(r"\w", part)) for part in parts)


def slugs(name):
    """GitHub's anchors: lower case, spaces as hyphens, no other punctuation; a number if taken."""
    found = []
    for heading, content in zip(tokens(name), tokens(name)[1:]):
        if heading.type != "heading_open":
            continue
        title = "".join(c.content for c in content.children if c.type in ("text", "code_inline"))
        base = slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{base}-{number}"
        found.append(slug)
    return found


def links(name):
    for link in inline(name, "link_open", "image"):
        target = link.attrs.get("href") or link.attrs.get("src")
        if not re.match(r"[a-z]+:", target):
            yield target


def broken(name, target):
    """What is wrong with a relative link of the page; None if nothing is."""
    path, _, anchor = target.partition("#")
    file = (ROOT / name).parent / path if path else ROOT / name
    if not file.exists():
        return f"{name}: {target}: there is no such file"
    if anchor and anchor not in slugs(str(file.resolve().relative_to(ROOT))):
        return f"{name}: {target}: there is no such heading"
    return None


def paths(name):
    """What stands in backticks and looks like a path of the repository, placeholders aside."""
    for code in inline(name, "code_inline"):
        for word in code.content.split():
            path = re.match(rf"\./(\S+\.sh)$|((?:{FOLDERS})/[\w./-]*)$", word)
            if path:
                yield path[1] or path[2]


PAGES = tracked("*.md")


class Documents(unittest.TestCase):
    maxDiff = None

    def test_readme_is_short(self):
        self.assertLessEqual(len(text("README.md").splitlines()), MAX_README_LINES)

    def test_documents_are_short(self):
        counts = {page: words(page) for page in PAGES if not page.startswith(UNCOUNTED)}
        self.assertLessEqual(sum(counts.values()), MAX_WORDS, counts)
        self.assertGreater(sum(counts.values()), MAX_WORDS / 4)  # they were read at all

    def test_links(self):
        wrong = [broken(page, link) for page in PAGES for link in links(page)]
        self.assertGreater(len(wrong), 100)
        self.assertEqual([w for w in wrong if w], [])

    def test_the_index_has_every_page(self):
        index = {
            (ROOT / "docs" / link.partition("#")[0]).resolve() for link in links("docs/README.md")
        }
        pages = [p for p in PAGES if p.startswith("docs/") and p != "docs/README.md"]
        self.assertEqual([p for p in pages if ROOT / p not in index], [])

    def test_links_in_comments(self):
        mention = re.compile(r"\bdocs/[\w/]+\.md(?:#[a-z0-9_-]+)?")
        files = [f for f in tracked() if f.endswith(CODE)]
        found = {(f, m) for f in files for m in mention.findall(text(f))}
        self.assertGreater(len(found), 40)
        wrong = [broken("README.md", m) and f"{f}: {m}" for f, m in sorted(found)]
        self.assertEqual([w for w in wrong if w], [])

    def test_paths_in_backticks(self):
        found = [(page, path) for page in PAGES for path in paths(page)]
        self.assertGreater(len(found), 100)
        self.assertEqual([f for f in found if not (ROOT / f[1]).exists()], [])

    def test_measured_tables_and_charts(self):
        command = [sys.executable, ROOT / "bench" / "docs.py", "--check"]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))


class Numbers(unittest.TestCase):
    """What is counted, in the lists of the build."""

    maxDiff = None

    def setUp(self):
        self.readme = " ".join(text("README.md").split())
        with open(GENERATED / "operators.json", encoding="utf-8") as file:
            self.kernels = {op["directml"]: len(op["signatures"]) for op in json.load(file)}
        self.targets = re.findall(r"^hewn_target\((\w+) .*?RANK (\d+)", text(TARGETS), re.MULTILINE)

    def test_kernels_of_an_operator(self):
        rows = re.findall(r"^\| ([A-Z_]+) \|.*\| (\d+) \|$", text("README.md"), re.MULTILINE)
        self.assertEqual(rows, [(op, str(n)) for op, n in self.kernels.items() if n])

    def test_kernels(self):
        total = sum(self.kernels.values())
        self.assertIn(f"That makes {total} kernels for each target", self.readme)
        with open(GENERATED / "operators.json", encoding="utf-8") as file:
            dynamic = next(op for op in json.load(file) if op["name"] == "dynamic_quantize_linear")
        on_gpus = total - sum(s.startswith("f16") for s in dynamic["signatures"])
        self.assertIn(f", {on_gpus} for GPUs", self.readme)
        phrase = f": {total} kernels for each of three CPU targets, {on_gpus} for OpenCL"
        self.assertIn(phrase, self.readme)

    def test_targets(self):
        rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", text("README.md"), re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(self.targets))

    def test_partial_targets(self):
        for target, phrase in (
            ("x86_64_avx512_vnni", "the {} kernels of QUANTIZED_LINEAR_ADD"),
            ("x86_64_avx512_fp16", "the {} kernel of ADD f16"),
            ("cuda_sm80", "the {} kernels that dequantize to f16"),
        ):
            only = re.search(rf"hewn_target\({target} .*?ONLY \"(.*?)\"", text(TARGETS), re.DOTALL)[
                1
            ]
            with open(GENERATED / "operators.json", encoding="utf-8") as file:
                names = [f"{op['name']}_{s}" for op in json.load(file) for s in op["signatures"]]
            count = sum(bool(re.search(only, name)) for name in names)
            self.assertIn(phrase.format(count), self.readme)


class Build(unittest.TestCase):
    """What only a build of everything has."""

    def setUp(self):
        self.sizes = BUILD / "code-size.txt"
        cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
        chosen = r"^HEWN_(OPERATORS|SIGNATURES|TARGETS):[^=]*=(?!all$|$)"
        if re.search(chosen, cache, re.MULTILINE):
            self.skipTest("not all kernels are built here")
        lines = self.sizes.read_text(encoding="utf-8").splitlines()
        self.variants = [line for line in lines if "__" in line]

    def test_variants(self):
        readme = " ".join(text("README.md").split())
        count = lambda target: sum(f"__{target}" in line for line in self.variants)
        cuda = count("cuda")
        self.assertIn(f"in all {len(self.variants) - cuda} variants", readme)
        self.assertIn(f"of CUDA's {cuda} have", readme)

    def test_code_size(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import docs

        built = docs.read_code_size(self.sizes)
        kept = json.loads(docs.CODE_SIZE.read_text(encoding="utf-8"))
        command = f"python3 bench/docs.py --code-size {self.sizes} takes the new sizes"
        self.assertEqual(built, {system: kept[system] for system in built}, command)


TARGETS = "generators/targets.cmake"

if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1])
    GENERATED = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else BUILD / "generated"
    unittest.main(argv=sys.argv[:1])
