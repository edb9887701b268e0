"""Runs a command and writes a copy of its output in which each line has the time of its arrival.

    LOG=FILE python stamp.py COMMAND...

A carriage return ends a line, as in bars on a terminal. The output itself is passed on unchanged.
"""

import datetime
import os
import subprocess
import sys


def main():
    log, command = os.environ["LOG"], sys.argv[1:]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    line = b""
    with open(log, "wb") as copy:
        while chunk := os.read(child.stdout.fileno(), 1 << 16):
            os.write(1, chunk)
            now = datetime.datetime.now().isoformat(sep=" ", timespec="milliseconds").encode()
            *lines, line = (line + chunk).replace(b"\r", b"\n").split(b"\n")
            for text in lines:
                copy.write(now + b" " + text + b"\n")
            copy.flush()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
