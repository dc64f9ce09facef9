#pragma once

// When is the state saved, how long does training stand still for it, and when does it protect?
//
//   size    = parameters * bytes_per_parameter
//   sync:   stall = durable = max(size / write, size / gpus / device_to_host)
//   async:  stall = size / gpus / device_to_host,  durable = stall + size / write
//   auto:   M (1 + W0(-exp(-stall / M - 1))), a whole number of steps, at least `durable` (async)
//
// symbol              | meaning                                                | unit    | origin
// --------------------|--------------------------------------------------------|---------|---------
// interval            | training time between two saves                        | s, step | scenario
// stall               | training blocked by one save                           | s       | computed
// durable             | from the begin of a save until it protects             | s       | computed
// bytes_per_parameter | bf16 weights, fp32 master copy and two moments: 14     | byte    | scenario
// write, read         | rates of the storage for the whole job                 | byte/s  | scenario
// device_to_host      | rate at which one GPU copies its state to host memory  | byte/s  | assumed
// M                   | mean time between failures of the job                  | s       | computed
//
// Two times, not one: the optimum follows `stall`, the lost work follows `durable`. A save that is
// due while the one before is still being written waits for it; training goes on meanwhile.

#include <cstdint>
#include <optional>
#include <variant>

#include "sim/base/units.hpp"

namespace orrery::run {

enum class CheckpointMode { sync, async };

struct AutoInterval {};

struct StepsInterval {
  std::int64_t steps = 1;
};

// Rounded to the nearest whole number of steps, at least one.
struct TimeInterval {
  Seconds value;
};

using CheckpointInterval = std::variant<AutoInterval, StepsInterval, TimeInterval>;

struct StorageSpec {
  BytesPerSecond write = terabytes_per_second(2.0);
  BytesPerSecond read = terabytes_per_second(2.0);
};

// Training state per parameter: bf16 weights (2), fp32 master copy (4), two fp32 moments (8).
inline constexpr double kDefaultBytesPerParameter = 14.0;

// Assumed: about 60 % of the 32 GB/s of a PCIe 4.0 x16 link, the slower host link in use.
inline constexpr double kDefaultDeviceToHostGigabytesPerSecond = 20.0;

struct CheckpointSpec {
  CheckpointInterval interval = AutoInterval{};
  CheckpointMode mode = CheckpointMode::sync;
  Bytes bytes_per_parameter = bytes(kDefaultBytesPerParameter);
  StorageSpec storage;
  BytesPerSecond device_to_host = gigabytes_per_second(kDefaultDeviceToHostGigabytesPerSecond);
  std::optional<Seconds> stall;    // replaces the computed stall
  std::optional<Seconds> durable;  // replaces the computed durable time; sync: must equal the stall
  bool final_save = true;          // save once more when the target is reached, and wait for it
};

}  // namespace orrery::run
