#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/yaml/document.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "tests/checkout.hpp"

namespace orrery::hardware {
namespace {

const SourceLocation kNowhere = {"test.yaml", 1, 1};

ProfileSearch shipped() { return {{std::filesystem::path(kSourceDir) / "scenarios" / "profiles"}}; }

GpuProfile gpu(const std::string& name) {
  Diagnostics diagnostics;
  std::optional<GpuProfile> profile =
      load_gpu_profile(name, shipped(), kNowhere, "cluster.gpu", diagnostics);
  EXPECT_EQ(to_string(diagnostics), "") << name;
  EXPECT_TRUE(profile.has_value()) << name;
  return std::move(profile).value();
}

SoftwareProfile software(const std::string& name) {
  Diagnostics diagnostics;
  std::optional<SoftwareProfile> profile =
      load_software_profile(name, shipped(), kNowhere, "software", diagnostics);
  EXPECT_EQ(to_string(diagnostics), "") << name;
  EXPECT_TRUE(profile.has_value()) << name;
  return std::move(profile).value();
}

TEST(ShippedProfiles, AllPromisedNamesAreThere) {
  EXPECT_EQ(list_gpu_profiles(shipped()), (std::vector<std::string>{"a100-pcie-40gb",
                                                                    "a100-pcie-80gb",
                                                                    "a100-sxm-40gb",
                                                                    "a100-sxm-80gb",
                                                                    "a40",
                                                                    "a800-sxm-80gb",
                                                                    "b200-sxm",
                                                                    "b300-sxm",
                                                                    "gaudi2",
                                                                    "gaudi3",
                                                                    "gb200",
                                                                    "gb300",
                                                                    "gh200",
                                                                    "h100-nvl-94gb",
                                                                    "h100-pcie-80gb",
                                                                    "h100-sxm-80gb",
                                                                    "h100-sxm-96gb-500w",
                                                                    "h20-sxm",
                                                                    "h200-nvl",
                                                                    "h200-sxm",
                                                                    "h800-sxm",
                                                                    "l4",
                                                                    "l40s",
                                                                    "mi300x",
                                                                    "mi325x",
                                                                    "mi355x",
                                                                    "rtx-4090",
                                                                    "rtx-5090",
                                                                    "rtx-a6000",
                                                                    "rtx-pro-6000-server",
                                                                    "v100-sxm-16gb",
                                                                    "v100-sxm-32gb"}));
}

TEST(ShippedProfiles, EveryGpuIsWithinPhysicalBounds) {
  for (const std::string& name : list_gpu_profiles(shipped())) {
    SCOPED_TRACE(name);
    const GpuProfile profile = gpu(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_GE(profile.sm_count, profile.arch == GpuArch::gaudi ? 4 : 50);
    EXPECT_GE(in_gibibytes(profile.memory.value()), 15.0);
    EXPECT_LE(in_gibibytes(profile.memory.value()), 288.0);
    EXPECT_GE(in_gigabytes_per_second(profile.hbm_bandwidth.value()), 300.0);
    EXPECT_LE(in_terabytes_per_second(profile.hbm_bandwidth.value()), 8.0);
    EXPECT_GE(profile.memory_efficiency.value(), 0.6);
    EXPECT_LE(profile.memory_efficiency.value(), 0.95);
    EXPECT_GE(in_microseconds(profile.launch_latency.value()), 1.0);
    EXPECT_LE(in_microseconds(profile.launch_latency.value()), 5.0);
    // Of a Gaudi 2 only the bf16 and FP8 rates of its matrix engines are published.
    if (name != "gaudi2") {
      EXPECT_NE(profile.find_gemm(model::Dtype::fp16), nullptr);
      EXPECT_NE(profile.find_gemm(model::Dtype::fp32), nullptr);
    }
    for (const GemmRate& rate : profile.gemm) {
      const double share = rate.sustained.value() / rate.peak.value();
      EXPECT_GE(share, 0.3);
      EXPECT_LE(share, 1.0);
      EXPECT_LE(rate.half_depth.value(), 1000.0);
    }
    const GemmRate* bf16 = profile.find_gemm(model::Dtype::bf16);
    const GemmRate& half = bf16 != nullptr ? *bf16 : *profile.find_gemm(model::Dtype::fp16);
    EXPECT_LE(profile.attention.forward.value(), half.peak.value());
    EXPECT_LE(profile.attention.backward.value(), profile.attention.forward.value());
    EXPECT_GE(profile.attention.half_length.value(), 100.0);
    EXPECT_LE(profile.attention.half_length.value(), 2000.0);
    if (profile.nvlink) {
      EXPECT_GT(profile.nvlink->bandwidth.value(), profile.pcie_bandwidth.value());
      EXPECT_EQ(profile.nvlink->peers > 0, vendor_of(profile.arch) != "NVIDIA");
    }
  }
}

TEST(ShippedProfiles, EverySoftwareProfileIsWithinPhysicalBounds) {
  for (const std::string& name : list_software_profiles(shipped())) {
    SCOPED_TRACE(name);
    const SoftwareProfile profile = software(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_FALSE(profile.version.empty());
    EXPECT_GE(profile.gemm_efficiency.value(), 0.5);
    EXPECT_LE(profile.gemm_efficiency.value(), 1.15);
    EXPECT_LE(in_microseconds(profile.kernel_gap.value()), 25.0);
    EXPECT_LE(in_milliseconds(profile.host_layer_time.value()), 2.0);
    EXPECT_LE(in_seconds(profile.fixed_step_time.value()), 0.5);
    EXPECT_LE(profile.jitter_per_doubling.value(), 0.03);
    EXPECT_LE(in_gibibytes(profile.memory_overhead.value()), 4.0);
    EXPECT_EQ(profile.score_passes.value() > 0.0,
              profile.attention == AttentionImplementation::unfused);
  }
}

// The last entry that is not after the release; the first for those before it.
TEST(ShippedProfiles, AnOlderReleaseOfAStackIsSlower) {
  const SoftwareProfile nemo = software("nemo");
  const auto share = [&nemo](const char* release) {
    const SoftwareProfile old = at_release(nemo, release);
    const double rate = old.gemm_efficiency.value() / nemo.gemm_efficiency.value();
    EXPECT_DOUBLE_EQ(old.memory_efficiency.value() / nemo.memory_efficiency.value(), rate);
    EXPECT_NEAR(nemo.host_launch_time.value() / old.host_launch_time.value(), rate, 1e-12);
    return rate;
  };
  EXPECT_DOUBLE_EQ(share("23.05"), 0.89);
  EXPECT_DOUBLE_EQ(share("24.09"), 0.93);
  EXPECT_DOUBLE_EQ(share("24.10"), 0.93);
  EXPECT_DOUBLE_EQ(share("25.02.02"), 1.0);
  EXPECT_DOUBLE_EQ(share(""), 1.0);
  EXPECT_DOUBLE_EQ(at_release(software("pytorch-ddp"), "2.1").gemm_efficiency.value(),
                   software("pytorch-ddp").gemm_efficiency.value());
}

// torchtitan compiles its loss from June 2025 on; nothing else of it changes.
TEST(ShippedProfiles, AReleaseSetsWhatChangedWithIt) {
  const SoftwareProfile stack = software("torchtitan-fsdp2");
  const auto held = [&stack](const char* release) {
    const SoftwareProfile at = at_release(stack, release);
    EXPECT_EQ(at.gemm_efficiency.value(), stack.gemm_efficiency.value());
    return in_bytes(at.logits_bytes->value());
  };
  EXPECT_EQ(held(""), 14.0);
  EXPECT_EQ(held("2024-12"), 14.0);
  EXPECT_EQ(held("2025-06"), 6.0);
  EXPECT_EQ(held("2026-02"), 6.0);
}

// No stack may run GEMMs above the best burst that was ever read on the card it is used with.
TEST(ShippedProfiles, StackTimesSustainedStaysBelowTheBurstRate) {
  struct Pair {
    const char* stack;
    const char* gpu;
    double burst_tflops;
  };

  const std::array pairs = {Pair{"megatron-lm", "a100-sxm-80gb", 296.0},
                            Pair{"megatron-deepspeed", "a100-sxm-80gb", 296.0},
                            Pair{"internevo", "a100-sxm-80gb", 296.0},
                            Pair{"llm-foundry-fsdp", "a100-sxm-40gb", 296.0},
                            Pair{"llm-foundry-fsdp", "h100-sxm-80gb", 794.5},
                            Pair{"nemo", "h100-sxm-80gb", 794.5},
                            Pair{"nemo-mlperf", "h100-sxm-80gb", 794.5},
                            Pair{"meta-llama3", "h100-sxm-80gb", 794.5},
                            Pair{"torchtitan-fsdp2", "h100-sxm-96gb-500w", 794.5},
                            Pair{"megatron-core-no-overlap", "b200-sxm", 1745.0},
                            Pair{"pytorch-ddp", "rtx-a6000", 154.8}};
  for (const Pair& pair : pairs) {
    const GpuProfile card = gpu(pair.gpu);
    const GemmRate& bf16 = *card.find_gemm(model::Dtype::bf16);
    const double rate = software(pair.stack).gemm_efficiency.value() *
                        in_teraflop_per_second(bf16.sustained.value());
    EXPECT_LE(rate, pair.burst_tflops) << pair.stack << " on " << pair.gpu;
  }
}

// 989.5 TFLOP/s / 3.35 TB/s = 295.4 FLOP/byte.
TEST(ShippedProfiles, H100BalanceIs295FlopPerByte) {
  const GpuProfile h100 = gpu("h100-sxm-80gb");
  const GemmRate& bf16 = *h100.find_gemm(model::Dtype::bf16);
  const double flop_per_byte =
      in_flop_per_second(bf16.peak.value()) / in_bytes_per_second(h100.hbm_bandwidth.value());
  EXPECT_NEAR(flop_per_byte, 295.4, 0.05);
  EXPECT_EQ(bf16.peak.kind(), SourceKind::datasheet);
}

// NCCL's topology search: links x per-link speed.
TEST(ShippedProfiles, NvlinkFiguresAreThoseOfTheGenerations) {
  struct Link {
    const char* gpu;
    double bandwidth;
    double ring;
  };

  const std::array links = {
      Link{"v100-sxm-32gb", 150.0, 6 * 20.0},  Link{"a100-sxm-80gb", 300.0, 12 * 20.0},
      Link{"h100-sxm-80gb", 450.0, 18 * 20.6}, Link{"h200-sxm", 450.0, 18 * 20.6},
      Link{"h800-sxm", 200.0, 8 * 20.6},       Link{"b200-sxm", 900.0, 18 * 40.1},
      Link{"gb200", 900.0, 18 * 40.1}};
  for (const Link& link : links) {
    SCOPED_TRACE(link.gpu);
    const GpuProfile profile = gpu(link.gpu);
    ASSERT_TRUE(profile.nvlink.has_value());
    EXPECT_NEAR(in_gigabytes_per_second(profile.nvlink->bandwidth.value()), link.bandwidth, 0.001);
    EXPECT_NEAR(in_gigabytes_per_second(profile.nvlink->nccl_ring_bandwidth.value()), link.ring,
                0.001);
    EXPECT_EQ(profile.nvlink->nvls, profile.arch >= GpuArch::hopper);
  }
  for (const char* name : {"rtx-a6000", "rtx-4090", "l4"}) {
    EXPECT_FALSE(gpu(name).nvlink.has_value()) << name;
  }
}

// Seven peers, each with wires of its own: 7 x 64 GB/s, 7 x 3 x 100 and 7 x 3 x 200 Gbit/s.
TEST(ShippedProfiles, InAMeshAGroupHasTheLinksToItsOwnMembers) {
  for (const auto& [name, bandwidth] : {std::pair("mi300x", 448.0), std::pair("mi355x", 535.5),
                                        std::pair("gaudi2", 262.5), std::pair("gaudi3", 525.0)}) {
    SCOPED_TRACE(name);
    const GpuProfile profile = gpu(name);
    ASSERT_TRUE(profile.nvlink.has_value());
    EXPECT_NEAR(in_gigabytes_per_second(profile.nvlink->bandwidth.value()), bandwidth, 0.001);
    EXPECT_EQ(profile.nvlink->peers, 7);
    EXPECT_FALSE(profile.nvlink->nvls);
    EXPECT_DOUBLE_EQ(profile.nvlink->share_of(2), 1.0 / 7.0);
    EXPECT_DOUBLE_EQ(profile.nvlink->share_of(4), 3.0 / 7.0);
    EXPECT_DOUBLE_EQ(profile.nvlink->share_of(8), 1.0);
  }
  EXPECT_DOUBLE_EQ(gpu("h100-sxm-80gb").nvlink->share_of(2), 1.0);
}

TEST(ShippedProfiles, UnitsThatACardLacksHaveNoRate) {
  EXPECT_EQ(gpu("v100-sxm-32gb").find_gemm(model::Dtype::bf16), nullptr);
  EXPECT_EQ(gpu("a100-sxm-80gb").find_gemm(model::Dtype::fp8), nullptr);
  EXPECT_NE(gpu("h100-sxm-80gb").find_gemm(model::Dtype::fp8), nullptr);
  EXPECT_EQ(gpu("h100-sxm-80gb").find_gemm(model::Dtype::fp4), nullptr);
  EXPECT_NE(gpu("b200-sxm").find_gemm(model::Dtype::fp4), nullptr);
}

// Every data-centre part since Ampere knows the generations that its stacks name.
TEST(ShippedProfiles, AttentionGenerationsAreOrderedAsTheyAppeared) {
  for (const char* name : {"h100-sxm-80gb", "h100-sxm-96gb-500w", "h200-sxm", "h800-sxm"}) {
    SCOPED_TRACE(name);
    const GpuProfile profile = gpu(name);
    FlopPerSecond before;
    for (const AttentionGeneration generation :
         {AttentionGeneration::triton_2023, AttentionGeneration::fa2,
          AttentionGeneration::triton_2024, AttentionGeneration::cudnn_2024,
          AttentionGeneration::fa3, AttentionGeneration::cudnn_9}) {
      const AttentionRate* rate = profile.find_attention(generation);
      ASSERT_NE(rate, nullptr) << to_string(generation);
      EXPECT_GT(rate->forward.value(), before) << to_string(generation);
      before = rate->forward.value();
    }
  }
  EXPECT_NE(gpu("a100-sxm-80gb").find_attention(AttentionGeneration::triton_2023), nullptr);
  EXPECT_EQ(gpu("gb200").attention.generation, AttentionGeneration::cudnn_9);
}

// The attention coefficients reproduce the published points they were fitted to:
// rate(s) = asymptote / (1 + half_length / s), times backward_ratio backward. cuDNN 9.19, H200,
// causal, bf16.
TEST(ShippedProfiles, H200AttentionReproducesItsSource) {
  struct Point {
    double sequence;
    double forward;
    double backward;
  };

  const std::array points = {Point{2048, 484, 370}, Point{4096, 591, 474}, Point{8192, 644, 541},
                             Point{16384, 673, 579}, Point{32768, 688, 581}};
  const AttentionRate attention = gpu("h200-sxm").attention;
  for (const Point& point : points) {
    const double shape = 1.0 / (1.0 + attention.half_length.value() / point.sequence);
    EXPECT_NEAR(in_teraflop_per_second(attention.forward.value()) * shape / point.forward, 1.0,
                0.05);
    const double half = attention.half_length.value() * attention.backward_ratio->value();
    const double backward = 1.0 / (1.0 + half / point.sequence);
    EXPECT_NEAR(in_teraflop_per_second(attention.backward.value()) * backward / point.backward, 1.0,
                0.05);
  }
}

namespace fs = std::filesystem;

const fs::path kScenarios = fs::path(kSourceDir) / "scenarios";

const std::vector<GpuName>& shipped_names() {
  static const std::vector<GpuName> names = gpu_names({{kScenarios / "profiles"}});
  return names;
}

std::optional<std::string> found(std::string_view text) {
  return profile_in_text(shipped_names(), text);
}

// As data sets, drivers and vendors spell them: case and separators do not matter, words do.
TEST(GpuNames, FindTheGpuHoweverItIsSpelt) {
  for (const auto& [name, profile] : std::initializer_list<std::pair<const char*, const char*>>{
           {"AMD MI300X", "mi300x"},
           {"AMD Instinct MI300X OAM", "mi300x"},
           {"8xMI300X", "mi300x"},
           {"AMD MI325X", "mi325x"},
           {"AMD MI355X", "mi355x"},
           {"Intel Gaudi 2", "gaudi2"},
           {"Gaudi2", "gaudi2"},
           {"intel-gaudi-3", "gaudi3"},
           {"HL-225H", "gaudi2"},
           {"NVIDIA H100 SXM", "h100-sxm-80gb"},
           {"H100-80GB", "h100-sxm-80gb"},
           {"NVIDIA H100 PCIe", "h100-pcie-80gb"},
           {"H100-PCIE-80GB", "h100-pcie-80gb"},
           {"NVIDIA H100 NVL", "h100-nvl-94gb"},
           {"H100 SXM5 96GB", "h100-sxm-96gb-500w"},
           {"H100-96GB HBM2e 2.4 TB/s (500 W cap)", "h100-sxm-96gb-500w"},
           {"H20-3e", "h20-sxm"},
           {"H800 PCIe", "h100-pcie-80gb"},
           {"NVIDIA H200", "h200-sxm"},
           {"NVIDIA H200 141GB NVL", "h200-nvl"},
           {"GB200", "gb200"},
           {"NVIDIA GH200 SXM 141GB 900W", "gh200"},
           {"A100-PCIE-40GB", "a100-pcie-40gb"},
           {"A100 80GB PCIe", "a100-pcie-80gb"},
           {"A100-40GB (p4d.24xlarge)", "a100-sxm-40gb"},
           {"A800", "a800-sxm-80gb"},
           {"NVIDIA A40", "a40"},
           {"NVIDIA L40S", "l40s"},
           {"NVIDIA L4", "l4"},
           {"NVIDIA GeForce RTX 5090", "rtx-5090"},
           {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
           {"Tesla V100-SXM2-16GB", "v100-sxm-16gb"},
           {"NVIDIA B300 SXM6 AC", "b300-sxm"}}) {
    EXPECT_EQ(found(name), profile) << name;
  }
  for (const char* name : {"NVIDIA L40", "RTX A4000", "MI250X", "TPU v5p", ""}) {
    EXPECT_EQ(found(name), std::nullopt) << name;
  }
}

// What a driver prints is one GPU or none: a laptop's is no card, half a name no answer.
TEST(GpuNames, TakeTheNameOfADeviceToTheLetter) {
  for (const char* device : {"NVIDIA H100 80GB HBM3", "A100-SXM4-40GB", "HL-225"}) {
    EXPECT_EQ(profiles_of_device(shipped_names(), device).size(), 1U) << device;
  }
  for (const char* device : {"NVIDIA A10G", "NVIDIA A100-SXM4", "NVIDIA GeForce RTX 4090 D",
                             "NVIDIA GeForce RTX 4090 Laptop GPU",
                             "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", ""}) {
    EXPECT_TRUE(profiles_of_device(shipped_names(), device).empty()) << device;
  }
}

TEST(GpuNames, BelongToOneShippedProfileEach) {
  std::map<std::string, std::string> owners;
  std::set<std::string> named;
  for (const GpuName& gpu : shipped_names()) {
    EXPECT_EQ(owners.try_emplace(gpu.name, gpu.profile).first->second, gpu.profile) << gpu.name;
    EXPECT_EQ(found(gpu.name), gpu.profile) << gpu.name;
    named.insert(gpu.profile);
  }
  for (const std::string& profile : list_gpu_profiles({{kScenarios / "profiles"}})) {
    EXPECT_TRUE(named.contains(profile)) << profile << " has no names";
  }
}

void collect_gpus(const yaml::Value& value, std::set<std::string>& gpus) {
  for (const yaml::Entry& entry : value.entries) {
    if (entry.key == "gpu" && entry.value.kind == yaml::Value::Kind::scalar) {
      gpus.insert(entry.value.text);
    }
    collect_gpus(entry.value, gpus);
  }
  for (const yaml::Value& item : value.items) {
    collect_gpus(item, gpus);
  }
}

TEST(GpuNames, CoverEveryGpuOfThePublishedDataSets) {
  std::set<std::string> gpus;
  for (const fs::directory_entry& file :
       fs::recursive_directory_iterator(kScenarios / "published")) {
    if (!file.is_regular_file()) {
      continue;
    }
    Diagnostics diagnostics;
    const auto document =
        yaml::parse_file(file.path(), yaml::Limits{}, diagnostics, file.path().string());
    ASSERT_TRUE(document) << to_string(diagnostics);
    collect_gpus(*document, gpus);
  }
  EXPECT_GE(gpus.size(), 30U);
  // Neither has a profile: a system on a chip, and cards whose log does not name them.
  for (const char* unknown : {"GB10 (DGX Spark)", "RTX 6000D-class PCIe GPUs"}) {
    EXPECT_EQ(gpus.erase(unknown), 1U) << unknown;
  }
  for (const std::string& gpu : gpus) {
    EXPECT_TRUE(found(gpu)) << gpu;
  }
}

}  // namespace
}  // namespace orrery::hardware
