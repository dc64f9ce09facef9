#pragma once

// Measurements of one case, the raw evidence of a profile: every time, and the state of the GPU
// while it was taken.
//
// symbol       | meaning                                                       | unit  | origin
// -------------|---------------------------------------------------------------|-------|---------
// times        | of one call: a replay of a graph / its calls                  | us    | measured
// regime       | burst: from idle; sustained: at the clock of a long run       | -     | protocol
// state        | of the GPU while these times were taken; what NVML does not    | -     | measured
//              | say is absent                                                 |       |
// status       | what the library answered where it does not offer the case    | -     | library
// error        | of the checked result, in tolerances of its format; <= 1      | 1     | verified
// condition    | what was different from the case alone (above)              | -     | protocol
// alone        | the same call without that, timed just before                 | us    | measured
// first_choice | time of the library's first choice / of its best candidate    | 1     | measured
//
// A case that is not supported is a result too. `role` of a sample: a `functional` one shows that
// something works and is no evidence of speed (two processes on one GPU); fits refuse it.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

// The condition of a measurement. A case is normally measured alone, call after call in a graph;
// some figures of a machine need it under another condition.
//
// condition            | text                                     | times are of one call
// ---------------------|------------------------------------------|-------------------------------
// alone                | (none)                                   | among many calls of one graph
// enqueued             | enqueued                                 | of a row without a graph
// graph of n calls     | graph calls=64                           | replay of n calls / n
// fewer processors     | multiprocessors removed=16               | while a kernel spins on them
// beside streaming     | multiprocessors streaming=16             | while a kernel on as many SMs
//                      |                                          | copies memory throughout
// concurrent groups    | concurrent groups=8                      | of a collective while as many
//                      |                                          | groups run it at once
// beside another case  | beside device_to_host bytes=268435456    | while the other runs throughout
//
// Only what was measured alone is evidence for the fit of a kernel; the others are for the derived
// figures of a profile (calibrate/profile/kernel_points.hpp).

struct Condition {
  enum class Kind { alone, enqueued, graph, fewer_multiprocessors, streaming, concurrent, beside };

  Kind kind = Kind::alone;
  std::int64_t count = 0;                         // calls of the graph, SMs, or groups
  std::optional<kernels::KernelCase> other = {};  // that runs beside

  [[nodiscard]] bool alone() const { return kind == Kind::alone; }

  friend bool operator==(const Condition& a, const Condition& b) = default;
};

// Empty for `alone`.
[[nodiscard]] std::string to_text(const Condition& condition);

// Nothing when it is none; the empty text is `alone`.
[[nodiscard]] std::optional<Condition> parse_condition(std::string_view text);

enum class Regime { burst, sustained };

[[nodiscard]] std::string_view to_string(Regime regime);

// While the times of one case were taken: medians where there are several readings.
struct DeviceState {
  std::optional<double> sm_clock = {};      // MHz
  std::optional<double> memory_clock = {};  // MHz
  std::optional<double> power = {};         // W, of the board
  std::optional<double> energy = {};        // J per call, of the board: a difference of its counter
  std::optional<double> temperature = {};   // deg C
  std::vector<std::string> throttled = {};  // why the clock was lowered, by name; empty: it was not
  std::int64_t discarded = 0;               // replays that are not in the times: throttled
  std::int64_t late = 0;                    // replays of the times after which the GPU rested
};

struct Sample {
  kernels::KernelCase kernel;
  Regime regime = Regime::sustained;
  Condition condition = {};
  std::string block;          // of the plan
  std::vector<double> times;  // us
  DeviceState state;
  std::string implementation;
  std::vector<std::pair<std::string, std::string>> details;  // what the library chose
  std::optional<double> alone = {};  // us; where the condition slows a call down
  std::optional<double> first_choice;
  bool supported = true;
  std::string status;           // where it is not
  std::optional<double> error;  // absent: not verified
  bool drifted = false;         // the anchor had moved around it, and it was not repeated
  bool functional = false;
  std::int64_t repeat = 0;  // of an anchor, from 1; 0: the point itself
  std::string taken_at;     // UTC, 2026-11-20T12:00:00Z
};

// One line of JSON without its newline, and back: nothing when it is no sample. Numbers come back
// bit for bit.
[[nodiscard]] std::string to_line(const Sample& sample);
[[nodiscard]] std::optional<Sample> read_sample(std::string_view line);

// Two samples of one case, regime, condition and repeat stand for the same point.
[[nodiscard]] std::string key_of(const kernels::KernelCase& kernel, Regime regime,
                                 const Condition& condition = {}, std::int64_t repeat = 0);

