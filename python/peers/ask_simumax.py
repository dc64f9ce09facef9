"""What does SimuMax say of a row?"""

import copy
import json
import math
import re
import sys

from .rows import (
    Answer,
    CannotSay,
    bits_of,
    data_sheet,
    gpu_of,
    is_nvl72,
    micro_batches,
    quantity,
)


def simumax_system(row, template):
    """The system file that its docs/system.md says to write: its template, with our data sheet."""
    sheet, hardware = data_sheet(row), row["hardware"]
    if "nvlink" not in sheet and hardware["count"] > 1:
        raise CannotSay("GPUs that are linked as a mesh")
    system = copy.deepcopy(template)
    per_node = 72 if is_nvl72(row) else hardware["gpus_per_node"]
    system["num_per_node"] = per_node
    kind = "bf16" if "bf16" in sheet["gemm"] else "fp16"
    default = system["accelerator"]["op"]["default"]
    default["tflops"] = quantity(sheet["gemm"][kind]["peak"]["value"]) / 1e12
    ops = system["accelerator"]["op"]
    for name in ("matmul", "group_matmul", "sdp_fwd", "sdp_bwd"):
        ops[name] = dict(default)
    if "fp8" in sheet["gemm"]:
        fp8 = dict(default, tflops=quantity(sheet["gemm"]["fp8"]["peak"]["value"]) / 1e12)
        ops["fp8_matmul"] = ops["fp8_group_matmul"] = fp8
    memory = system["accelerator"]["bandwidth"]["default"]
    memory["gbps"] = quantity(sheet["hbm_bandwidth"]["value"]) / 1e9
    if "nvlink" in sheet:
        link = quantity(sheet["nvlink"]["bandwidth"]["value"]) / 1e9
        for net in ("low_intra_node", "high_intra_node"):
            system["networks"][net]["bandwidth"]["gbps"] = link
    if hardware["count"] > per_node:
        gbit = hardware["gbit_per_gpu"]
        if not gbit:
            raise CannotSay("the row does not state the network, and no system file is shipped")
        system["networks"]["inter_node"]["bandwidth"]["gbps"] = gbit / 8 * per_node
    return system


def simumax_model(row, stretches):
    m = row["model"]
    config = {
        "model_name": "row",
        "model_type": "moe" if m.get("moe") else "dense",
        "hidden_size": m["hidden"],
        "head_num": m["heads"],
        "kv_head_num": m["kv_heads"],
        "head_size": m.get("head_dim") or m["hidden"] // m["heads"],
        "intermediate_size": m["ffn_hidden"],
        "layer_num": m["layers"],
        "vocab_size": m["vocab"],
        "use_swiglu": m["gated"],
    }
    if moe := m.get("moe"):
        config["expert_num"] = moe["experts"]
        config["topk"] = moe["topk"]
        config["moe_ffn_hidden_size"] = moe["expert_ffn"]
        config["dense_layers"] = moe.get("dense_layers", 0)
        if moe.get("shared_expert_ffn"):
            config["moe_shared_expert_intermediate_size"] = moe["shared_expert_ffn"]
    if mla := m.get("mla"):
        config |= {
            "attention_type": "mla",
            "v_head_dim": mla["v_head_dim"],
            "qk_head_dim": mla["qk_nope_head_dim"],
            "qk_pos_emb_head_dim": mla["qk_rope_head_dim"],
            "q_lora_rank": mla.get("q_lora_rank"),
            "kv_lora_rank": mla["kv_lora_rank"],
        }
    if m.get("mtp_layers"):
        stretches.append("multi-token prediction left out")
    return config


