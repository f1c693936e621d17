"""Sphinx's settings for the site, which scripts/site.sh builds. The pages are the repository's Markdown
files where they lie, and the .rst files beside this one. navigation.md has their order.

The environment variable HEWN_SITE_WORK names the folder that scripts/site.sh has filled: Doxygen's
XML, the Python package and the types of the npm package. HEWN_SITE_SOURCES is a URL to which a path
in the repository can be appended, such as "https://host/owner/hewn/blob/v0.2.0/". Links to files that
are not pages lead there. Without it, the site has a page for each such file."""

import html
import os
import pathlib
import re
import sys

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.ext.autodoc.mock import mock

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
WORK = pathlib.Path(os.environ["HEWN_SITE_WORK"])
SOURCES = os.environ.get("HEWN_SITE_SOURCES", "")
HEADER = (ROOT / "include/hewn/hewn.h").read_text(encoding="utf-8")
sys.path[:0] = [str(HERE), str(WORK / "python")]
sys.dont_write_bytecode = True
with mock(["numpy"]):
    import hewn

project = "hewn"
version = release = ".".join(re.findall(r"^#define HEWN_VERSION_\w+ (\d+)$", HEADER, re.MULTILINE))
extensions = [
    "breathe",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.githubpages",
    "sphinx_copybutton",
    "typescript",
]

# ---- Pages ----

root_doc = "README"  # also copied to index.html
include_patterns = [
    "*.md", "bench/README.md", "bindings/web/README.md", "docs/**.md", "examples/**.md", "site/**.rst",
    "tests/data/README.md",
]  # fmt: skip
exclude_patterns = [".*", "build*", "dist", "**/node_modules"]
if not tags.has("browser"):  # noqa: F821  Sphinx's own
    exclude_patterns.append("site/browser.rst")

# As on GitHub, headings have anchors, and only Markdown's own characters have a meaning.
myst_heading_anchors = 6
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
smartquotes = False

# ---- References ----

breathe_projects = {"hewn": str(WORK / "xml")}
breathe_default_project = "hewn"
breathe_default_members = ("members", "undoc-members")
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False
breathe_show_enumvalue_initializer = True
autodoc_mock_imports = ["numpy"]
autodoc_member_order = "bysource"
# The operators first, then the other functions, then the types.
hewn.__all__.sort(key=lambda name: (name not in hewn._operators.OPERATORS, isinstance(getattr(hewn, name), type)))
default_role = "literal"  # the meaning of single backquotes in docstrings
typescript_folder = str(WORK / "types")

# ---- Looks ----

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["hewn.css"]
html_css_files = ["hewn.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False
html_use_index = html_domain_indices = False
html_favicon = "icon.svg"
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
toc_object_entries_show_parents = "hide"


# ---- Links to files that are not pages ----

# Files that have a reference on the site.
REFERENCES = {
    "include/hewn/hewn.h": "site/api/c",
    "include/hewn/hewn.hpp": "site/api/cpp",
    "include/hewn/operators.hpp": "site/api/cpp",
    "bindings/web/hewn.d.ts": "site/api/javascript",
}
linked = set()  # the paths that get a page


def uri_of(app, path):
    """Returns where a link on the page app.env.docname to this path in the repository leads, or None
    to keep MyST's own link, with which a browser downloads the file."""
    if path in REFERENCES:
        return app.builder.get_relative_uri(app.env.docname, REFERENCES[path])
    if SOURCES:
        return SOURCES + path
    if not is_text(path) and not (ROOT / path).is_dir():
        return None
    linked.add(path)
    return app.builder.get_relative_uri(app.env.docname, f"sources/{path}")


def is_text(path):
    try:
        return bool((ROOT / path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def link_files(app, doctree):
    """Replaces links to files, which MyST makes downloads, and links to folders, which it refuses."""
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        path, file = app.env.relfn2path(node["reftarget"], app.env.docname)
        if isinstance(node, addnodes.pending_xref) and not (node["reftype"] == "myst" and os.path.isdir(file)):
            continue
        if uri := uri_of(app, path.rstrip("/")):
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri))


def source_pages(app):
    """Yields a page for each linked file. The page of a folder links its files."""
    todo = sorted(linked)
    for path in todo:
        title = html.escape(path)
        if (ROOT / path).is_dir():
            names = sorted(file.name for file in (ROOT / path).iterdir() if is_text(f"{path}/{file.name}"))
            todo += [f"{path}/{name}" for name in names if f"{path}/{name}" not in todo]
            folder = html.escape(pathlib.Path(path).name)
            items = (f'<li><a href="{folder}/{name}.html">{name}</a></li>' for name in map(html.escape, names))
            body = f"<ul>{''.join(items)}</ul>"
        else:
            text = (ROOT / path).read_text(encoding="utf-8")
            try:
                lexer = get_lexer_for_filename(path, text).aliases[0]
            except ClassNotFound:
                lexer = "text"
            body = app.builder.highlighter.highlight_block(text, lexer)
        yield f"sources/{path}", {"title": title, "body": f"<h1>{title}</h1>{body}"}, "page.html"


# ---- Comments of the Python package ----


def python_comment(app, what, name, obj, options, lines):
    """Turns a docstring's lines into reStructuredText. A function's docstring has a line "name: text"
    for each argument; an indented line continues the line above. The docstrings that NamedTuple makes
    for its members say nothing and are dropped."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    if what in ("function", "method"):
        text = re.sub(r"\n +(?! )", " ", "\n".join(lines))
        text = re.sub(r"^([a-z_]+(?:, [a-z_]+)*): ", r"\n* **\1**: ", text, flags=re.MULTILINE)
        text = re.sub(r"^(Returns|Raises|Source)\b", r"\n\1", text, flags=re.MULTILINE)
        lines[:] = text.splitlines()


def python_signature(app, what, name, obj, options, signature, result):
    """Hides the constructors of the extension module's classes, which only the package calls."""
    return ("", None) if what == "class" and obj.__module__ == "hewn._hewn" else None


# ---- The first page ----


def add_navigation(app, docname, source):
    if docname == root_doc:
        text = (HERE / "navigation.md").read_text(encoding="utf-8")
        browser = "site/browser\n" if app.tags.has("browser") else ""
        source[0] += "\n" + text.replace("@BROWSER@\n", browser)


def copy_first_page(app, exception):
    if exception is None:
        first = pathlib.Path(app.outdir, f"{root_doc}.html")
        first.with_name("index.html").write_bytes(first.read_bytes())


def setup(app):
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", link_files, priority=100)  # before Sphinx copies the files
    app.connect("html-collect-pages", source_pages)
    app.connect("autodoc-process-docstring", python_comment)
    app.connect("autodoc-process-signature", python_signature)
    app.connect("build-finished", copy_first_page)
