#!/usr/bin/env bash
# Rejects phrases that hide what is meant, and comment lines over 100 columns, in the lines that
# were added since a commit (by default tests/changed.sh's).
set -euo pipefail
cd "$(dirname "$0")/.."

PHRASES='so many|so much|is none|of none|a person|people|no one|somebody|nobody says|knows? nothing'
PHRASES+='|stands for itself|lies to|lies beside|what lies|as it lies|what there is|what became'
PHRASES+='|of whose like|the like of|told apart|taken together|put together|in turns|at most so'
PHRASES+='|is asked of|makes of|made of them|drawn to|comes of|goes by|that is it'
PHRASES+='|whatever the|(is|are) taken for|is told|told by|by turns|has become of|what is known'
PHRASES+='|(says?|tells?|learns?|brings?) nothing|to itself|beside its|its like|such as it is'
PHRASES+='|in view of|as one says|holds good|used to be|goes with|hand(s|ed)? over|the rest of them'
readonly PHRASES
readonly COMMENT='[[:space:]]*(//|#( |!/)|/?\* |<!--)'
files=('*.rs' '*.toml' '*.md' '*.sh' '*.py' '*.js' '*.css' '*.html' '*.java' '*.c' '*.yml'
  '*Makefile' '*Containerfile' ':!tests/prose.sh')

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
# `is None` is Python.
if grep -iE $'\t'".*\b($PHRASES)\b" <<<"$lines" | grep -v 'is None' >&2; then
  echo "prose: these lines use a phrase that hides what is meant ($PHRASES); name the thing instead." >&2
  bad=1
fi
if grep -E $'\t'"$COMMENT" <<<"$lines" | grep -v '^[^:]*\.md:' | grep -E $'\t.{101,}$' >&2; then
  echo 'prose: these comment lines are longer than 100 columns; wrap them.' >&2
  bad=1
fi
exit $bad
