"""Packs an archive of each system's installation: zip for Windows, whose installation has no links,
and tar.gz for the others. Debug symbols are in separate archives."""

import common


def pack(release):
    for folder in sorted(path for path in release.stage.iterdir() if path.is_dir()):
        name = f"hewn-{common.VERSION}-{folder.name}"
        if folder.name.startswith("windows-"):
            yield release.zip(
                f"{name}.zip", {f"{name}/{path}": file for path, file in common.files(folder)}
            )
        else:
            yield release.tar(f"{name}.tar.gz", name, folder)
    if release.debug:
        for folder in sorted(path for path in release.debug.iterdir() if path.is_dir()):
            name = f"hewn-{common.VERSION}-{folder.name}-debug"
            yield release.tar(f"{name}.tar.gz", name, folder)
