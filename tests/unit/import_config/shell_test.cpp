// Launch scripts are read, never run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

constexpr const char* kModel =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64";

Imported import_script(const std::string& script) {
  return import_texts({{"run.sh", script}}, machines(8));
}

TEST(ShellScripts, FollowVariablesArraysAndArithmetic) {
  const Imported imported = import_script(std::string("A=4\nB=$((A * 2))\nexport C=${MISSING:-2}\n"
                                                      "LIST=(--tensor-model-parallel-size $B)\n"
                                                      "LIST+=(\"--pipeline-model-parallel-size 4\""
                                                      ")\nMORE=\"--context-parallel-size ${C} \\\n"
                                                      "  --use-distributed-optimizer\"\n"
                                                      "torchrun pretrain.py ${LIST[@]} $MORE ") +
                                          kModel + "\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.pipeline"), "4");
  EXPECT_EQ(imported.value("layout.context"), "2");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.line("layout.tensor"), 4);
  EXPECT_EQ(imported.line("layout.pipeline"), 5);
}

// What the program nvidia-smi would say is not known, and not several words.
TEST(ShellScripts, DefaultsThatAreCommandsStayUnread) {
  const Imported imported = import_script(
      std::string("TP=${TP:-$(nvidia-smi -L | wc -l)}\nPP=`cat stages.txt`\ntorchrun train.py "
                  "--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP "
                  "--context-parallel-size ${CP:-$(echo 2)} ") +
      kModel + "\n");
  EXPECT_EQ(imported.problems(), "");
  for (const char* key : {"layout.tensor", "layout.pipeline", "layout.context"}) {
    EXPECT_TRUE(imported.asks(key)) << key;
  }
}

TEST(ShellScripts, AnOptionWithoutItsNumberIsSaidSo) {
  EXPECT_EQ(import_script("python train.py --num-layers --hidden-size 4096\n").problems(),
            "run.sh:1:17: error: --num-layers: has no number behind it\n");
}

TEST(ShellScripts, TakeTheBranchThatHolds) {
  const std::string script = std::string(R"(
MODE=fast
if [ "$MODE" = slow ]; then
  TP=1
elif [[ "$MODE" == "fast" ]]; then
  TP=8
else
  TP=2
fi
[ $TP -gt 4 ] && PP=4
python train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP )") +
                             kModel;
  const Imported imported = import_script(script);
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.pipeline"), "4");
}

