"""What does llm-analysis say of a row?"""

import logging
import sys

from .rows import Answer, CannotSay, bits_of, gpu_of, micro_batches


def asker(folder):
    sys.path.insert(0, str(folder))
    from llm_analysis import analysis, config

    analysis.logger.setLevel(logging.CRITICAL)
    files = {"a100-sxm-80gb", "a100-sxm-40gb", "a100-pcie-80gb", "h100-sxm-80gb", "v100-sxm-32gb"}
    levels = {"none": 0, "full": 4, "selective": 1}

    def forecast(row):
        m, lay = row["model"], row["layout"]
        moe = m.get("moe") or {}
        if gpu_of(row) not in files:
            raise CannotSay("no file of this GPU")
        if bits_of(row) != 16:
            raise CannotSay("FP8 and FP4")
        if m.get("mla") or moe.get("shared_expert_ffn") or moe.get("dense_layers"):
            raise CannotSay("shared experts, layers without experts, latent attention")
        if lay["cp"] > 1:
            raise CannotSay("context parallelism")
        if row["recompute"] not in levels:
            raise CannotSay("recomputation of these modules")
        if row["stack"].startswith("torchtitan") and row["recompute"] == "selective":
            raise CannotSay("recomputation chosen by operation")
        replicas = lay["dp"] // (lay.get("shard_group") or lay["dp"])
        model = config.ModelConfig(
            name="row",
            num_layers=m["layers"],
            n_head=m["heads"],
            hidden_dim=m["hidden"],
            vocab_size=m["vocab"],
            max_seq_len=m["seq_len"],
            num_key_value_heads=m["kv_heads"],
            ffn_embed_dim=moe.get("expert_ffn", m["ffn_hidden"]),
            moe_num_experts=moe.get("experts", 1),
            moe_top_k=moe.get("topk", 1),
            mlp_gated_linear_units=m["gated"],
        )
        parallelism = config.ParallelismConfig(
            tp_size=lay["tp"],
            pp_size=lay["pp"],
            dp_size=lay["dp"] // replicas,
            rdp_size=replicas,
            ep_size=lay["ep"],
            sp_size=lay["tp"] if lay["sp"] else 1,
        )
        peer = analysis.LLMAnalysis(
            model,
            config.gpu_configs[gpu_of(row)],
            config.dtype_configs["w16a16e16"],
            parallelism,
            flops_efficiency=0.5,  # what its README advises where nothing was measured
            hbm_memory_efficiency=0.9,
        )
        summary = peer.training(
            batch_size_per_gpu=row["batch"]["micro"],
            gradient_accumulation_steps=micro_batches(row),
            global_batch_size=row["batch"]["global"],
            seq_len=m["seq_len"],
            activation_recomputation=analysis.ActivationRecomputation(levels[row["recompute"]]),
            ds_zero=analysis.DSZeRO(int(lay["sharding"].replace("none", "zero0")[-1])),
        )
        return Answer(summary["latency_per_iter"], [])

    return forecast
