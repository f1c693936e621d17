#!/usr/bin/env python3
"""Builds the site by scripts/site.sh and checks it: site_test.py FOLDER

FOLDER gets the site. All links and anchors in it must lead somewhere, and nothing may be loaded
from elsewhere. The site must have every page of the repository, every item of the public headers,
of the Python package and of the npm package, the index for the search, and the page that runs hewn
in the browser. Exit status 77: the tools cannot be had."""

import ast
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(sys.argv[1]).resolve()
WASM = ROOT / os.environ.get("HEWN_SITE_WASM", "build-wasm32") / "web/hewn.wasm"
sys.dont_write_bytecode = True
sys.path.append(str(ROOT))
from lists.operators import OPERATORS  # noqa: E402


def build(folder, **settings):
    """Builds a site. Returns what the script printed."""
    run = subprocess.run(
        [ROOT / "scripts/site.sh", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **settings},
    )
    print(run.stdout, flush=True)
    if run.returncode:
        sys.exit(run.returncode)
    return run.stdout


class Page(html.parser.HTMLParser):
    """A page's anchors, its links, what it loads, and the text that it shows."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded, self.text, self.hidden = {""}, [], [], [], 0
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in ("img", "script", "iframe", "link"):
            self.loaded += [attributes[name] for name in ("src", "href") if name in attributes]
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def inventory():
    """Everything that the references describe, as {(kind, name): the page and anchor of its
    entry}."""
    lines = zlib.decompress((FOLDER / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    entries = {}
    for line in lines.splitlines():
        name, kind, _, uri, _ = re.match(r"(.+?) (\S+:\S+) (\S+) (\S+) (.*)", line).groups()
        entries[kind, name] = uri.replace("$", name)
    return entries


class SiteTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages = {path: Page(path) for path in sorted(FOLDER.rglob("*.html"))}
        cls.entries = inventory()

    def broken(self, page, link):
        """The reason why a link of a page is wrong; None if it is right."""
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc:
            return None
        file = page if not url.path else page.parent / urllib.parse.unquote(url.path)
        file = pathlib.Path(os.path.normpath(file))
        file = file / "index.html" if file.is_dir() else file
        name = page.relative_to(FOLDER)
        if not file.is_file() or not file.is_relative_to(FOLDER):
            return f"{name}: {link}: there is no such file"
        anchor = urllib.parse.unquote(url.fragment)
        if file in self.pages and anchor not in self.pages[file].anchors:
            return f"{name}: {link}: there is no such anchor"
        return None

    def test_links_lead_somewhere(self):
        links = [(page, link) for page in self.pages for link in self.pages[page].links]
        links += [(page, link) for page in self.pages for link in self.pages[page].loaded]
        self.assertGreater(len(links), 2000)
        wrong = {self.broken(page, link) for page, link in links} - {None}
        self.assertEqual(sorted(wrong), [])

    def test_nothing_is_loaded_from_elsewhere(self):
        loaded = {link for page in self.pages.values() for link in page.loaded}
        foreign = {link for link in loaded if re.match(r"(?!data:)[a-z]+:|//", link)}
        self.assertEqual(foreign, set())

    def test_every_document_is_a_page(self):
        documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
        documents += [ROOT / name / "README.md" for name in ("bench", "examples", "bindings/web")]
        pages = [FOLDER / file.relative_to(ROOT).with_suffix(".html") for file in documents]
        self.assertEqual([str(page) for page in pages if page not in self.pages], [])
        self.assertIn("Quantize, dequantize", "".join(self.pages[FOLDER / "index.html"].text))

    def test_comments_do_not_show(self):
        shown = [page for page in self.pages if "<!--" in "".join(self.pages[page].text)]
        self.assertEqual(shown, [])

    def test_the_search_has_an_index(self):
        index = (FOLDER / "searchindex.js").read_text(encoding="utf-8")
        index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", index.strip())[1])
        self.assertIn("docs/using", index["docnames"])
        self.assertIn("site/api/c", index["docnames"])
        self.assertIn("wasm", index["terms"])
        self.assertIn("hewn_compile", json.dumps(index["objects"]))
        self.assertIn(FOLDER / "search.html", self.pages)

    def check_entries(self, wanted, least):
        """Checks that each (kind, name) has an entry, and that its anchor is on its page."""
        self.assertGreaterEqual(len(wanted), least)
        self.assertEqual([entry for entry in wanted if entry not in self.entries], [])
        for entry in wanted:
            file, _, anchor = self.entries[entry].partition("#")
            self.assertIn(anchor, self.pages[FOLDER / file].anchors)

    def test_c(self):
        header = text("include/hewn/hewn.h")
        functions = re.findall(r"^HEWN_API [^;(]*?(hewn_\w+)\(", header, re.MULTILINE)
        structs = re.findall(r"^(?:typedef )?struct (hewn_\w+) \{", header, re.MULTILINE)
        enumerators = re.findall(r"^    (HEWN_\w+) =", header, re.MULTILINE)
        macros = re.findall(r"^#define (HEWN_(?:VERSION|BINDING|DIMENSION|ANY)_\w+)", header, re.MULTILINE)
        wanted = [("c:function", name) for name in functions]
        wanted += [("c:struct", name) for name in structs]
        wanted += [("c:enumerator", name) for name in enumerators]
        self.check_entries(wanted, 100)
        known = {name for kind, name in self.entries if kind.startswith("c:")}
        self.assertEqual([name for name in macros if name not in known], [])

    def test_cpp(self):
        headers = text("include/hewn/hewn.hpp") + text("include/hewn/operators.hpp")
        headers = re.sub(r"^namespace detail \{.*?^\}  //", "", headers, flags=re.MULTILINE | re.DOTALL)
        classes = re.findall(r"^(?:class|struct) (\w+)[^;]*\{", headers, re.MULTILINE)
        enums = re.findall(r"^enum class (\w+)", headers, re.MULTILINE)
        wanted = [("cpp:class", f"hewn::{name}") for name in classes]
        wanted += [("cpp:enum", f"hewn::{name}") for name in enums]
        self.check_entries(wanted, 20)

    def test_python(self):
        package = ast.parse(text("bindings/python/hewn/__init__.py"))
        (names,) = (
            node.value.elts
            for node in package.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )
        names = [name.value for name in names if isinstance(name, ast.Constant)]
        names += [operator.name for operator in OPERATORS]
        known = {name for kind, name in self.entries if kind.startswith("py:")}
        self.assertGreater(len(names), 15)
        self.assertEqual([name for name in names if f"hewn.{name}" not in known], [])

    def test_javascript(self):
        kinds = {"function": "function", "class": "class", "interface": "class", "type": "data"}
        wanted = []
        for module, file in (("", "hewn"), ("/webnn", "webnn"), ("/verify", "verify")):
            types = text(f"bindings/web/{file}.d.ts")
            for kind, name in re.findall(r"^export (\w+) (\w+)", types, re.MULTILINE):
                wanted.append((f"js:{kinds[kind]}", f"hewn-kernels{module}.{name}"))
        self.check_entries(wanted, 20)

    @unittest.skipUnless(WASM.exists(), "build-wasm32 is not there")
    def test_the_page_that_runs_hewn(self):
        self.assertEqual((FOLDER / "browser/hewn/hewn.wasm").read_bytes(), WASM.read_bytes())
        self.assertIn("../browser/index.html", self.pages[FOLDER / "site/browser.html"].loaded)
        self.assertIn("../site/browser.html", self.pages[FOLDER / "docs/using.html"].links)


class SettingsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "site"

    def test_without_webassembly_and_with_sources_elsewhere(self):
        sources = "https://sources.example/"
        said = build(self.folder, HEWN_SITE_WASM="/nowhere", HEWN_SITE_SOURCES=sources)
        self.assertIn("/nowhere/web/hewn.wasm is not there", said)
        self.assertFalse((self.folder / "browser").exists())
        self.assertFalse((self.folder / "sources").exists())
        self.assertNotIn("../site/browser.html", Page(self.folder / "docs/using.html").links)
        tuning = Page(self.folder / "docs/tuning.html")
        self.assertTrue([link for link in tuning.links if link.startswith(f"{sources}lists/")])

    def test_another_folder_is_kept(self):
        self.folder.mkdir()
        (self.folder / "precious").write_text("", encoding="utf-8")
        command = [ROOT / "scripts/site.sh", self.folder]
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("is no site", run.stderr)
        self.assertTrue((self.folder / "precious").exists())


if __name__ == "__main__":
    build(FOLDER)
    unittest.main(argv=sys.argv[:1])
