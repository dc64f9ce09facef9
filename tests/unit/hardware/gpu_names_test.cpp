#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "sim/base/yaml/document.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "tests/checkout.hpp"

namespace orrery::hardware {
namespace {

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
