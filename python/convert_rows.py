"""Writes published step times of the older form, measured-runs/1, as measured-runs/2.

In measured-runs/2 a measured run is a scenario: every switch of a row becomes a key of orrery/1.
Switches that the source states are written also where they are the default, so that a row that says
"no overlap" keeps saying it. What the source says in prose moves unchanged to `as_stated`, which no
program reads; keys that the source leaves open are listed in `assumed`.

What a word means stands in the tables below; the functions only apply them.
"""

import argparse
import pathlib
import re
import sys

import yaml

SOFTWARE = pathlib.Path(__file__).resolve().parents[1] / "scenarios/profiles/software"

# --- Copied as they are: path in the row -> path in the scenario ------------------------------------

COPIED = {
    "model.name": "model.name",
    "model.layers": "model.num_layers",
    "model.hidden": "model.hidden_size",
    "model.heads": "model.num_attention_heads",
    "model.kv_heads": "model.num_query_groups",
    "model.head_dim": "model.head_dim",
    "model.ffn_hidden": "model.ffn_hidden_size",
    "model.vocab": "model.vocab_size",
    "model.seq_len": "model.sequence_length",
    "model.mtp_layers": "model.mtp",
    "model.moe.experts": "model.moe.num_experts",
    "model.moe.topk": "model.moe.top_k",
    "model.moe.expert_ffn": "model.moe.ffn_hidden_size",
    "model.moe.dense_layers": "model.moe.dense_layers",
    "model.mla.q_lora": "model.mla.q_lora_rank",
    "model.mla.kv_lora": "model.mla.kv_lora_rank",
    "model.mla.qk_head": "model.mla.qk_nope_head_dim",
    "model.mla.qk_rope": "model.mla.qk_rope_head_dim",
    "model.mla.v_head": "model.mla.v_head_dim",
    "layout.tp": "layout.tensor",
    "layout.sp": "layout.sequence_parallel",
    "layout.cp": "layout.context",
    "layout.pp": "layout.pipeline",
    "layout.vpp": "layout.virtual_stages",
    "layout.ep": "layout.expert",
    "layout.etp": "layout.expert_tensor",
    "layout.sharding": "layout.sharding",
    "layout.shard_group": "layout.shard_group",
    "batch.global_sequences": "batch.global",
    "batch.micro": "batch.micro",
    "software_options.expert_dispatcher": "software_options.expert_dispatcher",
    "software_options.grouped_gemm": "software_options.grouped_gemm",
    "software_options.cuda_graphs": "software_options.cuda_graphs",
    "software_options.attention_fp8": "software_options.attention_fp8",
}

# --- A word of one field -> keys of the scenario ---------------------------------------------------

