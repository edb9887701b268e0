#!/bin/sh
# Measures the planner's built-in example: ResNet-18 and MobileNet-v2, inference and training, E and C of 1 and 2, on 1 %, 10 %
# and all of the images, on an otherwise idle machine (half an hour on 2 cores).
#
#     make sweep            # or: bench/sweep/run.sh FOLDER
#
# A file of samples for each job, all of them in samples.jsonl, what `foreglow evaluate` says of each job beside it, and of all of
# them the tables of docs/accuracy.md (tables.md) and the planner's example (example.jsonl, to be laid into web/assets).
# Interrupted, it goes on where it stopped. The sizes: a whole job takes half a minute or so on one core, and its hundredth part still has a
# partition for each of the four slots, or to train a whole mini-batch for each of two executors; IMAGES=3200 on a slower machine.
set -eu
out=${1:-target/sweep}
foreglow=${FOREGLOW:-target/release/foreglow}
images=${IMAGES:-6400}
mkdir -p "$out"

# measure NAME ARGUMENT…: 1 % of the images twelve times, 10 % nine times, all of them three times, in three rounds through all
# sampling rates: a machine that becomes slower meets all of them, and what disturbs a short run is made up for by more of them.
measure() {
  name=$1
  shift
  for round in 1 2 3; do
    for rates in "0.01 --repeat $((4 * round))" "0.1 --repeat $((3 * round))" "1 --repeat $round"; do
      # $rates is an option's value and another option on purpose.
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
