"""Packs the npm package from the files that a build for WebAssembly has installed in
share/hewn/web. The result is as from `npm pack`, but reproducible, and npm is not needed."""

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
