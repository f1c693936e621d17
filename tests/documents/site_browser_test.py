"""Looks at the site in headless Chromium: site_browser_test.py SITE WORK

SITE is what scripts/site.sh made. WORK gets screenshots of some pages, as wide as a phone's screen
and as a desktop's."""

import functools
import http.server
import pathlib
import shutil
import sys
import threading
import unittest

from playwright.sync_api import sync_playwright

SITE, WORK = map(pathlib.Path, sys.argv[1:])
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
SHOWN = ["index", "docs/operators", "docs/performance", "site/api/c", "site/api/python", "site/browser"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        handler = functools.partial(Quiet, directory=SITE)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        cls.url = f"http://127.0.0.1:{server.server_port}/"
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        # There is no sandbox for root, and the browser opens only this site.
        cls.browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.errors, self.requests = [], []
        self.page = self.browser.new_page(viewport=DESK)
        self.page.set_default_timeout(120_000)  # a machine may be busy
        self.addCleanup(self.page.close)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self.note)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def note(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def open(self, path):
        self.page.goto(self.url + path)

    def check(self):
        """Checks that no error was shown, and that only the site's own server was asked."""
        self.assertEqual(self.errors, [])
        inside = (self.url, "blob:", "data:")
        self.assertEqual([url for url in self.requests if not url.startswith(inside)], [])

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
        self.check()

    def test_screenshots(self):
        for path in SHOWN:
            if not (SITE / f"{path}.html").exists():
                continue
            for size in (PHONE, DESK):
                self.page.set_viewport_size(size)
                self.open(f"{path}.html")
                name = f"{path.replace('/', '_')}-{size['width']}.png"
                self.page.screenshot(path=WORK / name)
        self.check()

    def test_navigation_on_a_phone(self):
        self.page.set_viewport_size(PHONE)
        self.open("index.html")
        self.page.click("label[for=__navigation] >> visible=true")
        self.page.click(".sidebar-tree a:text-is('C++')")
        self.page.wait_for_url("**/site/api/cpp.html")
        self.check()

    def test_search(self):
        self.open("docs/limits.html")
        self.page.fill("input.sidebar-search", "hewn_compile")
        self.page.press("input.sidebar-search", "Enter")
        self.page.click("#search-results a >> nth=0")
        self.page.wait_for_url("**/site/api/c.html*#c.hewn_compile")
        self.check()

    @unittest.skipUnless((SITE / "browser").exists(), "the site was built without WebAssembly")
    def test_hewn_runs(self):
        self.open("site/browser.html")
        frame = self.page.frame_locator("iframe.hewn")
        frame.locator("body[data-state=shown]").wait_for()
        self.assertEqual(frame.locator(".differing").all_text_contents(), ["0", "0"])
        # The frame shows the whole page.
        shown = "frame => frame.clientHeight >= frame.contentDocument.documentElement.offsetHeight"
        self.page.wait_for_function(f"({shown})(document.querySelector('iframe.hewn'))")
        self.check()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
