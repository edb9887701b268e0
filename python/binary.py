"""Adds the binary and the extension module to the wheel, and the tag of the systems on which they run.

``FOREGLOW`` is the path of the binary; the extension is in the folder ``examples`` beside it. The tag has
the newest version of the GNU C library of which they use a function (PEP 600), and the oldest version of
Python that has the extension's interface (PEP 425, ``abi3``).
"""

import os
import platform
import re
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def newest_glibc(content):
    """Returns the newest version of the C library that a binary asks for, such as ``(2, 35)``."""
    versions = re.findall(rb"\x00GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\x00)", content)
    if not versions:
        sys.exit("the binary asks for no version of the GNU C library; build it on a system that has it")
    return max((int(major), int(minor)) for major, minor in versions)


class BinaryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = Path(os.environ.get("FOREGLOW", self.root + "/../target/release/foreglow"))
        extension = binary.parent / "examples/libforeglow_native.so"
        for file in (binary, extension):
            if not file.is_file():
                sys.exit(f"{file} is missing; run `make wheel`, which builds it")
        major, minor = max(newest_glibc(file.read_bytes()) for file in (binary, extension))
        build_data["pure_python"] = False
        build_data["tag"] = f"cp39-abi3-manylinux_{major}_{minor}_{platform.machine()}"
        build_data["shared_scripts"] = {str(binary): "foreglow"}
        build_data["force_include"] = {str(extension): "foreglow/_native.abi3.so"}
