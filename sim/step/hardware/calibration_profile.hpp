#pragma once

// A calibration profile: one machine, measured, `calibration-profile/1`, read
// wherever a GPU profile may stand (`cluster.gpu: my-cluster.yaml`).
//
// key         | meaning                                                         | needed
// ------------|-----------------------------------------------------------------|-----------------
// schema      | calibration-profile/1                                           | always
// base        | shipped GPU profile: datasheet values, and what was not measured | always
// fingerprint | machine and versions (fingerprint.hpp), with their id           | always
// measured_at | date of the last sample                                         | always
// protocol, settling | how it was measured, how clock and time settled; for people | no
// raw         | file with every single time; for people                         | no
// samples     | medians of each case: text of the case, regime, us, fit_us      | always
// unsupported | cases that the library refused, with its status                 | no
// fits        | lines and laws through the samples of one kind, with residuals  | always
// derived     | figures that stand for no kernel: copy_gbps, graph_node_us, ... | no
// collectives | absent, or tables as in orrery-collectives/1                    | always
// quality     | drift of the anchors, checks, warnings; for people              | no
//
// measured figure           | replaces of the base
// --------------------------|----------------------------------------------------------------------
// fits and sustained samples| kernels (kernel_tables.hpp): times of single kernels
// fastest product of a type | sustained, burst; block_ratio and mx_ratio of 8 bit
// attention fits            | attention rates and ratios
// derived.copy_gbps, step_clock_mhz | memory_efficiency; clock of products (at_step_clock)
// derived.graph_node_us     | launch_latency
// derived.d2h_pinned_gbps   | host_bandwidth
// fingerprint               | sm_count, memory, power_watts
// collectives               | tables that come before the shipped ones
//
// A profile of another GPU than its base is refused (Error of kind device) unless
// ProfileSearch::allow_foreign says otherwise. Rates above the datasheet's peak are errors.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/fingerprint.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/kernel_tables.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::hardware {

struct ProfileSearch;

inline constexpr std::string_view kCalibrationSchema = "calibration-profile/1";

struct CalibrationSample {
  std::string id;
  kernels::KernelCase call;
  std::string implementation;
  bool burst = false;
  std::int64_t count = 0;  // of the samples
  Seconds median;
  Seconds p10;
  Seconds p90;
  Seconds minimum;
  std::optional<Seconds> fitted = {};
  std::optional<Bytes> moved = {};             // memory-bound kernels
  std::optional<double> clock_mhz = {};        // of the SMs, while it ran
  std::optional<double> power_watts = {};      // of the board
  std::optional<double> first_over_best = {};  // the library's first candidate / its best one
};

// Law of fused attention (attention.hpp of sim/step/cost) for one role and precision.
struct AttentionFit {
  FlopPerSecond rate;
  std::optional<double> half_length = {};     // forward
  std::optional<double> full_ratio = {};      // forward
  std::optional<double> backward_ratio = {};  // backward
  std::optional<double> head_64 = {};         // forward
  std::optional<double> head_256 = {};        // forward
};

struct CalibrationFit {
  kernels::Operation operation = kernels::Operation::gemm;
  kernels::Role role = kernels::Role::none;
  kernels::Precision precision = kernels::Precision::bf16;
  std::string implementation;
  KernelLine line;
  std::optional<AttentionFit> attention = {};
  // Extents (memory-bound kernels: bytes) of the points that the fit has seen, lowest and highest.
  std::array<double, kernels::kMaxAxes> lowest = {};
  std::array<double, kernels::kMaxAxes> highest = {};
};

struct UnsupportedCase {
  kernels::KernelCase call;
  std::string status;
};

struct CalibrationProfile {
  std::string file;
  std::string base;
  SourceLocation base_where;
  std::string id;
  std::string measured_at;
  Fingerprint fingerprint;
  std::vector<CalibrationSample> samples;
  std::vector<UnsupportedCase> unsupported;
  std::vector<CalibrationFit> fits;
  std::vector<std::pair<std::string, double>> derived;  // by the names of derived_names()
  std::optional<CollectiveTables> collectives = {};

  [[nodiscard]] std::optional<double> find_derived(std::string_view name) const;
};

// Figures that a profile may derive, by name; the unit is the name's last word.
[[nodiscard]] std::span<const std::string_view> derived_names();

// True for a document that calls itself a calibration profile, whether it is sound or not.
[[nodiscard]] bool is_calibration(const yaml::Value& root);

// Nothing when the document has at least one error.
[[nodiscard]] std::optional<CalibrationProfile> read_calibration_document(const yaml::Value& root,
                                                                          const std::string& file,
                                                                          Diagnostics& diagnostics);

// The series of its fits; those without a point are left out.
[[nodiscard]] KernelTables kernel_tables(const CalibrationProfile& profile);

// Why the profile does not belong to `base`, in one sentence; nothing when it does.
[[nodiscard]] std::optional<std::string> foreign_reason(const CalibrationProfile& profile,
                                                        const GpuProfile& base,
                                                        const ProfileSearch& search);

// `base` with what was measured in place of what it says. Nothing after an error, such as a rate
// above the datasheet's peak.
[[nodiscard]] std::optional<GpuProfile> calibrated(GpuProfile base, CalibrationProfile profile,
                                                   Diagnostics& diagnostics);

// The time of a kernel at the clock of a whole step, which is not that of the kernel alone.
//
//   time = median * clock / step_clock     products and attention
//   time = median                          all other kernels, whose memory has a clock of its own

inline constexpr std::string_view kStepClock = "step_clock_mhz";  // among the derived figures

// Whether a kernel's time follows the clock of the multiprocessors, not that of the memory.
[[nodiscard]] bool follows_clock(kernels::Operation operation);

// `median` as it is where one of the two clocks is not known.
[[nodiscard]] Seconds at_step_clock(kernels::Operation operation, Seconds median,
                                    std::optional<double> clock, std::optional<double> step_clock);

}  // namespace orrery::hardware
