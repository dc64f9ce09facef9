"""How far does one get without a simulator? Two rules of thumb on the MFU."""

import statistics

from .rows import Answer, CannotSay, bits_of, gpu_of, kind_of, peak, source_of


def model_flops(row):
    """FLOP of one step without recomputation: 6 per weight and token, and causal attention."""
    m = row["model"]
    hidden, heads, seq = m["hidden"], m["heads"], m["seq_len"]
    if mla := m.get("mla"):
        key = mla["qk_nope_head_dim"] + mla["qk_rope_head_dim"]
        query = mla.get("q_lora_rank")
        attention = query * (hidden + heads * key) if query else hidden * heads * key
        attention += hidden * (mla["kv_lora_rank"] + mla["qk_rope_head_dim"])
        attention += mla["kv_lora_rank"] * heads * (mla["qk_nope_head_dim"] + mla["v_head_dim"])
        attention += heads * mla["v_head_dim"] * hidden
        scores = heads * (key + mla["v_head_dim"]) * seq
    else:
        head = m.get("head_dim") or hidden // heads
        attention = 2 * hidden * head * (heads + m["kv_heads"])
        scores = 2 * heads * head * seq
    products = (3 if m["gated"] else 2) * hidden
    moe = m.get("moe")
    dense_layers = moe.get("dense_layers", 0) if moe else m["layers"]
    mtp = m.get("mtp_layers", 0)
    weights = (m["layers"] + mtp) * attention + dense_layers * products * m["ffn_hidden"]
    if moe:
        chosen = moe["topk"] * moe["expert_ffn"] + moe.get("shared_expert_ffn", 0)
        weights += (m["layers"] - dense_layers + mtp) * (
            products * chosen + hidden * moe["experts"]
        )
    weights += (1 + mtp) * hidden * m["vocab"] + mtp * 2 * hidden * hidden
    tokens = row["batch"]["global"] * seq
    return tokens * (6 * weights + 3 * (m["layers"] + mtp) * scores)


def time_at_peak(row):
    return model_flops(row) / (row["hardware"]["count"] * peak(row))


def forty_percent(row):
    return Answer(time_at_peak(row) / 0.4, [])


def forty_percent_of_16_bit(row):
    if bits_of(row) == 16:
        raise CannotSay("16 bits: as the rule above")
    return forty_percent(row | {"precision": "bf16"})


def fitted_mfu(rows):
    """The median MFU of the same GPU, precision and kind of model, its source left out."""

    def likeness(row):
        return gpu_of(row), bits_of(row), kind_of(row)

    def forecast(row):
        like = [
            time_at_peak(other) / other["seconds"]
            for other in rows
            if likeness(other) == likeness(row) and source_of(other) != source_of(row)
        ]
        if not like:
            raise CannotSay("no other source has a row like it")
        return Answer(time_at_peak(row) / statistics.median(like), [])

    return forecast
