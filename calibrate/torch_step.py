#!/usr/bin/env python3
"""Times a training step of a small Llama in PyTorch, as an independent check of a profile.

    python3 calibrate/torch_step.py -o steps.json
    orrery validate --hardware my-cluster.yaml --torch steps.json

The model has the shapes of `orrery validate --hardware`: pre-norm decoder with RMSNorm, rotary
embedding, causal attention with grouped queries, SwiGLU, untied tables; bf16 weights with fp32
copies that AdamW updates. Every shape is timed eagerly and, where torch.compile works, compiled.
Without torch or a GPU: one sentence on standard error and exit code 5.

A shape is the text that the validation prints:

    --shape "13b hidden=5120 ffn=13824 heads=40 groups=40 dim=128 layers=2 vocabulary=36864 \
tokens=3072x1 bf16"
"""

import argparse
import json
import statistics
import sys
import time

SCHEMA = "orrery-torch-step/1"
EXIT_DEVICE = 5
SHAPES = (
    "13b hidden=5120 ffn=13824 heads=40 groups=40 dim=128 layers=2 vocabulary=36864 "
    "tokens=3072x1 bf16",
    "grouped hidden=3584 ffn=18944 heads=28 groups=4 dim=128 layers=2 vocabulary=36864 "
    "tokens=3072x2 bf16",
)
PRECISIONS = ("bf16", "fp8_tensor")


def read_shape(text):
    """The numbers of a shape's text; ValueError where it is none, or no dense one of bf16."""
    words = text.split()
    shape = {"name": words[0]}
    for word in words[1:]:
        if word in PRECISIONS:
            shape["precision"] = word
            continue
        key, _, value = word.partition("=")
        if key == "tokens":
            length, _, sequences = value.partition("x")
            shape["length"], shape["sequences"] = int(length), int(sequences)
        elif key in ("hidden", "ffn", "heads", "groups", "dim", "layers", "vocabulary"):
            shape[key] = int(value)
        else:
            raise ValueError(f"`{word}` is not understood: dense models only")
    if shape.get("precision", "bf16") != "bf16":
        raise ValueError("PyTorch alone multiplies in bf16 here, not in fp8_tensor")
    return shape