// Robust statistics of repeated timings: the time of a kernel and its uncertainty.
//
//   error = (x(n/2 + sqrt(n)/2) - x(n/2 - sqrt(n)/2)) / (2 median)
//
// symbol  | meaning                                                     | unit | origin
// --------|-------------------------------------------------------------|------|---------
// n       | samples                                                     | 1    | measured
// x(r)    | order statistic at rank r, linear between ranks             | any  | measured
// error   | relative standard error of the median: the rank of the      | 1    | computed
//         | median among n samples has standard deviation sqrt(n)/2,    |      |
//         | whatever the distribution                                   |      |
//
// Source: order-statistic intervals of a median: B. Arnold, N. Balakrishnan, H. Nagaraja, A First
// Course in Order Statistics, section 7.

struct Summary {
  std::size_t count = 0;
  double median = 0.0;
  double p10 = 0.0;
  double p90 = 0.0;
  double least = 0.0;
  double error = 0.0;  // relative standard error of the median
};

// Of at least one sample, in the unit of the samples; quantiles are linear between ranks.
[[nodiscard]] Summary summarise(std::span<const double> samples);

// Settling curve of a GPU under load, which shows when its clock and the time of a kernel are
// steady: one case, replayed without pause from idle.
//
// symbol     | meaning                                                     | unit | origin
// -----------|-------------------------------------------------------------|------|---------
// since_load | from the first replay to the middle of this one             | s    | measured
// time       | of one call: a replay / its calls                           | us   | measured
// sm_clock   | of the multiprocessors; absent where NVML does not say      | MHz  | measured
// power      | of the board; absent where NVML does not say                | W    | measured
//
// Boards run fast for the first tenths of a second and slower once the power limit acts; what is
// timed before the curve is flat is a burst.

struct SettlingPoint {
  double since_load = 0.0;              // s
  double time = 0.0;                    // us
  std::optional<double> sm_clock = {};  // MHz
  std::optional<double> power = {};     // W

  friend bool operator==(const SettlingPoint& a, const SettlingPoint& b) = default;
};

struct SettlingCurve {
  kernels::KernelCase kernel;
  std::string taken_at;               // UTC, as Sample::taken_at
  std::vector<SettlingPoint> points;  // since_load rises
};

// One line of JSON without its newline, and back: nothing when it is no curve.
[[nodiscard]] std::string to_line(const SettlingCurve& curve);
[[nodiscard]] std::optional<SettlingCurve> read_settling(std::string_view line);

// Fingerprint of a measured machine: everything that may change a rate, from GPU to libraries.
//
// What varies from run to run (clocks under load, date) is not part of it. What is not known is
// absent, never 0. The board itself is part of it: two of one type differ by several per cent.
//
// symbol    | meaning                                                            | unit | origin
// ----------|--------------------------------------------------------------------|------|-------
// gpu_uuid  | of the board that is measured: "GPU-8f1c..."                        | -    | NVML
// links     | NVLinks of that board that are up                                   | 1    | NVML
// version   | of NVLink: "4.0"                                                    | -    | NVML
// switched  | whether they lead to NVSwitches, not to other boards                | -    | NVML
// peers     | links that lead straight to each visible GPU, by its index; its     | 1    | NVML
//           | own is 0; empty where they are switched                             |      |
//
// Its id is that of the profile (calibrate/profile/build_profile.hpp). A profile whose
// GPU has another name than the scenario's is foreign.

struct LibraryVersions {
  std::optional<std::int64_t> header;   // absent: not compiled in
  std::optional<std::int64_t> runtime;  // absent: not installed
};

struct NvlinkTopology {
  std::int64_t links = 0;
  std::optional<std::string> version = {};
  bool switched = false;
  std::vector<std::int64_t> peers = {};

  friend bool operator==(const NvlinkTopology& a, const NvlinkTopology& b) = default;
};

struct Fingerprint {
  std::string gpu;  // as the driver names it
  std::optional<std::string> gpu_uuid;
  std::int64_t gpus = 0;
  std::string compute_capability;  // "9.0"
  std::int64_t multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> pcie_generation;
  std::optional<std::int64_t> pcie_width;
  std::optional<bool> mig;
  std::optional<bool> ecc;
  std::optional<std::string> driver;  // "580.95.05"
  std::string cuda_compiled;          // "13.0"
  std::string cuda_runtime;
  std::string cuda_driver;  // newest that the driver runs
  LibraryVersions cublaslt;
  LibraryVersions cudnn;
  LibraryVersions nccl;
  std::optional<NvlinkTopology> nvlink;  // absent: NVML does not say
  std::optional<double> power_limit;     // W
  std::optional<double> most_sm_clock;   // MHz
  std::string cpu;
  std::int64_t cores = 0;
  std::string tool;  // version of orrery
};

// One object of JSON, and back: nothing when a field is missing or of another type.
[[nodiscard]] nlohmann::ordered_json json_of(const Fingerprint& fingerprint);
[[nodiscard]] std::string to_json(const Fingerprint& fingerprint);
[[nodiscard]] std::optional<Fingerprint> read_fingerprint(std::string_view json);

// Names of the fields in which two differ, for people: "driver, cublaslt".
[[nodiscard]] std::string differences(const Fingerprint& a, const Fingerprint& b);

}  // namespace orrery::calibrate
