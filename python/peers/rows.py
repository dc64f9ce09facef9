"""What do the measured rows say, in words that every estimator asks for?"""

import dataclasses
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = {
    "fitted": ROOT / "scenarios/published/measured_runs.yaml",
    "fresh": ROOT / "scenarios/published/fresh/measured_runs.yaml",
    "third": ROOT / "scenarios/published/third/measured_runs.yaml",
}
DEGREES = {
    "tp": "tensor",
    "cp": "context",
    "pp": "pipeline",
    "vpp": "virtual_stages",
    "ep": "expert",
}
DIMENSIONS = {
    "layers": "num_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_query_groups",
    "head_dim": "head_dim",
    "ffn_hidden": "ffn_hidden_size",
    "vocab": "vocab_size",
    "seq_len": "sequence_length",
    "mtp_layers": "mtp",
}
FEWEST = 10  # rows that a group needs for a verdict


class CannotSay(Exception):
    """The peer has no words for this row."""


@dataclasses.dataclass
class Answer:
    seconds: float
    stretches: list  # what of the row was bent so that the peer could take it; empty: nothing


def row_of(entry):
    """An entry of measured-runs/2 in flat words."""
    scenario, said = entry["scenario"], entry.get("as_stated", {})
    model, layout, cluster = scenario["model"], scenario["layout"], scenario["cluster"]
    precision, recompute = scenario["precision"], scenario["recompute"]
    count = cluster["nodes"] * cluster["gpus_per_node"]
    split = {key: layout.get(name, 1) for key, name in DEGREES.items()}
    return {
        "id": entry["id"],
        "stack": entry["group"],
        "model": {
            "kv_heads": model["num_attention_heads"],
            "ffn_hidden": model.get("moe", {}).get("ffn_hidden_size"),
        }
        | {key: model[name] for key, name in DIMENSIONS.items() if name in model}
        | {"gated": model.get("activation", "swiglu") == "swiglu", "moe": moe_of(model)}
        | {"mla": model.get("mla")},
        "hardware": {
            "gpu": cluster["gpu"],
            "count": count,
            "gpus_per_node": cluster["gpus_per_node"],
            "network": said.get("network", ""),
            "gbit_per_gpu": None
            if "cluster.network.nic_rate" in entry.get("assumed", [])
            else gbit_per_gpu(cluster),
        },
        "layout": split
        | {
            "dp": count // (split["tp"] * split["cp"] * split["pp"]),
            "sp": layout.get("sequence_parallel", False),
            "etp": layout.get("expert_tensor"),
            "schedule": layout.get("schedule", "none"),
            "sharding": layout.get("sharding", "none").replace("hsdp", "zero3"),
            "shard_group": layout.get("shard_group"),
        },
        "batch": scenario["batch"],
        "precision": precision["compute"] if isinstance(precision, dict) else precision,
        "recompute": ", ".join(recompute["modules"]) if isinstance(recompute, dict) else recompute,
        "overlap": said.get("overlap", ""),
        "notes": said.get("notes", ""),
        "seconds": float(entry["measured"]["step_time"].removesuffix("s")),
    }


def moe_of(model):
    moe = model.get("moe")
    return moe and {
        "experts": moe["num_experts"],
        "topk": moe["top_k"],
        "expert_ffn": moe["ffn_hidden_size"],
        "shared_expert_ffn": moe.get("shared", 0) * moe["ffn_hidden_size"],
        "dense_layers": moe.get("dense_layers", 0),
    }


def gbit_per_gpu(cluster):
    network = cluster.get("network")
    if not network:
        return None
    return (
        float(network["nic_rate"].removesuffix("Gbps"))
        * network["nics_per_node"]
        / cluster["gpus_per_node"]
    )


def rows_of(path):
    return [row_of(entry) for entry in yaml.safe_load(path.read_text())["runs"]]


def gpu_of(row):
    return row["hardware"]["gpu"]


def bits_of(row):
    precision = row["precision"]
    return 4 if precision == "nvfp4" else 8 if "fp8" in precision else 16


def is_nvl72(row):
    return "NVL72" in row["hardware"]["network"]


def micro_batches(row):
    count = row["batch"]["global"] / (row["layout"]["dp"] * row["batch"]["micro"])
    if count != int(count):
        raise CannotSay("the batch is no whole number of micro-batches")
    return int(count)


def quantity(value):
    """'2250TFLOP/s' of a profile as a number in FLOP/s or byte/s."""
    number, prefix = re.fullmatch(r"([0-9.]+)([TGP]?)(?:FLOP|B)/s", value).groups()
    return float(number) * {"": 1, "G": 1e9, "T": 1e12, "P": 1e15}[prefix]


def data_sheet(row, cache={}):
    gpu = gpu_of(row)
    if gpu not in cache:
        text = (ROOT / f"scenarios/profiles/gpu/{gpu}.yaml").read_text()
        cache[gpu] = yaml.safe_load(text)
    return cache[gpu]


def peak(row):
    """Dense peak in FLOP/s of the precision that the products of the row have."""
    gemm = data_sheet(row)["gemm"]
    kind = {16: "fp16" if row["precision"] == "fp16" else "bf16", 8: "fp8", 4: "fp4"}[bits_of(row)]
    return quantity(gemm.get(kind, gemm.get("fp16"))["peak"]["value"])


def source_of(row):
    return row["id"].split("-")[0]


def kind_of(row):
    if row["model"].get("moe"):
        return "mixture of experts"
    return {16: "dense, 16 bits", 8: "dense, FP8", 4: "dense, FP4"}[bits_of(row)]
