"""What does Calculon say of a row?"""

import json
import logging
import re
import sys

from .rows import Answer, CannotSay, bits_of, gpu_of, micro_batches


def states(row, pattern):
    """Whether the row says that its software overlaps this."""
    return bool(re.search(rf"(?<!no )({pattern})", row["overlap"]))


def calculon_execution(row, stretches):
    lay, batch = row["layout"], row["batch"]
    tp, pp, dp = lay["tp"], lay["pp"], lay["dp"]
    if row["recompute"] not in ("none", "full", "selective"):
        raise CannotSay("recomputation of these modules")
    if row["stack"].startswith("torchtitan") and row["recompute"] == "selective":
        raise CannotSay("recomputation chosen by operation")
    if lay["sharding"] in ("zero2", "zero3") and dp > 1:
        stretches.append("ZeRO-2, ZeRO-3 and FSDP taken as ZeRO-1")
    recompute = {"selective": "attn_only"}.get(row["recompute"], row["recompute"])
    return {
        "num_procs": tp * pp * dp,
        "tensor_par": tp,
        "pipeline_par": pp,
        "data_par": dp,
        "tensor_par_net": 0 if tp <= 8 else 1,
        "pipeline_par_net": 0 if tp * pp * dp <= 8 else 1,
        "data_par_net": 0 if tp * dp <= 8 else 1,
        "batch_size": batch["global"],
        "microbatch_size": batch["micro"],
        "datatype": "float8" if bits_of(row) == 8 else "float16",
        # its validation files of Megatron's runs of 2021 and 2022 say false, its examples true
        "fused_activation": not row["stack"].startswith(("megatron-lm", "megatron-deepspeed")),
        "attention_type": "multihead",
        "activation_recompute": recompute,
        "pipeline_interleaving": lay["vpp"],
        "optimizer_sharding": lay["sharding"] != "none" and dp > 1,
        "tensor_par_comm_type": "rs_ag" if lay["sp"] and tp > 1 else "ar",
        "tensor_par_overlap": (
            "ring" if tp > 1 and states(row, "TP userbuffers|TP comm overlap|async TP") else "none"
        ),
        "seq_par_ag_redo": lay["sp"] and tp > 1 and recompute != "full",
        "data_par_overlap": dp > 1
        and states(row, "DP overlap|overlap_sync_grad true|FSDP2? prefetch"),
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }


def asker(folder):
    sys.path.insert(0, str(folder))
    from calculon import System
    from calculon.llm import Llm

    def system(name):
        text = json.loads((folder / "systems" / name).read_text())
        text["mem1"]["GiB"] = 1e6  # the run did fit: judge the time even where it says otherwise
        return System(text)

    a100, h100 = system("a100_80g.json"), system("h100_80g_nvl8.json")
    systems = {"a100-sxm-80gb": a100, "a100-sxm-40gb": a100, "h100-sxm-80gb": h100}

    def forecast(row):
        m, stretches = row["model"], []
        if gpu_of(row) not in systems:
            raise CannotSay("no system file of this GPU")
        if bits_of(row) == 4:
            raise CannotSay("FP4")
        if m.get("moe"):
            raise CannotSay("mixtures of experts")
        if row["layout"]["cp"] > 1:
            raise CannotSay("context parallelism")
        if gpu_of(row) == "a100-sxm-40gb":
            stretches.append("A100 40 GB taken as 80 GB")
        if m["gated"]:
            stretches.append("a gated MLP taken as an ungated one 1.5 times as wide")
        if m["kv_heads"] != m["heads"]:
            stretches.append("grouped-query attention taken as multi-head")
        micro_batches(row)
        run = Llm.Execution.from_json(calculon_execution(row, stretches))
        application = Llm.Application(
            {
                "hidden": m["hidden"],
                "feedforward": m["ffn_hidden"] * 3 // 2 if m["gated"] else m["ffn_hidden"],
                "seq_size": m["seq_len"],
                "attn_heads": m["heads"],
                "attn_size": m.get("head_dim") or m["hidden"] // m["heads"],
                "num_blocks": m["layers"],
            }
        )
        peer = Llm(application, logging.getLogger("calculon"))
        peer.compile(systems[gpu_of(row)], run)
        peer.run(systems[gpu_of(row)])
        return Answer(peer.get_stats_json(False)["total_time"], stretches)

    return forecast
