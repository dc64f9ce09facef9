#pragma once

// Checkpoints as the scenario states them: interval, storage, and the stall and delay of a save.
//
//   size    = parameters * bytes_per_parameter + data-parallel ranks * data_state
//   write   = efficiency * min(write - others, per node * nodes, per client * writers)
//   writers = GPUs when sharded, else GPUs / data-parallel ranks
//   copy    = size / writers / device_to_host
//   sync:   stall = durable = max(size / write, copy)
//   async:  stall = copy,  durable = stall + size / write
//   snapshot: stall = max(0, copy - (step - update)),  durable = copy + size / write, since weights
//           do not change before the update (CheckFreq, FAST 2021; DataStates-LLM, HPDC 2024)
//   auto:   M (1 + W0(-exp(-stall / M - 1))), a whole number of steps, at least `durable` (async);
//           with tiers the pattern with the least exact waste (theory.hpp), in whole steps
//   auto with an overhead budget p: the fewest steps k with stall <= p k step and durable <= k step
//
// symbol              | meaning                                                | unit    | origin
// --------------------|--------------------------------------------------------|---------|---------
// interval            | training time between two saves                        | s, step | scenario
// stall               | training blocked by one save                           | s       | computed
// durable             | from the begin of a save until it protects             | s       | computed
// bytes_per_parameter | bf16 weights, fp32 master copy and two moments: 14     | byte    | scenario
// data_state          | state of the data loader of one data-parallel rank     | byte    | scenario
// write, read         | rates of the storage for the whole job                 | byte/s  | scenario
// others              | rate that data reads (async saves) and other jobs take | byte/s  | scenario
// device_to_host      | rate at which one GPU copies its state to host memory  | byte/s  | assumed
// M                   | mean time between failures of the job                  | s       | computed
//
// Two times, not one: the optimum follows `stall`, the lost work follows `durable`. A save that is
// due while the one before is still being written waits for it; training goes on meanwhile.
//
// Faster tiers stand in front of the storage: host memory of the nodes survives the processes of
// the job, local disks also a reboot of their node; either is lost with its node unless `replicas`
// nodes hold the same copy. Groups of `replicas` nodes hold each other's copies (GEMINI, SOSP
// 2023). A just-in-time checkpoint is written after the failure by data-parallel replicas that
// survived it; it needs a second copy of every part of the state.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::run {

// snapshot: asynchronous, and the copy to the host runs beside forward and backward.
enum class CheckpointMode { sync, async, snapshot };

struct AutoInterval {};

struct StepsInterval {
  std::int64_t steps = 1;
};

// Rounded to the nearest whole number of steps, at least one.
struct TimeInterval {
  Seconds value;
};

using CheckpointInterval = std::variant<AutoInterval, StepsInterval, TimeInterval>;

// `write` and `read` hold for the whole storage; the limits of nodes and clients (processes) for
// one of them. What is absent does not limit.
struct StorageSpec {
  BytesPerSecond write = terabytes_per_second(2.0);
  BytesPerSecond read = terabytes_per_second(2.0);
  std::optional<BytesPerSecond> write_per_node;
  std::optional<BytesPerSecond> read_per_node;
  std::optional<BytesPerSecond> write_per_client;
  std::optional<BytesPerSecond> read_per_client;
  double efficiency = 1.0;           // share of these rates that a checkpoint reaches
  BytesPerSecond background;         // rate that other users take, from the aggregate
  double mass_restart_share = 1.0;   // of `read` for this job when a failure restarts many jobs
  bool on_training_network = false;  // saves leave the nodes over the NICs of training
};

enum class TierMedium { memory, disk };

// A tier in front of the storage. Rates are those of one node.
struct TierSpec {
  std::string name;  // default: by medium
  TierMedium medium = TierMedium::memory;
  CheckpointInterval interval = AutoInterval{};
  CheckpointMode mode = CheckpointMode::async;
  std::int64_t replicas = 1;            // nodes that hold the same copy, the node itself included
  std::optional<BytesPerSecond> write;  // disk: required; memory: device_to_host of its GPUs
  std::optional<BytesPerSecond> read;   // disk: required; memory: device_to_host of its GPUs
  std::optional<Seconds> stall;         // these three replace the computed ones
  std::optional<Seconds> durable;
  std::optional<Seconds> load;
};

// one: each part of the state is read once and broadcast to the replicas over the fabric;
// all: every replica reads what it needs from the storage.
enum class LoadReaders { one, all };

// Training state per parameter: bf16 weights (2), fp32 master copy (4), two fp32 moments (8).
inline constexpr double kDefaultBytesPerParameter = 14.0;

// Assumed: about 60 % of the 32 GB/s of a PCIe 4.0 x16 link, the slower host link in use.
inline constexpr double kDefaultDeviceToHostGigabytesPerSecond = 20.0;

// What the storage keeps when nothing is stated: so many of the newest (torchtitan's default,
// keep_latest_k) and, to go back further, one a day (assumed).
inline constexpr std::int64_t kDefaultKept = 10;

struct CheckpointSpec {
  CheckpointInterval interval = AutoInterval{};
  std::optional<Seconds> least_interval;  // of an automatic one to the storage; absent: none
  std::optional<double> overhead_budget;  // share of the time that stalls may take; decides `auto`
  CheckpointMode mode = CheckpointMode::sync;
  Bytes bytes_per_parameter = bytes(kDefaultBytesPerParameter);
  Bytes data_state;     // of one data-parallel rank
  bool sharded = true;  // every GPU writes its share; else one of each data-parallel group
  StorageSpec storage;
  BytesPerSecond device_to_host = gigabytes_per_second(kDefaultDeviceToHostGigabytesPerSecond);
  BytesPerSecond data_reads;       // of the input pipeline while it trains, from the same storage
  std::optional<Seconds> stall;    // replaces the computed stall
  Seconds least_stall;             // of an asynchronous save whose stall is computed
  std::optional<Seconds> durable;  // replaces the computed durable time; sync: must equal the stall
  bool final_save = true;          // save once more when the target is reached, and wait for it
  std::vector<TierSpec> tiers;     // in front of the storage, fastest first
  LoadReaders readers = LoadReaders::one;
  std::optional<BytesPerSecond> reshard;   // rate of converting to another layout; absent: no time
  std::optional<std::int64_t> keep;        // newest checkpoints kept on the storage
  std::optional<std::int64_t> keep_every;  // beside them every n-th one
  bool keep_all = false;                   // nothing is deleted; excludes the two above
  double corrupt = 0.0;                    // share of checkpoints that turn out to be unreadable
  bool just_in_time = false;
  std::optional<Seconds> just_in_time_save;  // default: as a synchronous save to the storage
};

}  // namespace orrery::run
