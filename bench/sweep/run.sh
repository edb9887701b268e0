#!/bin/sh
# Measures the planner's built-in example: ResNet-18 and MobileNet-v2, inference and training, E and
# C of 1 and 2, on 1 %, 10 % and all of the images. Takes half an hour on an idle machine with 2
# cores.
#
#     make sweep            # or: bench/sweep/run.sh FOLDER
#
# Writes one file of samples per job, all of them in samples.jsonl, the output of `foreglow
# evaluate` per job, the tables of docs/accuracy.md (tables.md), and the planner's example
# (example.jsonl, to be copied to web/assets). An interrupted sweep resumes where it stopped. The
# sizes are chosen so that a whole job takes about half a minute on one core, and 1 % of it still
# has a partition for each of the four slots, or a whole mini-batch for each of two training
# executors. Set IMAGES=3200 on a slower machine.
set -eu
out=${1:-target/sweep}
foreglow=${FOREGLOW:-target/release/foreglow}
images=${IMAGES:-6400}
mkdir -p "$out"

# measure NAME ARGUMENT…: 1 % of the images twelve times, 10 % nine times, and all of them three
# times, in three rounds over all sampling rates, so that a slow-down of the machine affects all of
# them. Short runs have more repeats because they are noisier.
measure() {
  name=$1
  shift
  for round in 1 2 3; do
    for rates in "0.01 --repeat $((4 * round))" "0.1 --repeat $((3 * round))" "1 --repeat $round"; do
      # $rates is the option's value followed by another option.
      # shellcheck disable=SC2086
      "$foreglow" collect "$@" --executors 1,2 --cores 1,2 --device cpu --sampling-rate $rates ${DRY_RUN:+--dry-run} \
        --output "$out/$name.jsonl"
    done
  done
}

sweep() {
  measure resnet18-inference --model resnet18 --image-px 64 --images "$images" --batch-size 8 --partition-size 8
  measure mobilenet_v2-inference --model mobilenet_v2 --image-px 96 --images "$images" --batch-size 8 --partition-size 8
  measure resnet18-training --mode training --model resnet18 --image-px 32 --images $((images / 2)) --batch-size 8 --share-size 4
  measure mobilenet_v2-training --mode training --model mobilenet_v2 --image-px 32 --images $((images / 2)) --batch-size 8 --share-size 4
  [ -z "${DRY_RUN:-}" ] || exit 0

  cat "$out"/*-inference.jsonl "$out"/*-training.jsonl >"$out/samples.jsonl"
  for name in resnet18-inference mobilenet_v2-inference resnet18-training mobilenet_v2-training; do
    "$foreglow" evaluate "$out/$name.jsonl" --format json >"$out/$name.json"
  done
  python3 "${0%/*}/report.py" "$out"
}

sweep
