"""Clicks through the page of examples/web in headless Chromium: page.py PAGE WORK

PAGE is what make.sh made. WORK gets the screenshots page.png and phone.png."""

import base64
import pathlib
import re
import sys
import unittest

from browser import BrowserTest

PAGE, WORK = map(pathlib.Path, sys.argv[1:])
# Imitates browsers that make their clock coarse, because pages could learn secrets from a precise
# one.
COARSE_CLOCK = """{
    const now = performance.now.bind(performance);
    performance.now = () => Math.floor(now() / 100) * 100;
}"""


class PageTest(BrowserTest):
    folder = PAGE

    def open(self, script="", **options):
        page = self.new_page(**options)
        page.add_init_script(script)
        page.goto(self.url)
        page.wait_for_selector("body[data-state=shown]")
        return page

    def check(self, page):
        """Checks that the page shows results, that none differs, and that it asked only its own
        server."""
        wrong = page.locator(".differing").all_text_contents()
        self.assertEqual(wrong, ["0", "0"])
        self.check_quiet()

    def test_every_choice(self):
        page = self.open(viewport={"width": 1100, "height": 900})
        self.check(page)
        seen = set()
        for bits in page.locator("#bits option").all_text_contents():
            for scales in ("tensor", "channel"):
                page.select_option("#bits", bits)
                page.select_option("#scales", scales)
                self.check(page)
                seen.add(page.evaluate("document.getElementById('quantized').toDataURL()"))
        self.assertGreater(len(seen), 12)
        page.select_option("#bits", "3")
        page.screenshot(path=WORK / "page.png", full_page=True)

    def test_another_photograph(self):
        page = self.open()
        photo = PAGE / "narrow.png"
        photo.write_bytes(narrow(page))
        page.set_input_files("#file", photo)
        page.wait_for_function("document.getElementById('status').textContent.startsWith('30 x')")
        self.check(page)

    def test_no_picture(self):
        page = self.open()
        page.set_input_files("#file", PAGE / "page.mjs")
        page.wait_for_function("/Error/.test(document.getElementById('status').textContent)")

    def times(self, page):
        """Yields the milliseconds, the elements per nanosecond and the runs of hewn and of the
        loop, for each operator."""
        cells = page.locator("#results td:nth-child(2), #results td:nth-child(3)")
        pattern = r"([\d.,]+) ms, ([\d.,]+) elements/ns, ([\d,]+) runs"
        self.assertEqual(cells.count(), 4)
        for text in cells.all_text_contents():
            self.assertRegex(text, f"^{pattern}$")
            yield [float(part.replace(",", "")) for part in re.match(pattern, text).groups()]

    def test_times(self):
        for script, step in (("", 0), (COARSE_CLOCK, 100)):
            page = self.open(script)
            self.check(page)
            elements = 3 * page.evaluate("(c => c.width * c.height)(document.all.picture)")
            for ms, speed, runs in self.times(page):
                self.assertGreater(ms, 0)
                self.assertGreaterEqual(ms * runs, 2.9 * step)  # rounded to three digits
                self.assertAlmostEqual(speed / (elements / ms / 1e6), 1, delta=0.02)
            for faster in page.locator("#results td:nth-child(4)").all_text_contents():
                self.assertGreater(float(faster.replace(",", "")), 0)
            if step:
                self.assertIn(f" {step} ms", page.text_content("#status"))

    def test_verify(self):
        page = self.open()
        page.click("#verify")
        page.wait_for_selector("body[data-state=verified], body[data-state=wrong]")
        said = page.text_content("#status")
        print(said)
        self.assertEqual(page.get_attribute("body", "data-state"), "verified", said)
        self.assertRegex(said, r"^This browser: 0 of \d{5,} results .* \d{3,} passed and 0 failed")
        self.check(page)

    def test_a_wrong_result_is_shown(self):
        """A bit of each output is changed without the package's knowledge."""
        page = self.new_page()
        wrong = (PAGE / "hewn/hewn.mjs").read_text(encoding="utf-8") + """
            const right = Operator.prototype.run;
            Operator.prototype.run = function (tensors) {
                right.call(this, tensors);
                tensors.output.bytes[41] ^= 1;
            };
        """
        page.route(
            "**/hewn/hewn.mjs",
            lambda route: route.fulfill(body=wrong, content_type="text/javascript"),
        )
        page.goto(self.url)
        page.wait_for_selector("body[data-state=shown]")
        self.assertNotIn("0", page.locator(".differing").all_text_contents())
        page.click("#verify")
        page.wait_for_selector("body[data-state=wrong]")

    def test_a_phone(self):
        page = self.open(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
        self.check(page)
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(*widths)
        page.screenshot(path=WORK / "phone.png", full_page=True)


def narrow(page):
    """A PNG of 60 x 2048 pixels. The page scales it to half its size."""
    url = page.evaluate("""() => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [60, 2048];
        const context = canvas.getContext('2d');
        context.fillStyle = '#246';
        context.fillRect(0, 0, 40, 1500);
        return canvas.toDataURL();
    }""")
    return base64.b64decode(url.partition(",")[2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
