#!/usr/bin/env python3
"""Runs every block of commands and code in a page of the documents, as its reader would.

    blocks_test.py PAGE --build BUILD --generators FILE --work FOLDER   runs the blocks of a page
    blocks_test.py --check PAGE...                              looks at pages, runs nothing

The blocks run in order in FOLDER/copy, a copy of the sources as they are now, with few kernels, so
that a page's `cmake --build` is affordable. All blocks of a page share one shell: its folder and
its exported variables are kept from block to block. Blocks of other languages are written to files,
and that shell compiles and runs them (RUN). A block of C or C++ without a `main` is run in one,
after the page's earlier ones; Python and JavaScript blocks continue the page's earlier ones too.

A block `text` after such a block in the same section is its output, and is compared: it must be how
the output ends, where `...` stands for anything. Other blocks `text` are only shown.

HTML comments directly above a block, which readers do not see, say what it needs:

    <!-- not run: REASON -->        excused: other hardware, a registry that is not there, an hour
    <!-- not compared: REASON -->   the same for an output
    <!-- same as: README.md -->     that page has this block too, and it is run there
    <!-- needs: build-wasm32 -->    what other tests or ./test.sh --all leave in the sources'
                                    folder; it is linked into the copy. Where it is not there,
                                    the rest of the page is skipped
    <!-- shell: COMMANDS -->        run before the block
    <!-- setup: CODE -->            stands before the block, in its language

Exit status: 1 if a block fails or breaks these rules, 77 if something that it needs is not built.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]

# How the page's shell runs a block of a language: the file's ending, the command.
RUN = {
    "sh": (".sh", "source {file}"),
    "c": (".c", "cc -std=c99 -Wall -Wextra {file} $(pkg-config --cflags --libs hewn) -o {file}.out "
          "&& {file}.out"),
    "cpp": (".cpp", "c++ -std=c++17 -Wall -Wextra {file} $(pkg-config --cflags --libs hewn) "
            "-o {file}.out && {file}.out"),
    "cmake": (".cmake/CMakeLists.txt", "cmake -S {folder} -B {folder}/build"),
    "python": (".py", "python3 {file}"),
    "js": (".mjs", "node {file}"),
}  # fmt: skip
EXCUSED = {"kotlin", "bat"}  # nothing here can run these

# The kernels of builds in the copy.
SIGNATURES = ("add_f32", "quantize_linear_f32_u8", "quantize_linear_f32_i8", "quantize_linear_f32_f8",
              "dequantize_linear_u8_f32", "dequantize_linear_i8_f32", "dequantize_linear_f8_f32")  # fmt: skip
TARGETS = ("x86_64_sse41", "x86_64_avx2")

COMMENT = re.compile(r"<!--\s*(not run|not compared|same as|needs|shell|setup):(.*?)-->", re.DOTALL)


class Block:
    def __init__(self, page, token, comments, below_code):
        self.where = f"{page}:{token.map[0] + 1}"
        self.line = token.map[0] + 1
        self.language = token.info.strip() if token.type == "fence" else None
        self.code = token.content
        self.is_output = self.language == "text" and below_code
        self.comments = {}
        for kind, text in comments:
            self.comments.setdefault(kind, []).append(text.strip())
        self.same_as = self.comments.get("same as", [])

    @property
    def excuse(self):
        reasons = self.comments.get("not run", []) + self.comments.get("not compared", [])
        reasons += [f"{page} has it too, and it is run there" for page in self.same_as]
        return "; ".join(reasons)

    def fault(self):
        """The rule that the block breaks; None if it breaks none."""
        if self.language is None:
            return "is indented; write ``` and a language"
        excused = "not run" in self.comments or "not compared" in self.comments
        if excused and not self.excuse:
            return "is excused without a reason"
        for page in self.same_as:
            if self.code not in [b.code for b in read_blocks(page) if not b.excuse]:
                return f"is not in {page}, or is not run there"
        if self.language == "text":
            return None
        if self.language in EXCUSED:
            return None if excused else f"nothing runs {self.language} here, and it is not excused"
        if self.language not in RUN:
            known = ", ".join([*RUN, "text", *sorted(EXCUSED)])
            return f"has the language '{self.language}', expected one of: {known}"
        return None


def read_blocks(page):
    tokens = MarkdownIt("commonmark").parse((ROOT / page).read_text(encoding="utf-8"))
    blocks = []
    previous = None  # the language of the block before it in this section
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            previous = None
        if token.type not in ("fence", "code_block"):
            continue
        above = index
        while above and tokens[above - 1].type == "html_block":
            above -= 1
        comments = [c for t in tokens[above:index] for c in COMMENT.findall(t.content)]
        blocks.append(Block(page, token, comments, previous in RUN))
        previous = blocks[-1].language
    return blocks


def tell_excuses(blocks):
    excused = [b for b in blocks if b.excuse]
    for block in excused:
        print(f"  excused: {block.where} ({block.language}): {block.excuse}")
    return len(excused)


def tell_faults(blocks):
    faults = [(b, b.fault()) for b in blocks if b.fault()]
    for block, fault in faults:
        print(f"{block.where}: this block {fault}")
    return bool(faults)


def check(pages):
    blocks = [block for page in pages for block in read_blocks(page)]
    excused = tell_excuses(blocks)
    executable = sum(b.language in RUN and not b.excuse for b in blocks)
    outputs = sum(b.is_output and not b.excuse for b in blocks)
    print(f"{len(pages)} pages: {executable} blocks are run, {outputs} outputs compared, "
          f"{excused} blocks excused")  # fmt: skip
    return 1 if tell_faults(blocks) else 0


# ---- The copy ----


def run_git(folder, *arguments):
    command = ["git", "-c", "safe.directory=*", "-C", folder, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def make_copy(copy, generators):
    """Copies the files of ROOT that git tracks or would track, as they are now, to a repository of
    their own."""
    if not (ROOT / ".git").exists():
        print(f"skipped: {ROOT} is no git checkout, which says which files are the sources")
        sys.exit(77)
    names = run_git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in {name for name in names.split("\0") if (ROOT / name).is_file()}:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)

    # Options that a page's own commands do not give.
    lists = copy / "CMakeLists.txt"
    first, rest = lists.read_text(encoding="utf-8").split("\n", 1)
    options = {"GENERATORS": generators, "SIGNATURES": ";".join(SIGNATURES),
               "TARGETS": ";".join(TARGETS)}  # fmt: skip
    lines = [f'set(HEWN_{name} "{value}" CACHE STRING "")' for name, value in options.items()]
    lists.write_text("\n".join([first, *lines, rest]), encoding="utf-8")

    run_git(copy, "init", "--quiet")
    run_git(copy, "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    run_git(copy, *who, "commit", "--quiet", "--message", "The sources as they are")

    # The copy gets this tree's virtual environment, with the copy's folder in its stamp, so that
    # scripts/setup.sh finds it and makes none.
    stamp = ROOT / ".venv" / "hewn.stamp"
    if stamp.is_file():
        (copy / ".venv").mkdir()
        for part in ("bin", "lib", "pyvenv.cfg"):
            (copy / ".venv" / part).symlink_to(ROOT / ".venv" / part)
        text = stamp.read_text(encoding="utf-8").replace(f"{ROOT} ", f"{copy} ")
        (copy / ".venv" / "hewn.stamp").write_text(text, encoding="utf-8")


# ---- Running ----


def one_by_one(commands):
    """Puts commands that are joined by `&&` on lines of their own, because `set -e` overlooks a
    failure before `&&`."""
    return re.sub(r"\s&&\s+", "\n", commands)


class NotBuilt(Exception):
    pass


class Page:
    """A page's shell, and the code that its blocks have so far."""

    def __init__(self, build, work, generators):
        self.build = build
        self.copy = work / "copy"
        self.state = work / "shell.sh"  # restores the shell: its variables, its folder
        self.places = {
            "/where/you/like": str(work / "installed"),
            "/where/it/is": str(work / "unpacked"),
            "/path/to/hewn": str(self.copy),
        }
        self.fragments = {}
        shutil.rmtree(work, ignore_errors=True)
        self.copy.mkdir(parents=True)
        make_copy(self.copy, generators)
        self.state.write_text(f"cd '{self.copy}'\n", encoding="utf-8")

    def in_place(self, text):
        for place, folder in self.places.items():
            text = text.replace(place, folder)
        return text

    def shell(self, commands):
        """Runs the commands. Returns what they print, or raises CalledProcessError."""
        script = "\n".join([
            "set -eo pipefail",
            f"source '{self.state}'",
            one_by_one(self.in_place(commands)),
            f"{{ export -p; printf 'cd %q\\n' \"$PWD\"; }} >'{self.state}'",
        ])
        installed = self.places["/where/you/like"]
        environment = dict(
            os.environ,
            LC_ALL="C.UTF-8",
            CMAKE_PREFIX_PATH=installed,
            LD_LIBRARY_PATH=f"{installed}/lib",
            PKG_CONFIG_PATH=f"{installed}/lib/pkgconfig",
        )
        environment.pop("VIRTUAL_ENV", None)
        result = subprocess.run(
            ["bash", "-c", script], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
        result.check_returncode()
        return result.stdout

    def link(self, needed):
        """Links what a block needs from the sources' folder into the copy."""
        first, *rest = pathlib.PurePath(needed).parts
        source = (self.build if first == "build" else ROOT / first).joinpath(*rest)
        if not source.exists():
            raise NotBuilt(f"there is no {source}: ./test.sh --all makes it")
        target = self.copy / needed
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)

    def program(self, block):
        """The block's code, with what must stand before it."""
        code = self.in_place("\n".join(block.comments.get("setup", []) + [block.code]))
        if block.language == "sh":
            return one_by_one(code)
        if block.language == "cmake" or "int main(" in code:
            return code
        earlier = self.fragments.setdefault(block.language, [])
        earlier.append(code)
        if block.language not in ("c", "cpp"):
            return "\n".join(earlier)
        # Each block stands in a scope inside the one before it, because it may declare the same
        # names.
        lines = "\n{\n".join(earlier).splitlines()
        includes = [line for line in lines if line.startswith("#include")]
        body = [line for line in lines if not line.startswith("#include")]
        return "\n".join([*includes, "int main(void) {", *body, "}" * len(earlier)]) + "\n"

    def run(self, block):
        for needed in block.comments.get("needs", []):
            self.link(needed)
        for commands in block.comments.get("shell", []):
            self.shell(commands)
        ending, command = RUN[block.language]
        file = self.copy / f"block-{block.line}{ending}"
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.program(block), encoding="utf-8")
        return self.shell(command.format(file=f"'{file}'", folder=f"'{file.parent}'"))


