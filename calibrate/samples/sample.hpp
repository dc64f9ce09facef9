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
// condition    | what was different from the case alone (condition.hpp)         | -     | protocol
// alone        | the same call without that, timed just before                 | us    | measured
// first_choice | time of the library's first choice / of its best candidate    | 1     | measured
//
// A case that is not supported is a result too. `role` of a sample: a `functional` one shows that
// something works and is no evidence of speed (two processes on one GPU); fits refuse it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/samples/condition.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

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
[[nodiscard]] std::string key_of(const kernels::KernelCase& kernel,
                                 Regime regime,
                                 const Condition& condition = {},
                                 std::int64_t repeat = 0);

}  // namespace orrery::calibrate