TEST(ShellScripts, SayWhatStandsUnderAConditionThatCannotBeRead) {
  const Imported imported = import_script(std::string(R"(
ARGS="--tensor-model-parallel-size 2"
if [ -f /etc/big ]; then
  ARGS+=" --pipeline-model-parallel-size 8"
fi
for i in 1 2 3; do
  echo --context-parallel-size $i
done
python train.py $ARGS )") + kModel);
  EXPECT_EQ(imported.value("layout.tensor"), "2");
  EXPECT_EQ(imported.value("layout.pipeline"), "");
  EXPECT_EQ(imported.effect("--pipeline-model-parallel-size"), "large");
  EXPECT_NE(imported.problems().find("--set layout.pipeline=VALUE, or --ignore KEY"),
            std::string::npos);
  EXPECT_EQ(imported.result.scenario, "");
}

// A value that a branch may change is none, a name that only a branch not taken sets is empty.
TEST(ShellScripts, VariablesOfBranchesAreNotThoseBefore) {
  const std::string script =
      "LAYERS=32\nif [ \"$SIZE\" = big ]; then LAYERS=64; fi\nTP=1\n"
      "for t in 1 2; do TP=$t; done\nif [ 1 -gt 2 ]; then MORE=--swiglu; fi\n"
      "torchrun pretrain_gpt.py --num-layers $LAYERS --hidden-size 4096 "
      "--tensor-model-parallel-size $TP $MORE --num-attention-heads 32 "
      "--seq-length 4096 --vocab-size 32000 --bf16 $OTHER "
      "--global-batch-size 64 --micro-batch-size 1\n";
  const Imported imported = import_script(script);
  EXPECT_TRUE(imported.asks("model.num_layers"));
  EXPECT_TRUE(imported.asks("layout.tensor"));
  EXPECT_EQ(imported.value("precision.compute"), "bf16");  // a switch takes no value
  EXPECT_EQ(imported.effect("$MORE"), "");
  EXPECT_EQ(import_script("SIZE=\n" + script).value("model.num_layers"), "32");
  EXPECT_EQ(import_script("SIZE=big\n" + script).value("model.num_layers"), "64");
}

// Single quotes leave the names to the shell that they start.
TEST(ShellScripts, VariablesOfAShellWithinHaveTheirValues) {
  const Imported imported =
      import_script(std::string("export TP=2\nexport CMD=\"pretrain_gpt.py "
                                "--tensor-model-parallel-size $TP ") +
                    kModel + "\"\nsrun bash -c 'python $CMD --node_rank $SLURM_PROCID'\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "2");
}

TEST(ShellScripts, TestsMayBeJoined) {
  const Imported imported =
      import_script(std::string("TP=4\nSP=true\nif [ $SP = true ] && [ $TP -gt 1 ]; then "
                                "S=--sequence-parallel; fi\nif [ $SP = no ] || [ $TP -eq 4 ]; then "
                                "T=--swiglu; fi\ntorchrun pretrain.py $S $T "
                                "--tensor-model-parallel-size $TP ") +
                    kModel + "\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.sequence_parallel"), "true");
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
}

// Each was once another layout with exit code 0; bash is the judge.
TEST(ShellScripts, AreReadAsTheShellReadsThem) {
  const std::vector<std::pair<std::string, std::string>> scripts = {
      {"M=llama-70b\nTP=1\nif [[ $M == *70b* ]]; then TP=8; else TP=2; fi\n", "8"},
      {"M=llama-7b\nTP=1\nif [[ $M == *70b* ]]; then TP=8; else TP=2; fi\n", "2"},
      {"M=7b\nTP=1\ncase $M in\n  7b) TP=2;;\n  70b|405b) TP=8 ;;\nesac\n", "2"},
      {"M=405b\nTP=1\ncase \"$M\" in 7b) TP=2;; 70b|405b) TP=8;; *) TP=4;; esac\n", "8"},
      {"M=405b\ncase ${M} in 7*) TP=2;; *) TP=4;; esac\n", "4"},
      {"TP=2\n( TP=4; export TP )\n", "2"},
      {"TP=2\nTP=8 bash prepare.sh\n", "2"},
      {"A=1\nTP=2\n[[ $A == 1 && $TP == 4 ]] && TP=8\n", "2"},
      {"A=1\nTP=2\nif [[ $A == 2 || $TP == 2 ]]; then TP=8; fi\n", "8"},
      {"N=16\nTP=2\n[[ $N > 9 ]] && TP=8\n", "2"},  // texts
      {"false && TP=8\nTP=${TP:-2}\n", "2"},
      {"TP=2\nunset -v TP\nTP=${TP:-8}\n", "8"},
      {"N=08\nTP=2\n[ $N -eq 8 ] && TP=4\n", "4"},
      {"N=2\nTP=1\nif (( N > 1 )); then TP=4; fi\n", "4"},
      {"((TP = 2 * 4))\n", "8"},
      {"setup()\n{\n  TP=8\n}\nTP=2\n", "2"},
      {"TP=2\ncat <<A > x; cat <<B > y\nTP=4\nA\nTP=8\nB\n", "2"}};
  for (const auto& [script, tensor] : scripts) {
    const Imported imported = import_script(
        script + "torchrun pretrain_gpt.py --tensor-model-parallel-size $TP " + kModel + "\n");
    EXPECT_EQ(imported.problems(), "") << script;
    EXPECT_EQ(imported.value("layout.tensor"), tensor) << script;
  }
  EXPECT_EQ(import_script(std::string("TP=2\ntorchrun train.py --bf16 "
                                      "${TP:+--tensor-model-parallel-size $TP} ") +
                          kModel + "\n")
                .value("layout.tensor"),
            "2");
  EXPECT_EQ(import_script(std::string("python train.py > log.txt --tensor-model-parallel-size 2 ") +
                          kModel + "\n")
                .value("layout.tensor"),
            "2");
  EXPECT_EQ(import_script(std::string("export TP=2\nenv TP=4 bash -c 'python train.py "
                                      "--tensor-model-parallel-size $TP ") +
                          kModel + "'\n")
                .value("layout.tensor"),
            "4");
  EXPECT_EQ(import_script(std::string("python train.py --wandb-exp-name "
                                      "\"a #1 --tensor-model-parallel-size 8\" ") +
                          kModel + "\n")
                .value("layout.tensor"),
            "");
}

TEST(ShellScripts, TheStarterNearestToTheProgramSaysItsMachines) {
  const auto machines_of = [](const std::string& script) {
    const Imported imported = import_texts({{"run.sh", script + kModel + "\n"}},
                                           {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}});
    return imported.value("cluster.nodes") + "x" + imported.value("cluster.gpus_per_node") + "=" +
           imported.value("cluster.gpus");
  };
  EXPECT_EQ(machines_of("#SBATCH --nodes=8\nsrun -N 2 --ntasks-per-node=4 python train.py "),
            "2x4=");
  EXPECT_EQ(machines_of("srun --nodes=2 --ntasks-per-node=1 torchrun --nproc_per_node 8 train.py "),
            "2x8=");
  EXPECT_EQ(machines_of("srun -N 2 -n 8 python train.py "), "2x4=");
  EXPECT_EQ(
      machines_of("srun --ntasks=2 bash -c \"torchrun --nnodes 2 --nproc_per_node 8 train.py\" "),
      "2x8=");
  EXPECT_EQ(machines_of("torchrun --standalone --nproc_per_node 4 train.py "), "1x4=");
}

