"""Sphinx extension: the directive `typescript` documents the exports of a file of TypeScript's
declarations. Each gets an entry of Sphinx's JavaScript domain, with the declaration as it is written
and the comment above it:

    .. typescript:: hewn.d.ts

Its setting typescript_folder says where the files are."""

import pathlib
import re
import textwrap

import tree_sitter_typescript
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.domains.javascript import JSObject
from sphinx.util.docutils import SphinxDirective
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_typescript.language_typescript()))
KINDS = {
    "class_declaration": "class",
    "interface_declaration": "class",
    "function_signature": "function",
    "method_signature": "method",
    "property_signature": "attribute",
    "public_field_definition": "attribute",
    "type_alias_declaration": "data",
}
WORDS = re.compile(r"((?:(?:class|function|get|interface|readonly|type) )*)(\w+)(.*)")


class Declaration(JSObject):
    """An entry whose signature is TypeScript, not JavaScript."""

    allow_nesting = True

    def handle_signature(self, sig, signode):
        words, name, rest = WORDS.match(sig).groups()
        parent = self.env.ref_context.get("js:object")
        module = self.env.ref_context.get("js:module")
        signode["object"], signode["module"] = parent, module
        signode["fullname"] = f"{parent}.{name}" if parent else name
        signode += addnodes.desc_annotation(words, words)
        signode += addnodes.desc_name(name, name)
        signode += nodes.Text(rest)
        return signode["fullname"], parent

    def _object_hierarchy_parts(self, sig_node):
        return tuple(sig_node["fullname"].split("."))


def entries(node, indent=""):
    """Lines of reStructuredText for the declarations in a node."""
    comment = ""
    for child in node.named_children:
        if child.type == "comment":
            comment = child.text.decode()
            continue
        declared = child.child_by_field_name("declaration") or child
        kind = KINDS.get(declared.type)
        if kind:
            body = declared.child_by_field_name("body")
            end = body.start_byte if body else declared.end_byte
            text = declared.text[: end - declared.start_byte].decode().rstrip(" ;")
            yield f"{indent}.. js:{kind}:: {' '.join(text.split())}"
            yield ""
            inside = indent + "   "
            lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment[3:-2].splitlines()]
            yield textwrap.indent(textwrap.dedent("\n".join(lines)).strip(), inside)
            yield ""
            if body:
                yield from entries(body, inside)
        comment = ""


class TypeScript(SphinxDirective):
    required_arguments = 1

    def run(self):
        file = pathlib.Path(self.config.typescript_folder, self.arguments[0])
        lines = "\n".join(entries(PARSER.parse(file.read_bytes()).root_node)).splitlines()
        return self.parse_text_to_nodes(StringList(lines, file.name))


def setup(app):
    app.add_config_value("typescript_folder", "", "env")
    app.add_directive("typescript", TypeScript)
    for kind in set(KINDS.values()):
        app.add_directive_to_domain("js", kind, Declaration, override=True)
