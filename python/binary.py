"""Adds the binary to the wheel, and the tag of the systems on which it runs.

``FOREGLOW`` is the path of the binary. The tag has the newest version of the GNU C library of which the
binary uses a function (PEP 600).
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
        if not binary.is_file():
            sys.exit(f"{binary} is missing; run `make wheel`, which builds it")
        major, minor = newest_glibc(binary.read_bytes())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
        build_data["shared_scripts"] = {str(binary): "foreglow"}
