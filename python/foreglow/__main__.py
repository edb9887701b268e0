"""``python -m foreglow``: the program ``foreglow`` of this installation."""

import os
import shutil
import sys
import sysconfig


def _program():
    """Returns the path of the program: that of this environment, else the first one on the path."""
    name = "foreglow.exe" if os.name == "nt" else "foreglow"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), sysconfig.get_path("scripts", f"{os.name}_user")]
    found = (os.path.join(folder, name) for folder in folders)
    return next((path for path in found if os.path.isfile(path)), None) or shutil.which(name)


def main():
    program = _program()
    if program is None:
        sys.exit("foreglow: the program is not in this environment; install it with: pip install --force-reinstall foreglow")
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
