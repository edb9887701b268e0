#!/usr/bin/env bash
# Runs a command whose temporary files are in memory, if there is room: the tests make hundreds of
# databases and browser profiles.
set -euo pipefail

least_free_gib=8
least_memory_gib=12
free_gib=$(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1 || true)
memory_gib=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || true)
if [ -w /dev/shm ] && [ "${free_gib:-0}" -ge $least_free_gib ] && [ "${memory_gib:-0}" -ge $least_memory_gib ]; then
  TMPDIR=$(mktemp -d /dev/shm/foreglow-tests.XXXXXX)
  export TMPDIR SPARK_LOCAL_DIRS=$TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
  # Databases run as another user.
  chmod 1777 "$TMPDIR"
fi
"$@"
