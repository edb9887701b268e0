#!/usr/bin/env bash
# Packs the binary that `make dist` builds into OUT (target/packages): a .tar.gz, a .deb, an SBOM
# and SHA256SUMS.
#
#   packaging/package.sh [OUT]
#
# Needs cargo-deb, and cargo-cyclonedx for the SBOM. SKIP_SBOM=1 leaves the SBOM out.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly OUT=${1:-target/packages}
readonly FOREGLOW=target/dist/foreglow
readonly STAGE=target/package
fail() { printf 'package: %s\n' "$*" >&2; exit 2; }

[ -x "$FOREGLOW" ] || fail "$FOREGLOW is missing; run \`make dist\`"
VERSION=$("$FOREGLOW" -V | cut -d' ' -f2)
readonly VERSION
NAME=foreglow-$VERSION-$(uname -m)-linux-gnu
readonly NAME

rm -rf "$STAGE"
mkdir -p "$OUT" "$STAGE/bin" "$STAGE/share/bash-completion/completions" "$STAGE/share/zsh/vendor-completions" \
  "$STAGE/share/fish/vendor_completions.d"
install -m 755 "$FOREGLOW" "$STAGE/bin/foreglow"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$STAGE/"
"$FOREGLOW" man --output "$STAGE/share/man/man1"
"$FOREGLOW" completions bash >"$STAGE/share/bash-completion/completions/foreglow"
"$FOREGLOW" completions zsh >"$STAGE/share/zsh/vendor-completions/_foreglow"
"$FOREGLOW" completions fish >"$STAGE/share/fish/vendor_completions.d/foreglow.fish"

tar -czf "$OUT/$NAME.tar.gz" --owner=0 --group=0 --transform "s,^\.,$NAME," -C "$STAGE" .
cargo deb --no-build --no-strip --profile dist --package foreglow-runner --output "$OUT/foreglow_${VERSION}_$(dpkg --print-architecture).deb"
if [ -z "${SKIP_SBOM:-}" ]; then
  # It writes one file for each member of the workspace; the binary's is the runner's.
  cargo cyclonedx --format json --target "$(uname -m)-unknown-linux-gnu" --override-filename foreglow.sbom
  mv runner/foreglow.sbom.json "$OUT/$NAME.cdx.json"
  find . -path ./target -prune -o -name foreglow.sbom.json -exec rm {} +
fi
cd "$OUT"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS
cat SHA256SUMS
