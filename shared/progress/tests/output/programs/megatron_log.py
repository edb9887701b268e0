"""Calls `training_log` of Megatron-LM, which prints its line, in a loop with a step of PyTorch.

Megatron-LM trains only on GPUs, so its tensors and clocks are those of the processor here. It needs
its repository in PYTHONPATH, and `megatron.core` from there.
"""

import sys
import typing

import torch
import typing_extensions
from torch.overrides import TorchFunctionMode

# Megatron-LM needs Python 3.12.
typing.override = getattr(typing, "override", typing_extensions.override)
from megatron.core.num_microbatches_calculator import init_num_microbatches_calculator
from megatron.training import global_vars
from megatron.training.arguments import parse_args
from megatron.training.training import training_log


class OnProcessor(TorchFunctionMode):
    """Creates the tensors for a GPU on the processor."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


torch.cuda.synchronize = lambda: None
torch.cuda.current_device = lambda: "cpu"
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:29534", rank=0, world_size=1)
group = torch.distributed.new_group([0])
sizes = "--num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 32 --max-position-embeddings 32"
steps = "--micro-batch-size 4 --global-batch-size 8 --train-iters 60 --log-interval 5"
sys.argv[1:] = f"{sizes} {steps}".split()
args = parse_args()
args.consumed_train_samples = args.skipped_train_samples = 0
args.data_parallel_size, args.padded_vocab_size = 1, 128
args.kv_channels, args.ffn_hidden_size, args.gtp_weight_remat_size = 32, 256, 1
global_vars.set_args(args)
global_vars._set_timers(args)
global_vars._set_energy_monitor(args)
init_num_microbatches_calculator(0, None, args.global_batch_size, args.micro_batch_size, 1, None)


class Groups:
    mp = dp = group


layer = torch.nn.Linear(512, 512)
total = {}
with OnProcessor():
    timers = global_vars.get_timers()
    timers("interval-time", log_level=0).start(barrier=True)
    for iteration in range(1, args.train_iters + 1):
        loss = sum((layer(torch.rand(512, 512)) ** 2).mean() for _ in range(20))
        loss.backward()
        args.consumed_train_samples += args.global_batch_size
        loss_dict = {"lm loss": loss.detach()[None]}
        training_log(loss_dict, total, 1e-4, iteration, 1.0, False, 0, 1.5, None, None, None, pg_collection=Groups())
