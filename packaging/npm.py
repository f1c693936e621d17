"""The npm package: what a build for WebAssembly has installed in share/hewn/web. As `npm pack`
would write it, but the same each time, and without npm."""

import common

SYSTEM = "wasm32"
FOLDER = "share/hewn/web"


def pack(release):
    if release.staged([SYSTEM]):
        release.file(SYSTEM, f"{FOLDER}/hewn.wasm")
        yield release.tar(
            f"{common.DISTRIBUTION}-{common.VERSION}.tgz",
            "package",
            release.stage / SYSTEM / FOLDER,
        )
