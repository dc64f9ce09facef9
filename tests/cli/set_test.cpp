// --set: a key in place of what the file says, in every command that takes a scenario.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using Set = CliTest;

constexpr const char* kScenario = R"(format: orrery/1
name: small
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 1, sharding: zero3}
batch: {global: 64, micro: 1}
precision: bf16
recompute: full
)";

double step_time(const std::string& json) {
  return nlohmann::json::parse(json)["metrics"]["step_time_s"]["value"].get<double>();
}

TEST_F(Set, IsTheSameAsTheKeyInTheFile) {
  write("a.yaml", kScenario);
  std::string other = kScenario;
  other.replace(other.find("tensor: 1"), 9, "tensor: 4");
  other.replace(other.find("global: 64"), 10, "global: 32");
  write("b.yaml", other);
  const Finished set = run("run --json a.yaml --set layout.tp=4 --set batch.global=32");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(step_time(set.out), step_time(run("run --json b.yaml").out));
  EXPECT_NE(step_time(set.out), step_time(run("run --json a.yaml").out));
  EXPECT_EQ(run("check a.yaml --set layout.tensor=3").code, 3);
  EXPECT_EQ(run("explain step_time a.yaml --set layout.tensor=4").code, 0);
  EXPECT_EQ(run("sweep --vary layout.tensor=2,4 a.yaml --set batch.global=32").out,
            run("sweep --vary layout.tensor=2,4 b.yaml").out);
}

// Two nodes of eight GPUs: with tensor 4 the replicas are four, not eight.
TEST_F(Set, DerivesReplicasAgainUnlessTheyAreKept) {
  std::string stated = kScenario;
  stated.replace(stated.find("tensor: 1"), 9, "tensor: 2, data: 8");
  write("a.yaml", stated);
  const Finished derived = run("run a.yaml --set layout.tensor=4");
  EXPECT_EQ(derived.code, 0);
  EXPECT_NE((derived.out + derived.err).find("layout.data: is taken as 4: 8, as stated"),
            std::string::npos)
      << derived.err;
  EXPECT_EQ(run("run a.yaml --set layout.tensor=4 --keep layout.data").code, 3);
  const auto statuses = [this](const std::string& options) {
    std::string words;
    const auto table =
        nlohmann::json::parse(run("sweep --json --vary layout.tensor=1,2,4 a.yaml" + options).out);
    for (const auto& point : table["points"]) {
      words += point["status"].get<std::string>() + " ";
    }
    return words;
  };
  EXPECT_EQ(statuses(""), "ok ok ok ");
  EXPECT_EQ(statuses(" --keep layout.data"), "invalid ok invalid ");
  const Finished other = run("run a.yaml --keep layout.pipeline");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--keep layout.pipeline: follows no other key; layout.data does"),
            std::string::npos)
      << other.err;
}

TEST_F(Set, OfAnUnknownKeyOrWithoutAValueIsRefused) {
  write("a.yaml", kScenario);
  const Finished unknown = run("run a.yaml --set layout.tensors=4");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_NE(unknown.err.find("did you mean `layout.tensor`?"), std::string::npos) << unknown.err;
  EXPECT_EQ(run("run a.yaml --set layout.tensor").code, 2);
}

TEST_F(Set, TakesTheNamesThatPeopleGiveGpusAndSharding) {
  write("a.yaml", kScenario);
  const std::string names = " a.yaml --set cluster.gpu=h100 --set layout.sharding=fsdp";
  EXPECT_NE(run("run" + names).out.find("cluster.gpu: `h100` is taken as `h100-sxm-80gb`"),
            std::string::npos);
  const Finished flag = run("check a.yaml --set layout.fsdp=true");
  EXPECT_EQ(flag.code, 3);
  EXPECT_NE(flag.err.find("layout.sharding: `true` is not known"), std::string::npos) << flag.err;
  const Finished alias = run("run --json" + names);
  EXPECT_EQ(alias.code, 0) << alias.err;
  EXPECT_EQ(step_time(alias.out), step_time(run("run --json a.yaml").out));
}

}  // namespace
}  // namespace orrery::cli::testing