WORDS = {
    "hardware.gpu": {
        "A100-40GB": {"cluster.gpu": "a100-sxm-40gb"},
        "A100-80GB": {"cluster.gpu": "a100-sxm-80gb"},
        "A100-80GB PCIe": {"cluster.gpu": "a100-pcie-80gb"},
        "A800": {"cluster.gpu": "a800-sxm-80gb"},
        "B200": {"cluster.gpu": "b200-sxm"},
        "B300": {"cluster.gpu": "b300-sxm"},
        "GB200": {"cluster.gpu": "gb200"},
        "GB300": {"cluster.gpu": "gb300"},
        "GH200": {"cluster.gpu": "gh200"},
        "Gaudi 2": {"cluster.gpu": "gaudi2"},
        "Gaudi2": {"cluster.gpu": "gaudi2"},
        "H100-80GB": {"cluster.gpu": "h100-sxm-80gb"},
        "H100-96GB HBM2e 2.4 TB/s (500 W cap)": {"cluster.gpu": "h100-sxm-96gb-500w"},
        "H200": {"cluster.gpu": "h200-sxm"},
        "H800": {"cluster.gpu": "h800-sxm"},
        "MI300X": {"cluster.gpu": "mi300x"},
        "MI325X": {"cluster.gpu": "mi325x"},
        "MI350X": {"cluster.gpu": "mi355x"},  # no profile of its own
        "MI355X": {"cluster.gpu": "mi355x"},
        "RTX 4090": {"cluster.gpu": "rtx-4090"},
        "V100-32GB": {"cluster.gpu": "v100-sxm-32gb"},
    },
    "precision": {
        "bf16": {"precision.compute": "bf16"},
        "fp16": {"precision.compute": "fp16", "precision.gradient_dtype": "fp16"},
        "fp8": {"precision.compute": "fp8-delayed"},
        "fp8-delayed": {"precision.compute": "fp8-delayed"},
        "fp8-tensorwise": {"precision.compute": "fp8-tensorwise"},
        "fp8-rowwise": {"precision.compute": "fp8-rowwise"},
        "fp8-blockwise": {"precision.compute": "fp8-block"},
        "mxfp8": {"precision.compute": "mxfp8"},
        "fp8-mxfp8": {"precision.compute": "mxfp8"},
        "nvfp4": {"precision.compute": "nvfp4"},
    },
    # Of Composer: PURE reduces gradients in 16 bits, DEFAULT in 32.
    "layout.fsdp_mixed_precision": {
        "PURE": {"precision.gradient_dtype": "bf16"},
        "DEFAULT": {"precision.gradient_dtype": "fp32"},
    },
    "layout.schedule": {
        "none": {},
        "1f1b": {"layout.schedule": "1f1b"},
        "interleaved": {"layout.schedule": "interleaved"},
        "interleaved_combined": {"layout.schedule": "interleaved_combined"},
        "dualpipev": {"layout.schedule": "dualpipev"},
    },
    "software_options.token_drop": {True: {"model.moe.capacity": 1.0},
                                    False: {"model.moe.capacity": 0}},
    "software_options.routing": {"natural": {}, "balanced": {}},  # see ROUTERS
    "software_options.expert_overlap": {True: {"overlap.expert": True},
                                        False: {"overlap.expert": False}},
}

# The profile of a stack that has none of its own name; `generic` stands for those in neither.
STACKS = {
    "automodel": "automodel-fsdp2",
    "bridge": "megatron-bridge",
    "megatron-deepspeed-vtrain-multi": "megatron-deepspeed-vtrain",
    "megatron-deepspeed-vtrain-single": "megatron-deepspeed-vtrain",
    "mt-nlg": "megatron-deepspeed",
    "deepspeed": "megatron-deepspeed",
    "megascale": "megatron-core",
    "megatron": "megatron-core",
    "llm-foundry": "llm-foundry-fsdp",
    "torchtitan": "torchtitan-fsdp2",
    "meta-llama": "meta-llama3",
    "metaseq": "metaseq-fsdp",
    "pytorch": "pytorch-ddp",
}

# Words of a row that name a stack more closely: field, phrase, stack of the row, profile.
CLOSER_STACKS = [
    ("source", "-megatron-deepspeed/README", "megatron-deepspeed", "megatron-deepspeed-fa2"),
    ("source", "FlagOpen/FlagPerf", "megatron-core", "megatron-core-fa2"),
    ("source", "PaddleNLP", "generic", "paddlenlp"),
    ("source", "MaxText", "generic", "maxtext"),
    ("source", "Gaudi", "generic", "habana-megatron-deepspeed"),
    ("source", "ROCm/TransformerEngine", "pytorch-ddp", "pytorch-te"),
    ("precision_as_stated", "TransformerEngine", "pytorch-ddp", "pytorch-te"),
]

# Who ran it, where that is none of the stack's own benchmarks: words of the source, stack, context.
CONTEXTS = [
    ("InternLM/xtuner", "megatron-core", "scripts"),
    ("nanoGPT", "pytorch-ddp", "nanogpt"),
]

# Stacks whose recipes keep parameters in 8 bits, from which release on, and models where they do not.
EIGHT_BIT = {"nemo": "", "megatron-bridge": "", "nemo-mlperf": "v4.0"}
EIGHT_BIT_TYPES = ("fp8-delayed", "fp8-tensorwise", "mxfp8")
SIXTEEN_BIT_MODELS = ("Grok",)

