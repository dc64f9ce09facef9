#pragma once

// Temporary profile directories and small valid documents for the tests of hardware/.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/step/hardware/profile_reader.hpp"
#include "tests/support.hpp"

namespace orrery::hardware {

inline const SourceLocation kWhere = {"scenario.yaml", 7, 8};

// A profile directory that lives as long as the test; its path is <temporary>/profiles.
class ProfileFolder {
 public:
  ProfileFolder() {
    std::filesystem::create_directories(path() / "gpu");
    std::filesystem::create_directories(path() / "software");
  }

  [[nodiscard]] std::filesystem::path root() const { return root_; }

  [[nodiscard]] std::filesystem::path path() const { return root_ / "profiles"; }

  [[nodiscard]] ProfileSearch search() const { return {{path()}}; }

  // Returns the path of the file.
  std::filesystem::path write(std::string_view relative, std::string_view text) const {
    return root_.write(std::filesystem::path("profiles") / relative, text);
  }

 private:
  TempFolder root_;
};

inline const std::string kTinyGpu = R"(format: orrery-gpu/1
name: tiny
full_name: Tiny GPU
arch: ampere
sm_count: 10
memory: {value: 8GiB, source: datasheet, citation: sheet}
hbm_bandwidth: {value: 500GB/s, source: datasheet, citation: sheet}
memory_efficiency: {value: 0.9, source: assumed, citation: why}
launch_latency: {value: 2us, source: assumed, citation: why}
host_bandwidth: {value: 20GB/s, source: assumed, citation: why}
pcie_bandwidth: {value: 12GB/s, source: assumed, citation: why}
power_watts: {value: 200, source: datasheet, citation: sheet}
nvlink:
  bandwidth: {value: 100GB/s, source: datasheet, citation: sheet}
  nccl_ring_bandwidth: {value: 80GB/s, source: published, citation: NCCL}
  nvls: false
gemm:
  bf16:
    peak: {value: 100TFLOP/s, source: datasheet, citation: sheet}
    sustained: {value: 80TFLOP/s, source: published, citation: paper, residual: 2%}
    half_depth: {value: 100, source: published, citation: paper, range: [512, 8192]}
attention:
  forward: {value: 70TFLOP/s, source: published, citation: paper}
  backward: {value: 60TFLOP/s, source: published, citation: paper}
  half_length: {value: 300, source: published, citation: paper}
)";

}  // namespace orrery::hardware
