#!/usr/bin/env bash
# Prints the commit that a change starts from: $BASE if it is set, else the branch point from main,
# or on main the last commit but one, so that the last commit is checked too.
set -euo pipefail
if [ -n "${BASE:-}" ]; then exec git rev-parse "$BASE"; fi
base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
if [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse --quiet --verify HEAD~1 || echo "$base"); fi
echo "$base"
