"""Makes a Conan 2 package of hewn's release archives. The library's interface is C, so one binary
serves all compilers and build types."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get

required_conan_version = ">=2.0"
SYSTEMS = {"Linux": "linux", "Windows": "windows", "Macos": "macos", "Android": "android"}
ARCHITECTURES = {"x86_64": "x86_64", "armv8": "arm64"}
SHARED = ("lib/*.so*", "lib/*.dylib", "bin/*.dll", "lib/*.lib")
NEEDS = {"Linux": ["pthread", "dl", "m"], "Android": ["log", "dl", "m"]}


class Hewn(ConanFile):
    name = "@DISTRIBUTION@"
    version = "@VERSION@"
    description = "@SUMMARY@: @OPERATORS@"
    license = "Apache-2.0"
    homepage = "@HOMEPAGE@"
    topics = ("quantization", "directml", "halide", "pre-built")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "libc": ["gnu", "musl"]}
    default_options = {"shared": False, "libc": "gnu"}

    def config_options(self):
        if self.settings.os != "Linux":
            del self.options.libc
        if self.settings.os == "Windows":
            self.options.shared = True

    @property
    def _archive(self):
        parts = (
            SYSTEMS.get(str(self.settings.os)),
            self.options.get_safe("libc"),
            ARCHITECTURES.get(str(self.settings.arch)),
        )
        system = "-".join(str(part) for part in parts if part)
        return self.conan_data["sources"][self.version].get(system)

    def validate(self):
        if not self._archive:
            raise ConanInvalidConfiguration(
                f"hewn has no archive for {self.settings.os} on {self.settings.arch}"
            )
        if self.settings.os == "Windows" and not self.options.shared:
            raise ConanInvalidConfiguration(
                "hewn is a DLL on Windows: -o @DISTRIBUTION@/*:shared=True"
            )

    def package_id(self):
        del self.info.settings.compiler
        del self.info.settings.build_type

    def build(self):
        get(self, **self._archive, strip_root=True)

    def package(self):
        for name in ("LICENSE", "THIRD_PARTY.md"):
            copy(
                self,
                name,
                os.path.join(self.build_folder, "share/doc/hewn"),
                os.path.join(self.package_folder, "licenses"),
            )
        libraries = SHARED if self.options.shared else ("lib/*.a",)
        for pattern in ("include/*", *libraries):
            copy(self, pattern, self.build_folder, self.package_folder)

    def package_info(self):
        target = "hewn::hewn" if self.options.shared else "hewn::hewn_static"
        self.cpp_info.set_property("cmake_file_name", "hewn")
        self.cpp_info.set_property("cmake_target_name", target)
        self.cpp_info.set_property("cmake_target_aliases", ["hewn::hewn"])
        self.cpp_info.set_property("pkg_config_name", "hewn")
        self.cpp_info.libs = ["hewn"]
        if not self.options.shared:
            self.cpp_info.defines = ["HEWN_STATIC"]
            system = str(self.settings.os)
            self.cpp_info.system_libs = NEEDS.get(system, [])
            if system in NEEDS:  # a library that links this one does not export it
                self.cpp_info.sharedlinkflags = ["-Wl,--exclude-libs,libhewn.a"]
