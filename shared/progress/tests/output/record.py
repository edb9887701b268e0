"""Records the output of a program as the reader gets it: one JSON line per chunk, [seconds, text].

    python record.py [--pty] FILE COMMAND ...
"""

import json
import os
import pty
import subprocess
import sys
import time


def main():
    arguments = sys.argv[1:]
    terminal = arguments[0] == "--pty"
    path, *command = arguments[terminal:]
    read_end, write_end = pty.openpty() if terminal else os.pipe()
    start = time.monotonic()
    environment = {**os.environ, "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=write_end, stderr=write_end, env=environment)
    os.close(write_end)
    with open(path, "w", encoding="utf-8") as file:
        while True:
            try:
                chunk = os.read(read_end, 65536)
            except OSError:  # A closed terminal.
                break
            if not chunk:
                break
            text = chunk.decode("utf-8", "replace")
            json.dump([round(time.monotonic() - start, 4), text], file, ensure_ascii=False)
            file.write("\n")
    sys.exit(process.wait())


main()
