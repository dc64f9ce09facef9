// Commands that start a program by another one, or with a file that says its settings.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

const std::string kArguments =
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length "
    "4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 "
    "--tensor-model-parallel-size 2\n";

Imported started(const std::string& by) {
  return import_texts({{"run.sh", by + " " + kArguments}},
                      {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}});
}

struct Starter {
  std::string by;
  std::string nodes;  // "": not said
  std::string gpus_per_node;
};

TEST(StartedPrograms, KeepTheirOptionsApartFromThoseOfTheStarter) {
  for (const Starter& starter : std::vector<Starter>{
           {"docker run --rm --gpus all --ipc=host --shm-size 64g --network host -v /a:/b img "
            "torchrun --nnodes 2 --nproc_per_node 8",
            "2", "8"},
           {"singularity exec --nv --bind /a:/b --pwd /x a.sif torchrun --nnodes=2 "
            "--nproc-per-node=4",
            "2", "4"},
           {"srun -N 4 --gpus-per-task 1 --signal=USR1@90 --network=single_node_vni python -u", "4",
            ""},
           {"srun --nodes=4 --gpus-per-node=8 --hint=nomultithread python", "4", "8"},
           {"mpirun -np 16 -N 8 --allow-run-as-root --bind-to none --mca btl ^openib python", "2",
            "8"},
           {"mpirun -np 2 -N 1 --map-by slot torchrun --nnodes 2 --nproc_per_node 8", "2", "8"},
           {"numactl --cpunodebind=0 --membind=0 nsys profile --trace=cuda deepspeed --num_nodes 2 "
            "--num_gpus 4",
            "2", "4"}}) {
    const Imported imported = started(starter.by);
    EXPECT_EQ(imported.problems(), "") << starter.by;
    EXPECT_EQ(imported.value("model.num_layers"), "32") << starter.by;
    EXPECT_EQ(imported.value("cluster.gpus_per_node"), starter.gpus_per_node) << starter.by;
    if (starter.by.find("mpirun -np 16") == std::string::npos) {
      EXPECT_EQ(imported.value("cluster.nodes"), starter.nodes) << starter.by;
    } else {
      EXPECT_EQ(imported.value("cluster.gpus"), "16");
    }
  }
}

TEST(StartedPrograms, AreToldTheirOwnUnknownOptions) {
  const Imported imported =
      import_texts({{"run.sh",
                     "docker run --gpus all img python pretrain_gpt.py --num-lay 32 "
                     "--hidden-size 64 --bf16\n"}});
  EXPECT_NE(imported.problems().find("--num-lay: not understood"), std::string::npos);
  EXPECT_EQ(imported.problems().find("--gpus"), std::string::npos);
}

// Words behind the program are its own, also those that are the names of starters.
TEST(StartedPrograms, AreNoStartersThemselves) {
  const Imported imported = import_texts(
      {{"run.sh",
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tensorboard-dir ray --num-layers 32 "
        "--bf16 --hidden-size 64 --save ./checkpoints\n"}});
  EXPECT_EQ(imported.value("model.num_layers"), "32");
  EXPECT_EQ(imported.value("model.hidden_size"), "64");
}

// What a command names is to be given; it is never guessed.
TEST(StartedPrograms, NameTheFilesThatSayTheirSettings) {
  struct Command {
    std::string text;
    std::string next;  // a piece of what to do
  };

  for (const Command& command : std::vector<Command>{
           {"FORCE_TORCHRUN=1 llamafactory-cli train examples/llama3_full_sft.yaml",
            "LLaMA-Factory with the YAML"},
           {"accelerate launch -m axolotl.cli.train fft-8b.yaml --deepspeed zero3.json",
            "Axolotl with the YAML"},
           {"axolotl train config.yaml", "Axolotl with the YAML"},
           {"python megatron_gpt_pretraining.py trainer.num_nodes=16 model.num_layers=32",
            "--config-name names"},
           {"nemo llm pretrain --factory llama3_8b trainer.num_nodes=2", "NeMo"},
           {"python3 -m MaxText.train MaxText/configs/base.yml base_emb_dim=4096",
            "MaxText with the file"},
           {"tune run --nproc_per_node 8 full_finetune_distributed --config llama3_1/8B_full",
            "torchtune"},
           {"python deepy.py train.py -d configs 20B.yml local_setup.yml", "GPT-NeoX"},
           {"torchrun --nproc_per_node=8 scripts/train.py configs/official/OLMo-7B.yaml", "OLMo"},
           {"torchrun --nproc_per_node=8 run_train.py --config-file config_tiny_llama.yaml",
            "nanotron with the YAML"},
           {"composer train/train.py train/yamls/pretrain/mpt-7b.yaml max_duration=10ba",
            "llm-foundry with the YAML"},
           {"torchrun --nproc_per_node=8 train.py config/train_gpt2.py --batch_size=12", "nanoGPT"},
           {"deepspeed --module openrlhf.cli.train_sft --max_len 2048 --train_batch_size 256",
            "OpenRLHF"},
           {"data: {train_batch_size: 256}\nmodel:\n  partial_pretrain: a/b\noptim: {lr: 1e-5}\n"
            "trainer: {total_epochs: 4}",
            "verl"},
           {"model:\n  d_model: 4096\n  mlp_hidden_size: 22016\nglobal_train_batch_size: 2160",
            "OLMo"}}) {
    const Imported imported = import_texts({{"run.sh", command.text + "\n"}}, machines(2));
    EXPECT_NE(imported.problems().find(command.next), std::string::npos) << command.text << "\n"
                                                                         << imported.problems();
    EXPECT_EQ(imported.result.scenario, "") << command.text;
  }
}

TEST(StartedPrograms, TakeNoFileInPlaceOfTheirArguments) {
  EXPECT_NE(started("python").value("model.num_layers"), "");
  const Imported imported = import_texts(
      {{"run.sh", "python pretrain_gpt.py --num-layers 2 --bf16 --yaml-cfg a.yaml\n"}});
  EXPECT_NE(imported.problems().find("--yaml-cfg: all settings stand in the file"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::import_config::testing
