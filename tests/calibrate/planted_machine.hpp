#pragma once

// A machine whose kernels obey known laws, and the journal that measuring it would give.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/profile/build_profile.hpp"
#include "calibrate/profile/kernel_points.hpp"
#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {

inline const std::string kProfiles = std::string(kSourceDir) + "/scenarios/profiles";

inline hardware::ProfileSearch shipped_profiles() {
  return {.directories = {kProfiles}, .allow_foreign = false};
}

// Its tiles, SMs and datasheet are those of the shipped profile.
inline const hardware::GpuProfile& planted_gpu() {
  static const hardware::GpuProfile gpu = [] {
    Diagnostics diagnostics;
    return hardware::load_gpu_profile("h200-sxm", shipped_profiles(), {}, "gpu", diagnostics)
        .value();
  }();
  return gpu;
}

inline Fingerprint planted_machine() {
  Fingerprint f;
  f.gpu = "NVIDIA H200";
  f.gpu_uuid = "GPU-0";
  f.gpus = 1;
  f.compute_capability = "9.0";
  f.multiprocessors = 132;
  f.l2_bytes = 62914560;
  f.memory_bytes = 150754820096;
  f.pcie_generation = 5;
  f.pcie_width = 16;
  f.ecc = true;
  f.driver = "580.95.05";
  f.cuda_compiled = f.cuda_runtime = f.cuda_driver = "13.0";
  f.cublaslt = {.header = 130100, .runtime = 130100};
  f.cudnn = {.header = std::nullopt, .runtime = std::nullopt};
  f.nccl = {.header = 22809, .runtime = 22809};
  f.power_limit = 700.0;
  f.most_sm_clock = 1980.0;
  f.cpu = "a \"host\" \\ CPU";
  f.cores = 16;
  f.tool = "0.1.0";
  return f;
}

// Times of `kernel` around `time`: five, spread by the noise, whose median is the noisy time.
class PlantedJournal {
 public:
  PlantedJournal(std::uint64_t seed, double noise)
      : random_(seed, 0, Purpose::property_test), noise_(noise) {
    measurements.fingerprint = planted_machine();
  }

  void add(const std::string& text, double us, const std::string& implementation = "cublaslt") {
    const kernels::ParsedCase parsed = kernels::parse_case(text);
    ORRERY_CHECK(parsed.kernel.has_value(), "{}: {}", text, parsed.problem);
    Sample sample;
    sample.kernel = *parsed.kernel;
    sample.block = "dense";
    const double median = us * std::exp(noise_ * random_.normal());
    sample.times = {median, median * 1.01, median * 0.99, median * 1.02, median * 0.98};
    sample.state.sm_clock = 1455.0;
    sample.state.throttled = {"sw_power_cap"};
    sample.implementation = implementation;
    sample.taken_at = "2026-11-20T12:00:00Z";
    measurements.samples.push_back(std::move(sample));
  }

  Measurements measurements;

 private:
  RandomStream random_;
  double noise_;
};

// A sample of a known case under a condition, compared with the case alone.
inline Sample under(const std::string& kernel, const std::string& condition, double us,
                    double alone_us) {
  PlantedJournal journal(1, 0.0);
  journal.add(kernel, us);
  Sample sample = journal.measurements.samples.front();
  sample.condition = parse_condition(condition).value();
  if (alone_us > 0.0) {
    sample.alone = alone_us;
  }
  return sample;
}

// Shapes of layers: tokens x widths.
inline std::vector<std::array<std::int64_t, 3>> planted_shapes() {
  std::vector<std::array<std::int64_t, 3>> shapes;
  for (const std::int64_t m : {1024, 4096, 16384}) {
    for (const std::int64_t n : {1024, 4096, 14336, 53248}) {
      for (const std::int64_t k : {1024, 4096, 16384, 28672}) {
        shapes.push_back({m, n, k});
      }
    }
  }
  return shapes;
}

inline std::string gemm_text(const std::string& role, const std::array<std::int64_t, 3>& mnk) {
  return "gemm " + role + " bf16 m=" + std::to_string(mnk[0]) + " n=" + std::to_string(mnk[1]) +
         " k=" + std::to_string(mnk[2]);
}

// t = a + b F + c B of a product, in us; F in whole tiles and waves.
struct PlantedLine {
  double a = 4.0;             // us
  double rate = 700.0;        // TFLOP/s
  double bandwidth = 4000.0;  // GB/s

  [[nodiscard]] double operator()(const std::string& text) const {
    const auto kernel = *kernels::parse_case(text).kernel;
    return a + in_flop(fit_work(kernel, planted_gpu())) / (rate * kTera) / kMicro +
           in_bytes(fit_bytes(kernel)) / (bandwidth * kGiga) / kMicro;
  }
};

}  // namespace orrery::calibrate