def simumax_stages(row, stretches):
    """Interleaving, and stages that do not all hold the same number of layers."""
    layers, pp, keys = row["model"]["layers"], row["layout"]["pp"], {}
    if row["layout"]["vpp"] > 1:
        if pp < 3:
            raise CannotSay("interleaving on two stages")
        stretches.append("interleaving with sends that do not overlap, its preview")
        keys["pp_comm_async"] = False
    if layers % pp == 0:
        return keys
    stretches.append("uneven stages: our guess at the layers of the first and the last")
    if (layers + 2) % pp == 0:  # embedding and loss count as a layer each
        return keys | {
            "account_for_embedding_in_pipeline_split": True,
            "account_for_loss_in_pipeline_split": True,
        }
    return keys | {"num_layers_in_last_pipeline_stage": layers - math.ceil(layers / pp) * (pp - 1)}


def simumax_strategy(row, stretches):
    m, lay, recompute = row["model"], row["layout"], row["recompute"]
    strategy = {
        "seq_len": m["seq_len"],
        "micro_batch_size": row["batch"]["micro"],
        "micro_batch_num": micro_batches(row),
        "dtype": "bf16",
        "fp8": bits_of(row) == 8,
        "world_size": row["hardware"]["count"],
        "tp_size": lay["tp"],
        "cp_size": lay["cp"],
        "pp_size": lay["pp"],
        "ep_size": lay["ep"],
        "etp_size": lay.get("etp") or (lay["tp"] if m.get("moe") else 1),
        "enable_sequence_parallel": lay["sp"],
        "interleaving_size": lay["vpp"],
        "zero_state": 0 if lay["sharding"] == "none" else 1,
        "cross_entropy_loss_fusion": "fused cross entropy" in row["notes"],
        "enable_recompute": recompute != "none",
    }
    if lay["sharding"] in ("zero2", "zero3"):
        stretches.append("ZeRO-2, ZeRO-3 and FSDP taken as ZeRO-1")
    strategy |= simumax_stages(row, stretches)
    if lay["schedule"] == "interleaved_combined":
        stretches.append("merged forward and backward taken as interleaved 1F1B")
    if recompute == "full":
        strategy |= {"recompute_granularity": "full_block", "recompute_layer_num": m["layers"]}
    elif recompute == "selective":
        if row["stack"].startswith("torchtitan"):
            raise CannotSay("recomputation chosen by operation")
        strategy |= {"recompute_granularity": "sdp_only", "recompute_layer_num": m["layers"]}
    elif recompute != "none":
        strategy |= {
            "recompute_granularity": "selective_recompute",
            "recompute_layer_num": m["layers"],
            "megatron_recompute": True,
            "megatron_recompute_modules": recompute.split(", "),
        }
    return strategy


def asker(folder):
    sys.path.insert(0, str(folder))
    from simumax.core.config import ModelConfig, StrategyConfig, SystemConfig
    from simumax.core.perf_llm import PerfLLM

    blocks = re.findall(r"```json\n(.*?)```", (folder / "docs/system.md").read_text(), re.DOTALL)
    template = next(json.loads(b) for b in blocks if '"sys_name"' in b)
    shipped = {"b200-sxm": "b200_bf16_ceperm", "a100-pcie-80gb": "a100_pcie"}

    def forecast(row):
        stretches, name = [], shipped.get(gpu_of(row))
        if bits_of(row) == 4:
            raise CannotSay("FP4")
        if name and bits_of(row) == 16:
            system = json.loads((folder / f"configs/system/{name}.json").read_text())
        else:
            system = simumax_system(row, template)
            stretches.append("a system file from its template and a data sheet")
        peer = PerfLLM()
        peer.configure(
            strategy_config=StrategyConfig.init_from_dict(simumax_strategy(row, stretches)),
            model_config=ModelConfig.init_from_dict(simumax_model(row, stretches)),
            system_config=SystemConfig.init_from_dict(system),
        )
        peer.run_estimate()
        rate = peer.analysis_cost().data["throughput_per_accelerator"]  # tokens/s
        tokens = row["batch"]["global"] * row["model"]["seq_len"]
        return Answer(tokens / (rate * row["hardware"]["count"]), stretches)

    return forecast
