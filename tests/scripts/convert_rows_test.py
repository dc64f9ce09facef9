"""Rows of measured-runs/1 as entries of measured-runs/2: what each word becomes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import yaml

PROGRAM = pathlib.Path(sys.argv.pop())

ROW = {
    "id": "one",
    "stack": "nemo",
    "source": "a page",
    "model": {"name": "Llama-3-70B", "layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8,
              "ffn_hidden": 28672, "gated": True, "vocab": 128256, "seq_len": 8192,
              "tied_embeddings": False},
    "hardware": {"gpu": "H100-80GB", "count": 64, "gpus_per_node": 8,
                 "inter_node_gbit_per_s_per_gpu": 400},
    "layout": {"tp": 4, "sp": True, "pp": 4, "vpp": 5, "cp": 2, "ep": 1, "dp": 2,
               "schedule": "interleaved", "sharding": "zero1"},
    "batch": {"global_sequences": 128, "micro": 1},
    "precision": "bf16",
    "recompute": "none",
    "overlap_as_stated": "not stated",
    "measured": {"step_time_s": 6.25},
    "confidence": "complete",
}
MIXTURE = {
    "stack": "megatron-bridge",
    "model": {"name": "DeepSeek-V3 (4 layers)", "layers": 4, "hidden": 7168, "heads": 128,
              "kv_heads": 128, "ffn_hidden": 18432, "gated": True, "vocab": 129280, "seq_len": 4096,
              "tied_embeddings": False, "mtp_layers": 0,
              "moe": {"experts": 256, "topk": 8, "expert_ffn": 2048, "shared_expert_ffn": 2048,
                      "dense_layers": 1},
              "mla": {"q_lora": 1536, "kv_lora": 512, "qk_head": 128, "qk_rope": 64,
                      "v_head": 128}},
    "hardware": {"gpu": "GB200", "count": 64, "gpus_per_node": 4,
                 "inter_node_gbit_per_s_per_gpu": 400},
    "layout": {"tp": 1, "sp": False, "pp": 1, "vpp": 1, "cp": 1, "ep": 64, "etp": 1, "dp": 64,
               "schedule": "none", "sharding": "zero1"},
    "precision": "mxfp8",
}


def run(rows, form="measured-runs/1", options=()):
    with tempfile.TemporaryDirectory() as folder:
        old, new = pathlib.Path(folder, "old.yaml"), pathlib.Path(folder, "new.yaml")
        old.write_text(yaml.safe_dump({"format": form, "runs": rows}))
        done = subprocess.run([sys.executable, PROGRAM, old, "-o", new, *options],
                              capture_output=True, text=True)
        return done, yaml.safe_load(new.read_text()) if new.exists() else None


def entries(*changes):
    done, document = run([ROW | change for change in changes])
    assert done.returncode == 0, done.stderr
    assert document["format"] == "measured-runs/2"
    return document["runs"]


def scenario(**change):
    return entries(change)[0]["scenario"]


def overlap(words):
    return scenario(overlap_as_stated=words).get("overlap")


class ConvertRows(unittest.TestCase):
    def test_a_row_becomes_a_scenario(self):
        entry = entries({"notes": "a word"})[0]
        self.assertEqual(entry["group"], "nemo")
        self.assertEqual(entry["measured"], {"step_time": "6.25s"})
        self.assertEqual(entry["as_stated"], {"overlap": "not stated", "notes": "a word"})
        self.assertNotIn("assumed", entry)
        self.assertEqual(entry["scenario"], {
            "model": {"name": "Llama-3-70B", "num_layers": 80, "hidden_size": 8192,
                      "num_attention_heads": 64, "num_query_groups": 8, "ffn_hidden_size": 28672,
                      "vocab_size": 128256, "sequence_length": 8192},
            "cluster": {"gpu": "h100-sxm-80gb", "nodes": 8, "gpus_per_node": 8,
                        "network": {"nics_per_node": 8, "nic_rate": "400Gbps"}},
            "layout": {"tensor": 4, "sequence_parallel": True, "context": 2, "pipeline": 4,
                       "virtual_stages": 5, "sharding": "zero1", "schedule": "interleaved"},
            "batch": {"global": 128, "micro": 1},
            "precision": "bf16",
            "recompute": "none",
            "software": "nemo",
        })

    def test_what_is_off_stays_off(self):
        self.assertIsNone(overlap("not stated"))
        self.assertEqual(overlap("DP overlap; no TP userbuffers overlap"),
                         {"data": True, "tensor": False})
        self.assertEqual(overlap("DP overlap, TP userbuffers overlap, PP P2P overlap per recipe"),
                         {"data": True, "tensor": True, "pipeline": True})
        self.assertEqual(overlap("all overlaps disabled (no TP overlap, no DP overlap)"),
                         {"data": False, "tensor": False, "pipeline": False})
        self.assertEqual(overlap("scatter/gather; no DP overlap stated"), {"data": False})
        self.assertIs(scenario(overlap_as_stated="one GPU, eager")["compile"], False)

    def test_switches_of_a_mixture_are_keys(self):
        found = scenario(**MIXTURE, software_options={
            "expert_dispatcher": "alltoall", "cuda_graphs": [], "expert_overlap": False,
            "grouped_gemm": "per_expert", "attention_fp8": False, "token_drop": True})
        self.assertEqual(found["software_options"], {
            "expert_dispatcher": "alltoall", "grouped_gemm": "per_expert", "cuda_graphs": [],
            "attention_fp8": False})
        self.assertEqual(found["overlap"], {"expert": False})
        self.assertEqual(found["model"]["moe"], {
            "num_experts": 256, "top_k": 8, "ffn_hidden_size": 2048, "dense_layers": 1,
            "capacity": 1.0, "shared": 1})
        self.assertEqual(found["model"]["mtp"], 0)
        self.assertEqual(found["model"]["mla"]["kv_lora_rank"], 512)
        self.assertEqual(found["cluster"]["network"]["nvlink_domain"], 72)
        self.assertNotIn("schedule", found["layout"])

    def test_words_say_what_no_option_does(self):
        found = scenario(**MIXTURE, overlap_as_stated="HybridEP dispatch; MoE all-to-all overlap "
                         "(1F1B); CUDA graphs: full_iteration", notes="natural routing")
        self.assertEqual(found["software_options"], {
            "expert_dispatcher": "hybridep", "cuda_graphs": ["full_iteration"],
            "grouped_gemm": "fused"})
        self.assertEqual(found["overlap"], {"expert": True})
        self.assertEqual(found["layout"]["schedule"], "interleaved_combined")
        self.assertEqual(found["model"]["moe"]["router_skew"], 0.03)

    def test_natural_routing_follows_the_rule_of_the_model(self):
        def moe(name, **changes):
            model = MIXTURE["model"] | {"name": name}
            return scenario(**MIXTURE | {"model": model} | changes)["model"]["moe"]
        natural = {"software_options": {"routing": "natural"}}
        self.assertEqual(moe("Mixtral-8x7B", **natural)["router_skew"], 0.02)
        self.assertEqual(moe("Qwen3-30B-A3B", **natural)["router_skew"], 0.1)
        self.assertEqual(moe("GPT-OSS-120B", **natural)["router_skew"], 0.9)
        self.assertEqual(moe("Qwen3-30B-A3B", notes="from a checkpoint", **natural)["router_skew"],
                         0.12)
        self.assertNotIn("router_skew", moe("Qwen3-30B-A3B", notes="natural routing",
                                            software_options={"routing": "balanced"}))

    def test_words_name_a_stack_more_closely(self):
        def software(**row):
            return scenario(**row)["software"]
        flagperf = "FlagOpen/FlagPerf 1b5a0303 training/nvidia/"
        self.assertEqual(software(stack="megatron-core", source=flagperf + "llama3_8B-megatron/README"),
                         "megatron-core-fa2")
        self.assertEqual(software(stack="generic", source=flagperf + "README (PaddleNLP 2.6)"),
                         "paddlenlp")
        self.assertEqual(software(stack="megatron-core", source="NVIDIA/Megatron-LM"),
                         "megatron-core")
        self.assertEqual(software(stack="pytorch-ddp", precision_as_stated="TransformerEngine FP8"),
                         "pytorch-te")
        self.assertEqual(software(stack="megatron-core", source="InternLM/xtuner b934f462 docs"),
                         {"name": "megatron-core", "context": "scripts"})

    def test_shards_lie_inside_the_stated_group(self):
        def layout(**sharding):
            return scenario(layout=ROW["layout"] | {"tp": 1, "pp": 1, "cp": 1, "vpp": 1,
                                                    "schedule": "none"} | sharding)["layout"]
        self.assertEqual(layout(sharding="zero3", shard_group=8),
                         {"sharding": "hsdp", "shard_group": 8})
        self.assertEqual(layout(sharding="zero1", shard_group=64), {"sharding": "zero1"})

    def test_precision_says_what_is_kept_in_8_bits(self):
        self.assertEqual(scenario(precision="fp8-tensorwise",
                                  precision_as_stated="float8 + fp8 FSDP all-gather")["precision"],
                         {"compute": "fp8-tensorwise", "parameters": "fp8"})
        self.assertEqual(scenario(precision="fp16")["precision"],
                         {"compute": "fp16", "gradient_dtype": "fp16"})

    def test_recipes_of_nvidia_keep_parameters_in_8_bits(self):
        def precision(**row):
            return scenario(**row)["precision"]
        self.assertEqual(precision(stack="nemo", precision="fp8"),
                         {"compute": "fp8-delayed", "parameters": "fp8"})
        mlperf = {"stack": "nemo-mlperf", "precision": "fp8"}
        self.assertEqual(precision(**mlperf, source="training_results_v3.1"), "fp8-delayed")
        self.assertEqual(precision(**mlperf, source="training_results_v5.1"),
                         {"compute": "fp8-delayed", "parameters": "fp8"})
        self.assertEqual(precision(stack="megatron-core", precision="fp8"), "fp8-delayed")

    def test_memory_says_what_it_counts(self):
        def peak(**measured):
            return entries({"measured": {"step_time_s": 1.0} | measured})[0]["measured"].get(
                "peak_memory")
        self.assertEqual(peak(peak_alloc_gib=40.5), {"value": "40.5GiB", "kind": "allocated"})
        self.assertEqual(peak(peak_memory_gib=41), {"value": "41GiB", "kind": "reserved"})
        self.assertEqual(peak(peak_memory="57GB"), {"value": "57GB", "kind": "device"})
        self.assertIsNone(peak(peak_memory="GB"))

    def test_what_the_source_leaves_open_is_assumed(self):
        hardware = {"gpu": "H100-80GB", "count": 64, "gpus_per_node": 8}
        entry = entries({"hardware": hardware, "missing": ["micro batch"], "stack": "unheard-of"})[0]
        self.assertEqual(entry["assumed"],
                         ["software", "cluster.network.nic_rate", "batch.micro"])
        self.assertEqual(entry["scenario"]["software"], "generic")
        self.assertEqual(entry["scenario"]["cluster"]["network"]["nic_rate"], "400Gbps")

    def test_layouts_of_one_question_stand_side_by_side(self):
        other = ROW["layout"] | {"tp": 8, "dp": 1}
        found = entries({}, {"id": "two", "layout": other},
                        {"id": "three", "precision": "fp16"})
        self.assertEqual([entry.get("side_by_side") for entry in found], ["one", "one", None])

    def test_a_network_card_may_serve_several_gpus(self):
        network = scenario(hardware=ROW["hardware"] | {
            "inter_node_gbit_per_s_per_gpu": 50,
            "inter_node": "4 x 100 Gb/s RoCE per node"})["cluster"]["network"]
        self.assertEqual(network, {"nics_per_node": 4, "nic_rate": "100Gbps"})

    def test_words_that_nobody_knows_are_refused(self):
        done, document = run([ROW | {"precision": "int4"}])
        self.assertEqual(done.stderr, "one: precision: unknown word `int4`\n")
        self.assertIsNone(document)
        done, document = run([ROW], form="orrery/1")
        self.assertIn("`orrery/1` is not measured-runs/1", done.stderr)

    def test_the_comment_in_front_of_a_row_stays_there(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder, "old.yaml"), pathlib.Path(folder, "new.yaml")
            rows = "".join(f"# doubt {i}\n- id: {i}\n" + "".join(
                f"  {key}: {yaml.safe_dump(value, default_flow_style=True, width=999).split(chr(10))[0]}\n"
                for key, value in ROW.items() if key != "id") for i in ("a", "b"))
            old.write_text("format: measured-runs/1\nruns:\n" + rows)
            subprocess.run([sys.executable, PROGRAM, old, "-o", new], check=True)
            lines = new.read_text().splitlines()
            self.assertEqual([lines[i - 1] for i, line in enumerate(lines)
                              if line.startswith("- id")], ["# doubt a", "# doubt b"])

    def test_some_rows_by_their_ids(self):
        _, document = run([ROW, ROW | {"id": "two"}], options=["--only", "two"])
        self.assertEqual([entry["id"] for entry in document["runs"]], ["two"])


if __name__ == "__main__":
    unittest.main()
