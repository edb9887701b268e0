#!/usr/bin/env bash
# `make check`: format, prose, lints and unit tests of the crates that changed since the commit that
# tests/changed.sh prints.
set -euo pipefail
cd "$(dirname "$0")/.."

base=$(tests/changed.sh)
mapfile -t changed < <(git diff --name-only "$base"; git ls-files --others --exclude-standard)

# The crate of a file: the nearest folder above it with a manifest.
crate_of() {
  local folder
  folder=$(dirname "$1")
  while [ "$folder" != . ] && [ ! -e "$folder/Cargo.toml" ]; do folder=$(dirname "$folder"); done
  [ "$folder" = . ] || echo "$folder"
}

tests/prose.sh "$base"
cargo fmt --all --check

members=$(cargo metadata --format-version 1 --no-deps --offline | grep -o '"manifest_path":"[^"]*"' | cut -d'"' -f4)
light=() heavy=()
for crate in $(for file in "${changed[@]}"; do crate_of "$file"; done | sort -u); do
  if ! grep -qx "$PWD/$crate/Cargo.toml" <<<"$members"; then
    cargo fmt --check --manifest-path "$crate/Cargo.toml"
    echo "check: $crate is not in the workspace, so only its format was checked" >&2
    continue
  fi
  name=$(sed -n 's/^name = "\(foreglow-[^"]*\)"$/\1/p' "$crate/Cargo.toml" | head -n 1)
  if grep -q '^burn v' <<<"$(cargo tree --locked --offline --prefix none -e normal -p "$name")"; then
    heavy+=("$PWD/$crate")
  else
    light+=(-p "$name")
  fi
done

# A profile with fast, incremental compilation.
if [ ${#light[@]} -gt 0 ]; then
  echo "check: ${light[*]//-p/}" >&2
  cargo clippy --quiet --locked --profile quick "${light[@]}" --all-targets -- -D warnings
  cargo test --quiet --locked --profile quick "${light[@]}" --lib
fi
# Crates that need Burn share the dependencies of the release build; compiling them again takes
# minutes.
if [ ${#heavy[@]} -gt 0 ]; then
  echo "check: ${heavy[*]#"$PWD"/}, optimised because of Burn" >&2
  cargo clippy --quiet $CARGO_FLAGS --all-targets -- -D warnings
  # Built for the whole workspace, because a part of it would compile dependencies again; run only
  # for the changed crates.
  cargo test --quiet $CARGO_FLAGS --lib --bins --no-run --message-format json |
    sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"test":true.*"executable":"\([^"]*\)".*/\1 \2/p' |
    while read -r crate tests; do
      if printf '%s\n' "${heavy[@]}" | grep -qx "$crate"; then (cd "$crate" && "$tests" --quiet); fi
    done
fi
