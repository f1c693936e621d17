"""Tests of static pages in headless Chromium, through Playwright. tests/support/chromium.sh runs them."""

import functools
import http.server
import shutil
import threading
import unittest

from playwright.sync_api import sync_playwright


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


class BrowserTest(unittest.TestCase):
    """Serves the files of `folder` at `url`. `errors` and `requests` are those of the pages that a
    test has opened."""

    folder = None

    @classmethod
    def setUpClass(cls):
        handler = functools.partial(Quiet, directory=cls.folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        cls.url = f"http://127.0.0.1:{server.server_port}/"
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        # There is no sandbox for root, and the browser opens only these pages.
        cls.browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.errors, self.requests = [], []

    def new_page(self, **options):
        page = self.browser.new_page(**options)
        page.set_default_timeout(600_000)  # a machine may be busy
        self.addCleanup(page.close)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self.note)
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def note(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def check_quiet(self):
        """Checks that the pages reported no error, and that they asked only their own server."""
        self.assertEqual(self.errors, [])
        inside = (self.url, "blob:", "data:")
        self.assertEqual([url for url in self.requests if not url.startswith(inside)], [])