def make_model(torch, shape):
    nn, functional = torch.nn, torch.nn.functional
    hidden, dim = shape["hidden"], shape["dim"]
    heads, groups = shape["heads"], shape["groups"]

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(hidden))

        def forward(self, x):
            return functional.rms_norm(x, (hidden,), self.weight, 1e-5)

    def turned(x, cosine, sine):
        low, high = x.chunk(2, dim=-1)
        return torch.cat((low * cosine - high * sine, high * cosine + low * sine), dim=-1)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.mlp_norm = Norm(), Norm()
            self.qkv = nn.Linear(hidden, (heads + 2 * groups) * dim, bias=False)
            self.output = nn.Linear(heads * dim, hidden, bias=False)
            self.up = nn.Linear(hidden, 2 * shape["ffn"], bias=False)
            self.down = nn.Linear(shape["ffn"], hidden, bias=False)

        def forward(self, x, cosine, sine):
            batch, length, _ = x.shape
            joined = self.qkv(self.attention_norm(x)).view(batch, length, heads + 2 * groups, dim)
            q, k, v = joined.transpose(1, 2).split((heads, groups, groups), dim=1)
            q, k = turned(q, cosine, sine), turned(k, cosine, sine)
            if groups < heads:
                k = k.repeat_interleave(heads // groups, dim=1)
                v = v.repeat_interleave(heads // groups, dim=1)
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.output(o.transpose(1, 2).reshape(batch, length, heads * dim))
            gate, up = self.up(self.mlp_norm(x)).chunk(2, dim=-1)
            return x + self.down(functional.silu(gate) * up)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(shape["vocabulary"], hidden)
            self.layers = nn.ModuleList(Layer() for _ in range(shape["layers"]))
            self.norm = Norm()
            self.head = nn.Linear(hidden, shape["vocabulary"], bias=False)
            position = torch.arange(shape["length"], dtype=torch.float32)
            angle = torch.outer(position, 10000.0 ** (-torch.arange(0, dim, 2) / dim))
            self.register_buffer("cosine", angle.cos().to(torch.bfloat16))
            self.register_buffer("sine", angle.sin().to(torch.bfloat16))

        def forward(self, ids, targets):
            x = self.embedding(ids)
            for layer in self.layers:
                x = layer(x, self.cosine, self.sine)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Model()


def make_step(torch, shape, compiled):
    """One call: forward, backward, norm of the gradients, AdamW on fp32 copies."""
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = make_model(torch, shape).to(torch.bfloat16)
        size = (shape["sequences"], shape["length"])
        ids = torch.randint(shape["vocabulary"], size)
        targets = torch.randint(shape["vocabulary"], size)
    narrow = list(model.parameters())
    master = [p.detach().float().clone().requires_grad_() for p in narrow]
    optimizer = torch.optim.AdamW(master, lr=1e-7, fused=True)
    forward = torch.compile(model) if compiled else model

    def step():
        loss = forward(ids, targets)
        loss.backward()
        for wide, parameter in zip(master, narrow):
            wide.grad = parameter.grad.float()
            parameter.grad = None
        torch.nn.utils.get_total_norm([wide.grad for wide in master])
        optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(narrow, master)
        return loss

    return step


def quantile(values, share):
    ordered = sorted(values)
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def time_step(torch, step, warm_up, loop):
    """Microseconds of single steps, after `warm_up` seconds of steps that are not counted."""

    def timed():
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    for _ in range(3):
        timed()
    stop = time.monotonic() + warm_up
    while time.monotonic() < stop:
        timed()
    times = []
    stop = time.monotonic() + loop
    while time.monotonic() < stop or len(times) < 5:
        times.append(timed())
    return times


def measure(torch, text, mode, arguments):
    step = make_step(torch, read_shape(text), mode == "compiled")
    times = time_step(torch, step, arguments.warm_up, arguments.loop)
    return {
        "schema": SCHEMA,
        "shape": text,
        "mode": mode,
        "median_us": statistics.median(times),
        "p10_us": quantile(times, 0.1),
        "p90_us": quantile(times, 0.9),
        "count": len(times),
        "versions": {
            "torch": torch.__version__,
            "cuda": str(torch.version.cuda),
            "device": torch.cuda.get_device_name(),
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shape", action="append", help="time this one; may be given again")
    parser.add_argument("--mode", choices=("eager", "compiled", "both"), default="both")
    parser.add_argument("--warm-up", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--loop", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("-o", "--output", metavar="FILE", help="in place of standard output")
    arguments = parser.parse_args()
    try:
        shapes = arguments.shape or SHAPES
        for text in shapes:
            read_shape(text)
    except ValueError as problem:
        parser.error(str(problem))
    try:
        import torch
    except ImportError:
        print("torch_step: PyTorch is not installed", file=sys.stderr)
        return EXIT_DEVICE
    if not torch.cuda.is_available():
        print("torch_step: PyTorch finds no GPU", file=sys.stderr)
        return EXIT_DEVICE
    modes = ("eager", "compiled") if arguments.mode == "both" else (arguments.mode,)
    results = []
    for text in shapes:
        for mode in modes:
            try:
                results.append(measure(torch, text, mode, arguments))
            except Exception as problem:  # no compiler, or not enough memory: the rest counts
                print(f"torch_step: {mode} {text}: {problem}", file=sys.stderr)
            torch.cuda.empty_cache()
            if arguments.output:  # after each, so that what is done outlives an interruption
                with open(arguments.output, "w", encoding="utf-8") as file:
                    json.dump(results, file, indent=1)
    if not arguments.output:
        json.dump(results, sys.stdout, indent=1)
        print()
    return 0 if results else EXIT_DEVICE


if __name__ == "__main__":
    sys.exit(main())
