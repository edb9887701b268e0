"""``python -m foreglow``: the program ``foreglow`` of this installation."""

import os
import shutil
import sys
import sysconfig


def program():
    """Returns the path of the program: that of this environment, else the first one on the path.

    :raises FileNotFoundError: there is no such file.
    """
    name = "foreglow.exe" if os.name == "nt" else "foreglow"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), sysconfig.get_path("scripts", f"{os.name}_user")]
    found = (os.path.join(folder, name) for folder in folders)
    path = next((path for path in found if os.path.isfile(path)), None) or shutil.which(name)
    if path is None:
        raise FileNotFoundError("the program foreglow is not in this environment; install it with: pip install --force-reinstall foreglow")
    return path


def main():
    try:
        command = [program(), *sys.argv[1:]]
    except FileNotFoundError as error:
        sys.exit(f"foreglow: {error}")
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call(command))
    try:
        os.execv(command[0], command)
    except FileNotFoundError:
        # The file is there, and its dynamic loader is not.
        sys.exit(
            f"foreglow: {command[0]} needs the GNU C library, which this system lacks (Alpine Linux has musl); use a system "
            "or an image that has it, such as Debian"
        )
    except OSError as error:
        sys.exit(f"foreglow: {command[0]} cannot run here ({error.strerror}); install the wheel of this machine's processor")


if __name__ == "__main__":
    main()