# Share of the variance of the router's logits that all tokens have in common, where a row says that
# tokens go where the router sends them, by the beginning of the model's name: by the balancing rule of
# its public configuration, in the first hundred steps from scratch (docs/model.md, experts).
ROUTERS = {"Mixtral": 0.02, "DeepSeek": 0.03, "Kimi": 0.03, "GPT-OSS": 0.9, "": 0.1}
FINE_TUNED = 0.12  # from a checkpoint, whatever the rule

# Words in the source of a row that name the stack's release of 2025, where it has a profile.
RELEASES = ("2025-06", "202506")

# Where a source names the release that it measured, of stacks whose recipes tell releases apart.
NAMED_RELEASES = {
    "megatron-bridge": r"NeMo container (\d\d\.\d\d(?:\.\d\d)?)",
    "nemo": r"NeMo Framework (\d\d\.\d\d)|tag v(\d\d\.\d\d(?:\.\d\d)?)",
    "nemo-mlperf": r"training_results_(v\d\.\d)",
}

# --- A phrase in a text -> keys; what an earlier line has set stays ---------------------------------

NO_OVERLAP = {"overlap.data": False, "overlap.tensor": False, "overlap.pipeline": False}

PHRASES = [
    ("overlap_as_stated", "all overlaps disabled", NO_OVERLAP),
    ("overlap_as_stated", "gradient buckets off", {"overlap.data": False}),
    ("overlap_as_stated", "no DP overlap", {"overlap.data": False}),
    ("overlap_as_stated", "DP overlap", {"overlap.data": True}),
    ("overlap_as_stated", "overlap_sync_grad true", {"overlap.data": True}),
    ("overlap_as_stated", "no TP userbuffers overlap", {"overlap.tensor": False}),
    ("overlap_as_stated", "TP userbuffers overlap", {"overlap.tensor": True}),
    ("overlap_as_stated", "TP comm overlap", {"overlap.tensor": True}),
    ("overlap_as_stated", "async TP", {"overlap.tensor": True}),
    ("overlap_as_stated", "vanilla TP", {"overlap.tensor": False}),
    ("overlap_as_stated", "PP P2P overlap", {"overlap.pipeline": True}),
    ("overlap_as_stated", "torch.compile", {"compile": True}),
    ("overlap_as_stated", "eager", {"compile": False}),
    ("source", "llm.c", {"compile": True}),  # kernels fused by hand
    ("overlap_as_stated", "all-to-all dispatch", {"software_options.expert_dispatcher": "alltoall"}),
    ("overlap_as_stated", "DeepEP dispatch", {"software_options.expert_dispatcher": "deepep"}),
    ("overlap_as_stated", "HybridEP dispatch", {"software_options.expert_dispatcher": "hybridep"}),
    ("precision_as_stated", "fp8 FSDP all-gather", {"precision.parameters": "fp8"}),
    ("hardware.inter_node", "4 x 100 Gb/s", {"cluster.network.nics_per_node": 4}),
    ("hardware.inter_node", "4 Omni-Path links", {"cluster.network.nics_per_node": 4}),
    ("model.position", "alibi", {"model.position": "alibi"}),
    ("notes", "deterministic mode", {"precision.deterministic": True}),
    ("notes", "dropout 0.1", {"software_options.dropout": True}),
    ("notes", "no gradient-accumulation fusion", {"software_options.gradient_fusion": False}),
]

MOE_PHRASES = [
    ("notes", "capacity factor 1.0", {"model.moe.capacity": 1.0}),
    ("overlap_as_stated", "MoE all-to-all overlap", {"overlap.expert": True}),
]

GRAPH_SCOPES = ["attn", "mlp", "moe_router", "moe_preprocess", "layer", "full_iteration"]
USUAL_GRAPHS = ["attn", "moe_router", "moe_preprocess"]  # of Megatron Bridge

# --- What dimensions leave open, by the beginning of the model's name ------------------------------