def times():
    """The time of the clock, and the time that ended programs have spent on the CPU."""
    now = os.times()
    return now.elapsed, now.children_user + now.children_system


def agrees(shown, output):
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    return re.search(rf"(^|\n){pattern}\s*\Z", output, re.DOTALL)


def run_page(page, build, generators, work):
    blocks = read_blocks(page)
    failed = tell_faults(blocks)
    surroundings = None
    output, run, compared, skipped = None, 0, 0, False
    for block in blocks:
        if block.is_output and not block.excuse and output is not None:
            compared += 1
            if not agrees(block.code, output):
                failed = True
                print(f"{block.where}: shows\n{block.code}\ninstead of\n{output}")
        output = None
        if block.fault() or block.excuse or block.language not in RUN:
            continue
        start = times()
        try:
            surroundings = surroundings or Page(build, work, generators)
            output = surroundings.run(block)
            run += 1
            wall, cpu = (now - then for now, then in zip(times(), start))
            print(f"  run: {block.where} ({block.language}), {wall:.0f} s, {cpu:.0f} s of CPU time")
        except NotBuilt as reason:
            skipped = True
            print(f"skipped from {block.where} on: {reason}")
            break
        except subprocess.CalledProcessError as error:
            failed = True
            print(f"{block.where}: exit status {error.returncode}:\n{block.code}\nprinted\n"
                  f"{error.stdout[-10000:]}")  # fmt: skip
            break  # later blocks rely on this one
    excused = tell_excuses(blocks)
    print(f"{page}: {run} blocks run, {compared} outputs compared, {excused} blocks excused")
    if failed:
        return 1
    shutil.rmtree(work, ignore_errors=True)
    return 77 if skipped else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pages", nargs="+", metavar="PAGE", help="relative to the sources' folder")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--generators", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if options.check:
        return check(options.pages)
    if len(options.pages) != 1 or not (options.build and options.generators and options.work):
        parser.error("give --check, or one page with --build, --generators and --work")
    folders = (options.build, options.generators, options.work)
    return run_page(options.pages[0], *(folder.resolve() for folder in folders))


if __name__ == "__main__":
    sys.exit(main())
