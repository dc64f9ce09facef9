#!/usr/bin/env python3
"""Times training steps of a small Llama and single calls in PyTorch, to check a profile by them.

    python3 calibrate/torch_step.py --cases my-cluster.validation.yaml -o torch.json
    orrery validate --hardware my-cluster.yaml --torch torch.json

The model has the shapes of `orrery validate --hardware`: pre-norm decoder with RMSNorm, rotary
embedding, causal attention with grouped queries, SwiGLU, untied tables; bf16 weights with fp32
copies that AdamW updates. Every shape is timed eagerly and, where torch.compile works, compiled.
The result names the attention that ran, and sums the profiler's kernels by kind.

--cases FILE also times the calls that PyTorch has for the cases in a text, such as the record of a
validation: products by mm and _scaled_mm, attention by scaled_dot_product_attention, AdamW fused;
from a graph, on a warm GPU, with operands that together exceed four times the L2.
What takes seconds comes first: eager steps, then calls, then the steps that are compiled. The output
is written after each of them, in one piece.
Without torch or a GPU: one sentence on standard error and exit code 5.

A shape is the text that the validation prints:

    --shape "13b hidden=5120 ffn=13824 heads=40 groups=40 dim=128 layers=2 vocabulary=36864 \
tokens=3072x1 bf16"
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

SCHEMA = "orrery-torch-step/2"
KERNEL_SCHEMA = "orrery-torch-kernel/1"
EXIT_DEVICE = 5
SHAPES = (
    "13b hidden=5120 ffn=13824 heads=40 groups=40 dim=128 layers=2 vocabulary=36864 "
    "tokens=3072x1 bf16",
    "grouped hidden=3584 ffn=18944 heads=28 groups=4 dim=128 layers=2 vocabulary=36864 "
    "tokens=3072x2 bf16",
)
PRECISIONS = ("bf16", "fp8_tensor")
BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable"}
# The first word in a kernel's name decides; what none knows moves memory.
LEDGER = (
    ("attention", ("flash", "fmha", "sdpa", "attention")),
    ("optimizer", ("adam", "multi_tensor", "lpnorm", "foreach")),
    ("products", ("gemm", "nvjet", "cutlass", "xmma", "cublas", "wgmma", "splitk")),
)
REPLAY = 2e-3  # s, of a graph of calls


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


def backend_of(torch, q, k, v, causal):
    """The name of the attention that PyTorch picks for these operands."""
    choice = torch._fused_sdp_choice(q, k, v, None, 0.0, causal)
    return BACKENDS.get(int(choice), f"backend {int(choice)}")


def backend_of_shape(torch, shape):
    size = (shape["sequences"], shape["heads"], shape["length"], shape["dim"])
    q, k, v = (
        torch.randn(size, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    )
    return backend_of(torch, q, k, v, True)


def kind_of(kernel):
    for kind, words in LEDGER:
        if any(word in kernel.lower() for word in words):
            return kind
    return "memory"


def ledger_of(torch, step, repeats=3):
    """Microseconds of a step's kernels by kind, as the profiler sees them."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(repeats):
            step()
        torch.cuda.synchronize()
    sums = {"products": 0.0, "attention": 0.0, "memory": 0.0, "optimizer": 0.0}
    for event in seen.events():
        annotation = getattr(event, "is_user_annotation", False)  # spans kernels, is none
        if str(event.device_type).endswith("CUDA") and not annotation:
            sums[kind_of(event.name)] += event.time_range.elapsed_us() / repeats
    return sums


def read_cases(text):
    """[(text, words, extents)] of each case of gemm, attention and adamw, once."""
    found = {}
    for match in re.finditer(r'"((?:gemm|attention|adamw) [^"]*)"', text):
        words, extents = [], {}
        for word in match.group(1).split():
            key, equals, value = word.partition("=")
            if equals:
                extents[key] = int(value)
            else:
                words.append(word)
        found.setdefault(match.group(1), (words, extents))
    return [(case, *parsed) for case, parsed in found.items()]


def product_call(torch, words, x):
    m, n, k = x["m"], x["n"], x["k"]
    if "wgrad_accumulate" in words:
        return None  # PyTorch has no product that adds to fp32
    wide = torch.bfloat16

    def operand(rows, columns):
        return torch.randn(rows, columns, device="cuda", dtype=wide)

    # y = x W^T, dx = dy W, dW = dy^T x: which operand lies transposed in memory.
    left_turned, right_turned = {
        "fprop": (False, True),
        "dgrad": (False, False),
        "wgrad": (True, False),
    }[words[1]]
    if "bf16" in words:
        a = operand(k, m).t() if left_turned else operand(m, k)
        b = operand(n, k).t() if right_turned else operand(k, n)
        out = torch.empty(m, n, device="cuda", dtype=wide)
        return "mm", (lambda: torch.mm(a, b, out=out)), 2 * (m * k + n * k + m * n), None
    if "fp8_tensor" in words:  # 8 bits: always a row-major, b column-major
        a = operand(m, k).to(torch.float8_e4m3fn)
        b = operand(n, k).to(torch.float8_e4m3fn).t()
        one = torch.ones((), device="cuda")
        call = lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=wide)
        return "_scaled_mm", call, m * k + n * k + 2 * m * n, None
    return None