// What cannot be decided is asked, also where the value was stated before.
TEST(ShellScripts, AskWhereABranchMayChangeAValue) {
  for (const char* script :
       {"TP=1\ncase $MODEL in 70b) TP=8;; esac\n", "TP=1\nwhich nvcc && TP=8\n",
        "TP=1\nM=a\nif [[ $M == [ab] ]]; then TP=8; fi\n", "f() { TP=8; }\nTP=2\nf\n",
        "TP=1\n((TP++))\n", "TP=1\n((TP *= 4))\n", "TP=2\neval \"TP=4\"\n",
        "TP=2\nprintf -v TP 4\n", "TP=2\ntypeset -i TP=4\n"}) {
    const Imported imported =
        import_script(std::string(script) +
                      "torchrun pretrain_gpt.py --tensor-model-parallel-size $TP " + kModel + "\n");
    EXPECT_TRUE(imported.asks("layout.tensor")) << script;
  }
  const Imported printed =
      import_script(std::string("SP=$([ $A = 1 ] && echo \"--sequence-parallel\")\npython train.py "
                                "--tensor-model-parallel-size 2 $SP ") +
                    kModel + "\n");
  EXPECT_NE(printed.problems().find("--sequence-parallel: stands in a command that is not run"),
            std::string::npos)
      << printed.problems();
}

TEST(ShellScripts, WhatACallerStatesInPlaceOfAConditionCounts) {
  const std::string script = std::string(R"(
[ -f /etc/big ] && ARGS="--pipeline-model-parallel-size 8"
python train.py $ARGS --swiglu $(echo) )") +
                             kModel;
  const std::string problems = import_script(script).problems();
  EXPECT_NE(problems.find("--pipeline-model-parallel-size"), std::string::npos);
  EXPECT_EQ(problems.find("--swiglu"), std::string::npos);  // on, whatever $(echo) prints
  Given given = machines(8);
  given.push_back({"layout.pipeline", "4", "--set"});
  EXPECT_EQ(import_texts({{"run.sh", script}}, given).problems(), "");
}