GPT = {"model.activation": "gelu", "model.norm": "layer_norm", "model.position": "learned",
       "model.tie_embeddings": True}
BIASED = {"model.linear_bias": True}

FAMILIES = {
    "GPT-OSS": BIASED | {"model.attention_window": {"size": 128, "full_every": 2}},
    "GPT": GPT | BIASED,
    "MT-NLG": GPT | BIASED,
    "MPT": GPT,
    "OPT": GPT | BIASED | {"model.activation": "relu"},
    "BLOOM": GPT | BIASED | {"model.position": "alibi", "model.embedding_norm": True},
    "Nemotron": {"model.activation": "squared_relu", "model.norm": "layer_norm"},
    "Qwen3": {},
    "Qwen": {"model.qkv_bias": True},
    "": {},  # as Llama, the default of a scenario
}

# --- Rows that leave a number open, with the one that was assumed ------------------------------------

ASSUMED = {
    **{f"llama3-t4-{run}": {"layout.virtual_stages": 8}
       for run in ("g8192-s8192", "g16384-s8192", "g16384-s131072")},
    # As `orrery plan` chooses them for the degrees that are stated.
    **{f"megatron-core-r0.8-gpt-{run}": {"batch.micro": 4}
       for run in ("1.7B-h100-g48", "7.1B-h100-g96", "16B-h100-g192", "32B-h100-g384")},
    **{f"megatron-core-r0.8-gpt-{run}": {"layout.virtual_stages": chunks, "batch.micro": micro}
       for run, (chunks, micro) in {"70B-h100-g768": (7, 2), "119B-h100-g1536": (8, 1),
                                    "177B-h100-g2304": (8, 2), "314B-h100-g3072": (6, 1),
                                    "462B-h100-g6144": (7, 2)}.items()},
    **{f"nanotron-oldbench-1b-{run}": {"layout.sharding": "zero1"}
       for run in ("dp16", "dp2pp8", "pp16", "tp8")},
    # As stated, 64 x 4 ranks do not fit the tensor x context x data of 256 GPUs in 8 stages.
    "bridge-25.09-deepseek-v3-gb200-mxfp8-g256-drop": {
        "layout.expert": 32, "layout.expert_tensor": 1},
}
PADDED = {"internevo": 256}  # of which the inner width is a multiple
USUAL_RATE = 400  # Gbit/s of a GPU, where the network is not stated

# Words of the sources that only people read: path in the row -> path in `as_stated`.
PROSE = {
    "precision_as_stated": "precision",
    "recompute_as_stated": "recompute",
    "overlap_as_stated": "overlap",
    "hardware.inter_node": "network",
    "layout_note": "layout",
    "model.params": "parameters",
    "model.position": "position",
    "software_options.delayed_wgrad": "delayed_wgrad",
    "software_options.routing": "routing",
    "missing": "missing",
    "notes": "notes",
}

# Rows that differ in layout, micro-batch and recomputation alone were measured side by side.
QUESTION = ["stack", "model", "hardware", "precision", "software_options", "overlap_as_stated",
            "batch.global_sequences"]

# Peak memory as a source gives it: key -> (unit, what it counts).
PEAKS = {"peak_alloc_gib": ("GiB", "allocated"), "peak_memory_gib": ("GiB", "reserved"),
         "peak_memory": ("", "device")}

# A degree of one, a schedule of one stage and the like go without saying.
PLAIN = {"model.moe.dense_layers": 0, "model.tie_embeddings": False, "layout.tensor": 1,
         "layout.context": 1, "layout.pipeline": 1, "layout.virtual_stages": 1, "layout.expert": 1}

ORDER = ["model", "cluster", "layout", "batch", "precision", "recompute", "overlap", "compile",
         "software", "software_options"]


def get(row, path, default=None):
    for key in path.split("."):
        row = row.get(key) if isinstance(row, dict) else None
    return default if row is None else row


def nested(flat):
    """{"a.b": 1} -> {"a": {"b": 1}}"""
    tree = {}
    for path, value in flat.items():
        *parents, key = path.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[key] = value
    return tree


