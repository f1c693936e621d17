#!/usr/bin/env python3
"""Tests what blocks_test.py says to pages that break a rule, and to a page that breaks none."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("blocks_test.py")
GOOD = """# A page

<!-- not run: needs a phone -->

```sh
adb shell
```

<!-- shell: export WORD=kept -->
<!-- setup: cd docs -->

```sh
echo $WORD
```

```text
...ept
```

```sh
test "$WORD $(basename $PWD)" = "kept docs"
```

```python
x = 20
```

```python
print(x + 1)
```

It prints

```text
21
```

<!-- setup:
#include <cstdio>
int x = 1;
-->

```cpp
const int y = x;
```

```cpp
const int y = 2;
std::printf("%d %d", x, y);
```

```text
1 2
```
"""


class Rules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def program(self, page, *options):
        """Runs blocks_test.py on the page. Returns its exit status and what it prints."""
        path = pathlib.Path(self.folder.name) / "page.md"
        path.write_text(page, encoding="utf-8")
        command = [sys.executable, PROGRAM, path, *options]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        return result.returncode, result.stdout

    def run_page(self, page):
        folder = self.folder.name
        return self.program(page, "--build", folder, "--generators", f"{folder}/none",
                            "--work", f"{folder}/work")  # fmt: skip

    def test_a_good_page(self):
        status, said = self.run_page(GOOD)
        self.assertEqual(status, 0, said)
        self.assertIn("6 blocks run, 3 outputs compared, 1 blocks excused", said)
        self.assertIn("(sh): needs a phone", said)

    def test_faults(self):
        for page in ("    make\n", "```\nmake\n```\n", "```cobol\nSTOP RUN.\n```\n",
                     "```kotlin\nval x = 1\n```\n", "<!-- not run: -->\n\n```sh\nmake\n```\n",
                     "<!-- same as: README.md -->\n\n```sh\nmake\n```\n"):
            with self.subTest(page):
                status, said = self.program(page, "--check")
                self.assertEqual(status, 1, said)

    def test_failures(self):
        for page in ("```sh\nfalse && true\ntrue\n```\n", "```sh\necho 1\n```\n\n```text\n2\n```\n",
                     "```python\nassert False\n```\n", "```cpp\nreturn 1;\n```\n",
                     "<!-- shell: false -->\n\n```sh\ntrue\n```\n"):
            with self.subTest(page):
                status, said = self.run_page(page)
                self.assertEqual(status, 1, said)

    def test_what_is_not_built(self):
        status, said = self.run_page("<!-- needs: build/there-is-none -->\n\n```sh\nfalse\n```\n")
        self.assertEqual(status, 77, said)


if __name__ == "__main__":
    unittest.main()
