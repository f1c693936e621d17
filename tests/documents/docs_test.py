#!/usr/bin/env python3
"""Checks the documents: docs_test.py BUILD

Links, anchors and the paths in backticks must lead somewhere, and so must the code's comments that
name documents. Tables of numbers in documents must agree with the lists, the build and the
measurements."""

import functools
import json
import pathlib
import re
import subprocess
import sys
import unittest

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT))
from lists.build import KERNEL_OPERATORS, signatures_of  # noqa: E402
from lists.targets import TARGETS  # noqa: E402

CODE = (".c", ".cmake", ".cpp", ".h", ".hpp", ".py", ".sh", ".txt")
FOLDERS = (
    "bench|bindings|cmake|docs|examples|generators|include|lists|packaging|reference|runtime|scripts|tests"
    "|tools|tuning"
)


def tracked(*patterns):
    # Works whoever owns the folder, and lists new files too.
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


def slugs(name):
    """The anchors that GitHub gives headings: in lower case, with hyphens for spaces, without other
    punctuation, and with a number if the anchor is taken."""
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
    """The reason why a relative link of the page is wrong; None if it is right."""
    path, _, anchor = target.partition("#")
    file = (ROOT / name).parent / path if path else ROOT / name
    if not file.exists():
        return f"{name}: {target}: there is no such file"
    if anchor and anchor not in slugs(str(file.resolve().relative_to(ROOT))):
        return f"{name}: {target}: there is no such heading"
    return None


def paths(name):
    """The words in backticks that look like paths of the repository, except placeholders."""
    for code in inline(name, "code_inline"):
        for word in code.content.split():
            path = re.match(rf"\./(\S+\.sh)$|((?:{FOLDERS})/[\w./-]*)$", word)
            if path:
                yield path[1] or path[2]


PAGES = tracked("*.md")


class Documents(unittest.TestCase):
    maxDiff = None

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
        command = [sys.executable, ROOT / "bench" / "report" / "docs.py", "--check"]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))


class Numbers(unittest.TestCase):
    """Compares the README's tables with the lists of the build."""

    maxDiff = None

    def rows(self, first):
        """Returns (name, number) of the rows that begin with such a name and end with a number."""
        return re.findall(rf"^\| {first} \|.*\| (\d+) \|$", text("README.md"), re.MULTILINE)

    def test_kernels_of_an_operator(self):
        kernels = [(op.directml_name, str(len(signatures_of(op)))) for op in KERNEL_OPERATORS]
        self.assertEqual(self.rows("([A-Z_0-9]+)"), kernels)

    def test_targets(self):
        targets = [(target.name, str(target.priority)) for target in TARGETS]
        self.assertEqual(sorted(self.rows(r"`(\w+)`")), sorted(targets))


class Build(unittest.TestCase):
    """Checks that need a build of everything."""

    def setUp(self):
        self.sizes = BUILD / "code-size.txt"
        cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
        chosen = r"^HEWN_(OPERATORS|SIGNATURES|TARGETS):[^=]*=(?!all$|$)"
        if re.search(chosen, cache, re.MULTILINE):
            self.skipTest("not all kernels are built here")

    def test_code_size(self):
        sys.path.insert(0, str(ROOT / "bench" / "report"))
        import docs

        built = docs.read_code_size(self.sizes)
        kept = json.loads(docs.CODE_SIZE.read_text(encoding="utf-8"))
        command = f"python3 bench/report/docs.py --code-size {self.sizes} takes the new sizes"
        self.assertEqual(built, {system: kept[system] for system in built}, command)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
