#!/usr/bin/env bash
# Rejects phrases that hide what is meant, and comment lines over 100 columns, in the lines that
# were added since a commit (by default tests/changed.sh's).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PHRASES='so many|is none|a person|nobody says|stands for itself|lies to'
readonly COMMENT='[[:space:]]*(//|#[ !]|\* |<!--)'
files=('*.rs' '*.toml' '*.md' '*.sh' '*.py' '*.js' '*.css' '*.html' '*.java' '*Makefile' ':!tests/prose.sh')

# Lines of the form FILE:LINE<tab>TEXT.
added() {
  git diff --unified=0 --no-color --no-ext-diff "$1" -- "${files[@]}" | awk '
    /^\+\+\+ b\// { file = substr($0, 7); next }
    /^@@/ { split($3, range, ","); line = substr(range[1], 2); next }
    /^\+/ { printf "%s:%d\t%s\n", file, line++, substr($0, 2) }'
  git ls-files --others --exclude-standard -z -- "${files[@]}" |
    xargs -0 --no-run-if-empty awk '{ printf "%s:%d\t%s\n", FILENAME, FNR, $0 }'
}

export LC_ALL=C.UTF-8
lines=$(added "${1:-$(tests/changed.sh)}")
bad=0
if grep -iE $'\t'".*\b($PHRASES)\b" <<<"$lines" >&2; then
  echo "prose: these lines use a phrase that hides what is meant ($PHRASES); name the thing instead." >&2
  bad=1
fi
if grep -E $'\t'"$COMMENT" <<<"$lines" | grep -v '^[^:]*\.md:' | grep -E $'\t.{101,}$' >&2; then
  echo 'prose: these comment lines are longer than 100 columns; wrap them.' >&2
  bad=1
fi
exit $bad
