"""Looks at the site in headless Chromium: site_browser_test.py SITE WORK

SITE is what scripts/site.sh made. WORK gets screenshots of some pages, as wide as a phone's screen
and as a desktop's. Exit status 77: there is no site."""

import pathlib
import sys
import unittest

from browser import BrowserTest

SITE, WORK = map(pathlib.Path, sys.argv[1:])
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
SHOWN = ["index", "docs/operators", "docs/performance", "site/api/c", "site/api/python", "site/browser"]


class SiteTest(BrowserTest):
    folder = SITE

    def setUp(self):
        super().setUp()
        self.page = self.new_page(viewport=DESK)

    def open(self, path):
        self.page.goto(self.url + path)

    def test_no_page_is_wider_than_the_screen(self):
        paths = [path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html"))]
        self.assertGreater(len(paths), 40)
        wide = []
        for path in paths:
            self.open(path)
            for size in (PHONE, DESK):
                self.page.set_viewport_size(size)
                width = self.page.evaluate("document.documentElement.scrollWidth")
                if width > size["width"]:
                    wide.append((path, size["width"], width))
        self.assertEqual(wide, [])
        self.check_quiet()

    def test_screenshots(self):
        for path in SHOWN:
            if not (SITE / f"{path}.html").exists():
                continue
            for size in (PHONE, DESK):
                self.page.set_viewport_size(size)
                self.open(f"{path}.html")
                name = f"{path.replace('/', '_')}-{size['width']}.png"
                self.page.screenshot(path=WORK / name)
        self.check_quiet()

    def test_navigation_on_a_phone(self):
        self.page.set_viewport_size(PHONE)
        self.open("index.html")
        self.page.click("label[for=__navigation] >> visible=true")
        self.page.click(".sidebar-tree a:text-is('C++')")
        self.page.wait_for_url("**/site/api/cpp.html")
        self.check_quiet()

    def test_search(self):
        self.open("docs/limits.html")
        self.page.fill("input.sidebar-search", "hewn_compile")
        self.page.press("input.sidebar-search", "Enter")
        self.page.click("#search-results a >> nth=0")
        self.page.wait_for_url("**/site/api/c.html*#c.hewn_compile")
        self.check_quiet()

    @unittest.skipUnless((SITE / "browser").exists(), "the site was built without WebAssembly")
    def test_hewn_runs(self):
        self.open("site/browser.html")
        frame = self.page.frame_locator("iframe.hewn")
        frame.locator("body[data-state=shown]").wait_for()
        self.assertEqual(frame.locator(".differing").all_text_contents(), ["0", "0"])
        # The frame shows the whole page.
        shown = "frame => frame.clientHeight >= frame.contentDocument.documentElement.offsetHeight"
        self.page.wait_for_function(f"({shown})(document.querySelector('iframe.hewn'))")
        self.check_quiet()


if __name__ == "__main__":
    if not (SITE / "index.html").exists():
        print(f"skipped: scripts/site.sh has not made {SITE}")
        sys.exit(77)
    WORK.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
