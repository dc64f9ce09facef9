#pragma once

// A planted machine, its journal, and a folder in which its profile is written and read.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/files/file.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "tests/calibrate/planted_machine.hpp"
#include "tests/support.hpp"

namespace orrery::calibrate {

inline constexpr std::uint64_t kSeed = 7;
inline const SourceLocation kWhere = {"scenario.yaml", 7, 8};
inline const std::string kAnchor = "gemm fprop bf16 m=8192 n=8192 k=8192";

// Attention of a known law, in us: forward 600 TFLOP/s, s0 300, backward 480 and 1.3 s0.
inline double attention_us(const std::string& text) {
  Diagnostics diagnostics;
  auto gpu = hardware::load_gpu_profile("h200-sxm", shipped_profiles(), {}, "gpu", diagnostics);
  const Source source{SourceKind::measured, "planted"};
  hardware::AttentionRate law{.forward = {teraflop_per_second(600.0), source},
                              .backward = {teraflop_per_second(480.0), source},
                              .half_length = {300.0, source}};
  law.backward_ratio = Coefficient<double>(1.3, source);
  law.full_ratio = Coefficient<double>(0.4, source);
  law.head_64 = Coefficient<double>(0.75, source);
  const auto kernel = *kernels::parse_case(text).kernel;
  const auto op = *cost::attention_of(kernel);
  return in_microseconds(cost::library_attention_time(op, law, *gpu));
}

inline Measurements planted(double noise, double factor = 1.0) {
  PlantedJournal journal(kSeed, noise);
  const PlantedLine line;
  for (const std::string role : {"fprop", "dgrad", "wgrad_accumulate"}) {
    for (const auto& shape : planted_shapes()) {
      const std::string text = gemm_text(role, shape);
      journal.add(text, factor * line(text));
    }
  }
  for (const std::string op : {"rms_norm forward", "rms_norm backward", "swiglu forward"}) {
    for (const std::int64_t rows : {1024, 4096, 16384, 65536}) {
      const std::string text = op + " bf16 rows=" + std::to_string(rows) + " columns=8192";
      const auto kernel = *kernels::parse_case(text).kernel;
      journal.add(text, 3.0 + in_bytes(fit_bytes(kernel)) / (4000.0 * kGiga) / kMicro, "own");
    }
  }
  for (const std::string role : {"forward", "backward"}) {
    for (const std::string causal : {"0", "1"}) {
      for (const std::string dim : {"64", "128"}) {
        for (const std::string length : {"2048", "8192", "32768"}) {
          const std::string text =
              "attention " + role + " bf16 sequences=1 heads=64 groups=8 queries=" + length +
              " keys=" + length + " dim_qk=" + dim + " dim_v=" + dim + " causal=" + causal;
          journal.add(text, attention_us(text), "cudnn");
        }
      }
    }
  }
  journal.add("copy bytes=1073741824", 2.0 * 1073741824.0 / (4300.0 * kGiga) / kMicro, "own");
  journal.add("device_to_host bytes=1073741824", 1073741824.0 / (56.0 * kGiga) / kMicro, "own");
  return journal.measurements;
}

class CalibrationFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }

  static std::string yaml_of(const Measurements& measurements, const ProfileRequest& request = {}) {
    Diagnostics diagnostics;
    const auto text = write_profile(measurements, request, shipped_profiles(), diagnostics);
    EXPECT_EQ(to_string(diagnostics), "");
    return text.value_or("");
  }

  // The machine without noise; fitted once for all tests.
  static const std::string& quiet_profile() {
    static const std::string text = yaml_of(planted(0.0));
    return text;
  }

  [[nodiscard]] std::optional<hardware::GpuProfile> load(const std::filesystem::path& path,
                                                         Diagnostics& diagnostics,
                                                         bool allow_foreign = false) const {
    hardware::ProfileSearch search = shipped_profiles();
    search.allow_foreign = allow_foreign;
    return hardware::load_gpu_profile(path.string(), search, kWhere, "cluster.gpu", diagnostics);
  }

  // Messages of the reader, without the way to the file.
  [[nodiscard]] std::string errors_of(const std::string& text) const {
    const std::filesystem::path path = write("broken.yaml", text);
    Diagnostics diagnostics;
    EXPECT_FALSE(load(path, diagnostics).has_value());
    std::string messages = to_string(diagnostics);
    const std::string name = path.string();
    for (std::size_t at = messages.find(name); at != std::string::npos; at = messages.find(name)) {
      messages.replace(at, name.size(), "broken.yaml");
    }
    return messages;
  }

  // Line of the first `words` in a text.
  static std::string line_of(const std::string& text, std::string_view words) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(words));
    return std::to_string(1 + std::count(text.begin(), end, '\n'));
  }

  TempFolder folder_;
};

}  // namespace orrery::calibrate