def attention_call(torch, words, x):
    if words[1:] != ["forward", "bf16"] or x["dim_qk"] != x["dim_v"]:
        return None  # backward is timed within the step only
    functional = torch.nn.functional
    heads, groups = x["heads"], x["groups"]

    def operand(count, length):
        size = (x["sequences"], count, length, x["dim_qk"])
        return torch.randn(size, device="cuda", dtype=torch.bfloat16)

    q, k, v = operand(heads, x["queries"]), operand(groups, x["keys"]), operand(groups, x["keys"])
    if groups < heads:
        k = k.repeat_interleave(heads // groups, dim=1)
        v = v.repeat_interleave(heads // groups, dim=1)
    causal = x["causal"] != 0
    call = lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    moved = 2 * (2 * q.numel() + k.numel() + v.numel())
    return "scaled_dot_product_attention", call, moved, backend_of(torch, q, k, v, causal)


def adamw_call(torch, words, x):
    if "fp32" not in words:
        return None  # the fused optimizer writes no 16-bit copies
    parameter = torch.randn(x["elements"], device="cuda", requires_grad=True)
    parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW([parameter], lr=1e-7, fused=True, capturable=True)
    return "adamw", optimizer.step, ADAMW_BYTES * x["elements"], None


# Reads weight, gradient and two moments in fp32, writes all but the gradient: no 16-bit copies.
ADAMW_BYTES = 28
CALLS = {"gemm": product_call, "attention": attention_call, "adamw": adamw_call}


def time_call(torch, words, extents, arguments):
    """(call, us, backend), or nothing where PyTorch has no call for the case."""
    first = CALLS[words[0]](torch, words, extents)
    if first is None:
        return None
    name, call, moved, backend = first
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
    sets = [call]
    while len(sets) * moved < 4 * cache and len(sets) < 64:
        sets.append(CALLS[words[0]](torch, words, extents)[1])
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for one in sets:  # loads every kernel before the capture
            one()
    stream.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    single = max(begin.elapsed_time(end) * 1e-3, 1e-6)
    calls = min(max(len(sets), int(REPLAY / single)), 2000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            sets[i % len(sets)]()
    times = time_step(torch, graph.replay, min(arguments.warm_up, 0.5), 0.2)
    return name, statistics.median(times) / calls, backend


def measure_case(torch, case, words, extents, arguments):
    timed = time_call(torch, words, extents, arguments)
    if timed is None:
        return None
    name, us, backend = timed
    return {
        "schema": KERNEL_SCHEMA,
        "case": case,
        "call": name,
        "us": us,
        "bytes": ADAMW_BYTES * extents["elements"] if name == "adamw" else None,
        "sdpa_backend": backend,
        "versions": versions(torch),
    }


def versions(torch):
    return {
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "device": torch.cuda.get_device_name(),
    }


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
    shape = read_shape(text)
    step = make_step(torch, shape, mode == "compiled")
    times = time_step(torch, step, arguments.warm_up, arguments.loop)
    return {
        "schema": SCHEMA,
        "shape": text,
        "mode": mode,
        "median_us": statistics.median(times),
        "p10_us": quantile(times, 0.1),
        "p90_us": quantile(times, 0.9),
        "count": len(times),
        "sdpa_backend": backend_of_shape(torch, shape),
        "ledger_us": ledger_of(torch, step),
        "versions": versions(torch),
    }


def write_atomically(path, results):
    part = path + ".part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shape", action="append", help="time this one; may be given again")
    parser.add_argument("--mode", choices=("eager", "compiled", "both"), default="both")
    parser.add_argument("--warm-up", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--loop", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--cases", metavar="FILE", help="time PyTorch's calls for its cases too")
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
    cases = []
    if arguments.cases:
        with open(arguments.cases, encoding="utf-8") as file:
            cases = read_cases(file.read())
    modes = ("eager", "compiled") if arguments.mode == "both" else (arguments.mode,)
    results = []

    def keep(what, work):
        try:
            try:
                result = work()
            finally:
                torch.cuda.empty_cache()
            if result is not None:
                results.append(result)
        except Exception as problem:  # no compiler, or not enough memory: the rest counts
            print(f"torch_step: {what}: {problem}", file=sys.stderr)
        if arguments.output:  # after each, so that what is done outlives an interruption
            write_atomically(arguments.output, results)

    def keep_steps(mode):
        for text in shapes if mode in modes else ():
            keep(f"{mode} {text}", lambda: measure(torch, text, mode, arguments))

    keep_steps("eager")
    for case, words, extents in cases:
        keep(case, lambda: measure_case(torch, case, words, extents, arguments))
    keep_steps("compiled")
    if not arguments.output:
        json.dump(results, sys.stdout, indent=1)
        print()
    return 0 if results else EXIT_DEVICE


if __name__ == "__main__":
    sys.exit(main())