def round_up(value, step):
    return -(-value // step) * step


def take_words(row, keys):
    for source, target in COPIED.items():
        value = get(row, source)
        if value is not None:
            keys[target] = value
    for field, words in WORDS.items():
        word = get(row, field)
        if word in words:
            keys.update(words[word])
        elif word is not None:
            sys.exit(f"{row['id']}: {field}: unknown word `{word}`")


def take_phrases(row, keys, phrases):
    for field, phrase, found in phrases:
        if phrase in str(get(row, field, "")):
            for key, value in found.items():
                keys.setdefault(key, value)


def take_model(row, keys):
    name = row["model"]["name"]
    family = next(family for family in FAMILIES if name.startswith(family))
    if not family and not row["model"]["gated"]:
        family = "GPT"
    for key, value in FAMILIES[family].items():
        keys.setdefault(key, value)
    if row["model"]["gated"]:
        keys.pop("model.activation", None)
    tied = get(row, "model.tied_embeddings")
    if tied is not None:
        keys["model.tie_embeddings"] = tied
    shared = get(row, "model.moe.shared_expert_ffn")
    if shared:
        keys["model.moe.shared"] = shared // row["model"]["moe"]["expert_ffn"]
    # Stacks pad the inner width until the tensor ranks divide it.
    step = PADDED.get(row["stack"], keys["layout.tensor"])
    keys["model.ffn_hidden_size"] = round_up(keys["model.ffn_hidden_size"], step)


def take_cluster(row, keys):
    hardware = row["hardware"]
    count = hardware["count"]
    per_node = min(hardware["gpus_per_node"], count)
    keys["cluster.nodes"] = count // per_node
    keys["cluster.gpus_per_node"] = per_node
    nics = keys.pop("cluster.network.nics_per_node", per_node)
    if count == per_node:
        return
    rate = hardware.get("inter_node_gbit_per_s_per_gpu") or USUAL_RATE
    keys["cluster.network.nics_per_node"] = nics
    keys["cluster.network.nic_rate"] = f"{rate * per_node / nics:g}Gbps"
    if hardware["gpu"].startswith("GB"):
        keys["cluster.network.nvlink_domain"] = 72


def has_profile(software):
    return (SOFTWARE / f"{software}.yaml").exists()


def take_software(row, keys):
    """Whether the stack had to be guessed."""
    stack = row["stack"]
    known = stack if has_profile(stack) else STACKS.get(stack, "generic")
    for field, phrase, base, closer in CLOSER_STACKS:
        if known == base and phrase in str(row.get(field, "")):
            known = closer
    if known == "pytorch-te" and keys["cluster.gpu"].startswith("mi"):
        known = "pytorch-te-rocm"
    newer = f"{known}-2025"
    released = any(words in row["source"] for words in RELEASES)
    name = newer if released and has_profile(newer) else known
    told = {"release": release_of(row, name)}
    told["context"] = next((context for words, stack, context in CONTEXTS
                            if stack == name and words in row["source"]), None)
    told = {f"software.{key}": value for key, value in told.items() if value is not None}
    keys.update({"software.name": name} | told if told else {"software": name})
    return known == "generic" != stack


def take_parameters(row, keys):
    """A row of these stacks is a run of their recipe, which the source need not spell out."""
    name = keys.get("software.name", keys.get("software"))
    if (keys["precision.compute"] in EIGHT_BIT_TYPES and name in EIGHT_BIT
            and keys.get("software.release", "v9") >= EIGHT_BIT[name]
            and not row["model"]["name"].startswith(SIXTEEN_BIT_MODELS)):
        keys.setdefault("precision.parameters", "fp8")


def take_routing(row, keys):
    notes = str(row.get("notes", ""))
    natural = get(row, "software_options.routing") == "natural" or "natural routing" in notes
    if natural and get(row, "software_options.routing") != "balanced":
        name = row["model"]["name"]
        rule = next(skew for family, skew in ROUTERS.items() if name.startswith(family))
        keys["model.moe.router_skew"] = FINE_TUNED if "from a checkpoint" in notes else rule


def release_of(row, software):
    """As text, or None where the source does not name it or no recipe depends on it."""
    if software not in NAMED_RELEASES:
        return None
    stated = row.get("software_options", {}).get("release")
    named = re.search(NAMED_RELEASES[software], row["source"])
    return str(stated) if stated else next(filter(None, named.groups())) if named else None


def take_layout(row, keys):
    chunks, pipeline = keys.get("layout.virtual_stages", 1), keys["layout.pipeline"]
    if pipeline == 1:
        keys["layout.schedule"], keys["layout.virtual_stages"] = "none", 1
    elif chunks > 1 and keys.get("layout.schedule", "1f1b") == "1f1b":
        keys["layout.schedule"] = "interleaved"
    elif chunks == 1 and "layout.schedule" not in keys:
        keys["layout.schedule"] = "1f1b"
    if keys.get("overlap.expert") and keys["layout.schedule"] in ("none", "interleaved"):
        keys["layout.schedule"] = "interleaved_combined"  # Megatron-Core's 1F1B overlap
    replicas = row["hardware"]["count"] // (keys["layout.tensor"] * pipeline)
    if keys["layout.sharding"] == "none" or keys.get("layout.shard_group", replicas) >= replicas:
        keys.pop("layout.shard_group", None)
    elif keys["layout.sharding"] == "zero3":
        keys["layout.sharding"] = "hsdp"


def take_recompute(row, keys):
    words = [word.strip() for word in str(row.get("recompute", "none")).split(",")]
    plain = words[0] in ("none", "selective", "full")
    keys["recompute"] = words[0] if plain else {"modules": words}


def take_graphs(row, keys):
    _, found, rest = str(row.get("overlap_as_stated", "")).partition("CUDA graphs")
    if found and "software_options.cuda_graphs" not in keys:
        named = [scope for scope in GRAPH_SCOPES if scope in rest.partition(";")[0]]
        keys["software_options.cuda_graphs"] = named or USUAL_GRAPHS
    if "full_iteration" in keys.get("software_options.cuda_graphs", []) and "moe" in row["model"]:
        keys.setdefault("software_options.grouped_gemm", "fused")  # needs counts on the device


def idle_keys(row, keys):
    """Keys that say nothing on this layout."""
    if row["hardware"]["count"] == keys["layout.tensor"] * keys["layout.pipeline"]:
        yield "overlap.data"
    if keys["layout.tensor"] == 1:
        yield from ("layout.sequence_parallel", "overlap.tensor")
    if keys["layout.pipeline"] == 1 or keys["layout.schedule"] == "1f1b":
        yield "overlap.pipeline"
    if keys["layout.pipeline"] == 1 and keys["layout.schedule"] == "none":
        yield "layout.schedule"
    if "moe" not in row["model"]:
        yield from ("layout.expert", "layout.expert_tensor", "model.moe.router_skew",
                    "model.moe.capacity", "overlap.expert", "software_options.expert_dispatcher",
                    "software_options.grouped_gemm")
    else:
        if keys["layout.expert"] == 1:
            yield "model.moe.router_skew"
        if not keys.get("model.moe.dense_layers"):
            yield "model.ffn_hidden_size"
    if "mla" in row["model"]:
        yield "model.num_query_groups"
    yield from (key for key, value in PLAIN.items() if keys.get(key) == value)


def scenario_of(row):
    """(keys of the scenario by path, paths that the source left open)"""
    keys = {}
    take_words(row, keys)
    take_phrases(row, keys, PHRASES)
    if "moe" in row["model"]:
        take_phrases(row, keys, MOE_PHRASES)
        take_routing(row, keys)
    assumed = dict(ASSUMED.get(row["id"], {}))
    keys.update(assumed)
    if take_software(row, keys):
        assumed["software"] = True
    take_parameters(row, keys)
    take_model(row, keys)
    take_cluster(row, keys)
    take_layout(row, keys)
    take_recompute(row, keys)
    take_graphs(row, keys)
    if get(row, "model.tied_embeddings") is None:
        assumed["model.tie_embeddings"] = True
    if "cluster.network.nic_rate" in keys and not get(row, "hardware.inter_node_gbit_per_s_per_gpu"):
        assumed["cluster.network.nic_rate"] = True
    if not {"micro batch", "micro"}.isdisjoint(row.get("missing") or []):
        assumed["batch.micro"] = True
    for key in list(idle_keys(row, keys)):
        keys.pop(key, None)
    return keys, list(assumed)


def measured_of(row):
    measured = {"step_time": f"{row['measured']['step_time_s']!r}s"}
    for key, (unit, kind) in PEAKS.items():
        value = row["measured"].get(key)
        if value not in (None, "GB"):  # a cell of a table that held the unit alone
            measured["peak_memory"] = {"value": f"{value}{unit}", "kind": kind}
    return measured


def entry_of(row):
    keys, assumed = scenario_of(row)
    scenario = nested(keys)
    if "network" in scenario["cluster"]:
        scenario["cluster"]["network"] = scenario["cluster"].pop("network")  # reads better last
    if scenario["precision"].keys() == {"compute"}:
        scenario["precision"] = scenario["precision"]["compute"]
    entry = {"id": row["id"], "group": row["stack"], "source": row["source"],
             "confidence": row["confidence"],
             "scenario": {key: scenario[key] for key in ORDER if key in scenario},
             "measured": measured_of(row)}
    if assumed:
        entry["assumed"] = assumed
    prose = {to: get(row, path) for path, to in PROSE.items() if get(row, path) is not None}
    return entry | ({"as_stated": prose} if prose else {})


def comments_of(text):
    """The comment in front of a row, by its id."""
    comments, lines = {}, []
    for line in text.splitlines():
        if line.startswith("#"):
            lines.append(line)
            continue
        if line.startswith("- id: "):
            comments[line.removeprefix("- id: ").strip()] = lines
        lines = []
    return comments


def entries_of(rows):
    """The entries of one file; those measured side by side name the first of their group."""
    groups = {}
    for row in rows:
        groups.setdefault(repr([get(row, path) for path in QUESTION]), []).append(row["id"])
    first = {i: ids[0] for ids in groups.values() if len(ids) > 1 for i in ids}
    for row in rows:
        entry = entry_of(row)
        if row["id"] in first:
            entry["side_by_side"] = first[row["id"]]
        yield entry


def flow(value):
    """The value on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False,
                          allow_unicode=True).removesuffix("\n...\n").strip()


def text_of(entry, comment):
    lines = []
    for key, value in entry.items():
        if key == "scenario":
            lines += ["  scenario:"] + [f"    {part}: {flow(of)}" for part, of in value.items()]
        else:
            lines.append(f"  {key}: {flow(value)}")
    text = "\n".join(lines).replace("  ", "- ", 1)
    return "\n".join([*comment, text]) + "\n"


def convert(file):
    """(entry, the comment in front of it) of one file."""
    text = file.read_text()
    document = yaml.safe_load(text)
    form = document.get("format")
    if form != "measured-runs/1":
        sys.exit(f"{file}: format: `{form}` is not measured-runs/1")
    comments = comments_of(text)
    for entry in entries_of(document["runs"]):
        yield entry, comments.get(entry["id"], [])


def main():
    parser = argparse.ArgumentParser(prog="scripts/convert-rows", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", type=pathlib.Path)
    parser.add_argument("-o", "--output", metavar="OUT", type=pathlib.Path, required=True)
    parser.add_argument("--only", metavar="ID,ID", type=lambda text: text.split(","),
                        help="some rows by their ids")
    options = parser.parse_args()
    entries = [entry for file in options.files for entry in convert(file)]
    if options.only:
        entries = [(entry, comment) for entry, comment in entries if entry["id"] in options.only]
    options.output.write_text("format: measured-runs/2\nruns:\n"
                              + "".join(text_of(entry, comment) for entry, comment in entries))


if __name__ == "__main__":
    main()
