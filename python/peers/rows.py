"""What do the measured rows say, in words that every estimator asks for?"""

import dataclasses
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = {
    "fitted": ROOT / "scenarios/published/measured_runs.yaml",
    "fresh": ROOT / "scenarios/published/fresh/measured_runs.yaml",
}
PROFILES = {  # the GPU as the rows name it: our data sheet of it
    "A100-80GB": "a100-sxm-80gb",
    "A100-40GB": "a100-sxm-40gb",
    "A100-80GB PCIe": "a100-pcie-80gb",
    "H100-80GB": "h100-sxm-80gb",
    "H100-96GB": "h100-sxm-96gb-500w",
    "H200": "h200-sxm",
    "B200": "b200-sxm",
    "B300": "b300-sxm",
    "GB200": "gb200",
    "GB300": "gb300",
    "Gaudi 2": "gaudi2",
    "MI300X": "mi300x",
    "V100-32GB": "v100-sxm-32gb",
    "RTX 4090": "rtx-4090",
}
FEWEST = 10  # rows that a group needs for a verdict


class CannotSay(Exception):
    """The peer has no words for this row."""


@dataclasses.dataclass
class Answer:
    seconds: float
    stretches: list  # what of the row was bent so that the peer could take it; empty: nothing


def gpu_of(row):
    return row["hardware"]["gpu"].split(" HBM")[0]


def bits_of(row):
    precision = row["precision"]
    return 4 if precision == "nvfp4" else 8 if "fp8" in precision else 16


def is_nvl72(row):
    return "NVL72" in (row["hardware"].get("inter_node") or "")


def micro_batches(row):
    count = row["batch"]["global_sequences"] / (row["layout"]["dp"] * row["batch"]["micro"])
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
        text = (ROOT / f"scenarios/profiles/gpu/{PROFILES[gpu]}.yaml").read_text()
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