TEST(ShellScripts, VariablesWithoutValueAreAskedFor) {
  const Imported imported =
      import_script(std::string("python train.py --tensor-model-parallel-size $TP ") + kModel);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.asks("layout.tensor"));
  EXPECT_NE(report_text(imported.result).find("orrery import train.log"), std::string::npos);
  EXPECT_EQ(imported.effect("--tensor-model-parallel-size"), "unread");
}

// Whatever the script would do is not done.
TEST(ShellScripts, NothingIsExecuted) {
  const TempFolder folder;
  const std::filesystem::path mark = folder / "ran";
  const std::string touch = "touch " + mark.string();
  const Imported imported =
      import_script("$(" + touch + ")\n`" + touch + "`\n" + touch + "; " + touch + " && " + touch +
                    "\n" + "X=$(" + touch + ")\nY=`" + touch + "`\neval '" + touch + "'\n" +
                    "python train.py --tensor-model-parallel-size $(nproc) " + std::string(kModel) +
                    " ; " + touch + " | sh\n");
  EXPECT_FALSE(std::filesystem::exists(mark));
  EXPECT_TRUE(imported.asks("layout.tensor"));
}

TEST(ShellScripts, NumbersOfRedirectionsAreNoValues) {
  const Imported imported =
      import_script(std::string("python train.py ") + kModel + " --swiglu 2>&1 | tee log.txt\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
}

TEST(ShellScripts, TakeDefaultsOfWhatTheCallerPassesAndSkipEmptyVariables) {
  const Imported imported = import_script(
      std::string("TP=${1:-4}\nrun_cmd=\"torchrun train.py --tensor-model-parallel-size "
                  "${TP} --pipeline-model-parallel-size $2 ") +
      kModel + " $EXTRA --swiglu\"\nsh -c \"${run_cmd}\"\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_TRUE(imported.asks("layout.pipeline"));
  EXPECT_EQ(imported.value("batch.global"), "64");
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
  EXPECT_EQ(imported.effect("$EXTRA"), "unread");
}

TEST(ShellScripts, FollowACommandBehindBashC) {
  const Imported imported = import_script(
      std::string("LAUNCHER=\"python -m torch.distributed.run --nproc_per_node 8\"\n"
                  "CMD=\"pretrain_gpt.py --tensor-model-parallel-size 4 ") +
      kModel +
      "\"\necho $CMD --tensor-model-parallel-size 2\n"
      "srun --jobid $SLURM_JOB_ID bash -c \"$LAUNCHER --node_rank \\$SLURM_PROCID $CMD\" 2>&1 | "
      "tee log.txt\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_EQ(imported.value("model.num_layers"), "32");
  EXPECT_EQ(imported.line("layout.tensor"), 4);  // the option is written twice: the command's line
}

TEST(ShellScripts, OfTwoArgumentsTheLastCounts) {
  const Imported imported = import_script(
      std::string(
          "python train.py --tensor-model-parallel-size 2 --tensor-model-parallel-size 4 ") +
      kModel);
  EXPECT_EQ(imported.value("layout.tensor"), "4");
}

TEST(ShellScripts, DoublingVariablesEnd) {
  std::string script = "A=--num-layers\n";
  for (int i = 0; i < 64; ++i) {
    script += "A=\"$A $A\"\n";
  }
  script += "python train.py $A\n";
  const Imported imported = import_script(script);
  EXPECT_EQ(imported.problems(),
            "run.sh: error: expands to more text than the arguments of a program are\n");
}

TEST(ShellScripts, TheBatchSystemSaysTheNodes) {
  const Imported imported = import_texts(
      {{"job.sh", std::string("#!/bin/bash\n#SBATCH --nodes=32\n#SBATCH --gpus-per-node 4\n"
                              "srun python train.py ") +
                      kModel}},
      {{"cluster.gpu", "h100-sxm-80gb", "--gpu"},
       {"cluster.network.preset", "infiniband-400g", "--network"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("cluster.nodes"), "32");
  EXPECT_EQ(imported.value("cluster.gpus_per_node"), "4");
  EXPECT_EQ(imported.line("cluster.nodes"), 2);
}

}  // namespace
}  // namespace orrery::import_config::testing
