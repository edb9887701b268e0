#!/bin/sh
# Records the programs of others: sh programs/public.sh FOLDER, in which `vision`, `examples` and
# `pytorch-image-models` are clones and `folders` has images in train/CLASS and val/CLASS.
set -e
record() { python record.py "$@"; }
export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore
small="--model squeezenet1_1 --device cpu --epochs 2 --batch-size 8 --workers 0 --print-freq 5"
record torchvision.jsonl python "$1/vision/references/classification/train.py" --data-path "$1/folders" $small \
  --train-crop-size 32 --val-resize-size 32 --val-crop-size 32
record pytorch_dcgan.jsonl python "$1/examples/dcgan/main.py" --dataset fake --niter 2 --ngf 8 --ndf 8 --workers 0
record torchrun.jsonl python -m torch.distributed.run --nproc_per_node 2 "$1/examples/imagenet/main.py" "$1/folders" \
  -a squeezenet1_1 --epochs 3 -b 8 -j 0 -p 2 --dist-backend gloo --dist-url env://
record timm_benchmark.jsonl python "$1/pytorch-image-models/benchmark.py" --model resnet10t --bench train --device cpu \
  --img-size 64 -b 4 --num-bench-iter 40 --num-warm-iter 4
