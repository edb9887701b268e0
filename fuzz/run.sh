#!/usr/bin/env bash
# Fuzzes every target, or the named ones, for SECS seconds each (300 by default), starting from the
# named seeds in corpus/ and the inputs of earlier rounds in corpus.tar.xz:
#     fuzz/run.sh [SECS] [TARGET...]
# Adds to the archive a small set of inputs with the same coverage as all:
#     fuzz/run.sh keep
# The same binaries run under `cargo fuzz run TARGET` with cargo-fuzz and a nightly compiler. This
# script enables libFuzzer's counters with the stable compiler, without a sanitizer: in safe Rust,
# errors surface as panics.
set -euo pipefail
cd "$(dirname "$0")"
secs=${1:-300}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(link samples event_log compressed_log archive table catalog records images words
  onnx prices monitor answer plan export evaluation candidates arguments request network weights
  training protocol checkpoint)
target=${CARGO_TARGET_DIR:-../target/fuzz}
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
host=$(rustc -vV | sed -n 's/^host: //p')
# With an explicit target, build scripts and macros are compiled without the counters.
RUSTFLAGS="$flags" cargo build --locked --release --target "$host" --target-dir "$target"
mkdir -p "$target/found" "$target/earlier"
found=()
tar -xJf corpus.tar.xz --skip-old-files -C "$target/earlier"
for name in "${targets[@]}"; do
  binary=$target/$host/release/$name
  # New inputs go to the first folder; the others are only read.
  mkdir -p "$target/corpus/$name" "$target/earlier/$name"
  max_len=8192 seeds=corpus/$name
  # Files of the tests, which are larger.
  case $name in
    onnx) max_len=65536 seeds=../shared/onnx/tests/exports ;;
    training) seeds=../shared/import/tests/training ;;
    compressed_log) max_len=65536 seeds=../shared/spark-log/tests/event-logs ;;
  esac
  if [ "$secs" = keep ]; then
    "$binary" -set_cover_merge=1 -max_len="$max_len" "$target/earlier/$name" "$seeds" "$target/corpus/$name"
  else
    "$binary" -max_total_time="$secs" -max_len="$max_len" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$target/found/$name-" "$target/corpus/$name" "$target/earlier/$name" "$seeds" || found+=("$name")
  fi
done
if [ "$secs" = keep ]; then
  # The same inputs give the same archive.
  tar -cJf corpus.tar.xz --sort=name --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w --mtime=@0 -C "$target/earlier" .
fi
if [ ${#found[@]} -gt 0 ]; then
  echo "findings of ${found[*]} are in $target/found" >&2
  exit 1
fi
