#pragma once

// Times of a save and a load on a storage: bytes over the narrowest of three limits.
//
//   rate  = efficiency * min(aggregate - taken, per node * nodes, per client * clients)
//   save  = max(size / rate, size / writers / device_to_host)
//   load  = bytes read / rate + bytes per GPU / fabric          (readers: one)
//         = (bytes read + bytes of the other replicas) / rate   (readers: all)
//
// symbol    | meaning                                                     | unit   | origin
// ----------|-------------------------------------------------------------|--------|---------
// aggregate | rate of the whole storage                                   | byte/s | scenario
// taken     | rate that others take: other jobs, data reads of the run    | byte/s | scenario
// clients   | processes that write or read at the same time               | 1      | computed
// writers   | GPUs when the save is sharded, else those of one replica    | 1      | computed
// fabric    | rate at which one GPU receives what another one has read    | byte/s | cluster
//
// Source of the three limits: published saves stay 4 to 6 times below the nominal aggregate rate
// (504 B200 on NFS, as quoted by public notes), because nodes, clients or slots are the narrower
// limit; MegaScale (NSDI 2024) reads each part once and broadcasts it.

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"
#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/run/run_spec.hpp"

namespace orrery::run {

// The limits of one direction of a storage.
struct StorageRates {
  BytesPerSecond aggregate;
  std::optional<BytesPerSecond> per_node;
  std::optional<BytesPerSecond> per_client;
  double efficiency = 1.0;
};

// May be negative when others take more than there is.
[[nodiscard]] BytesPerSecond rate_of(const StorageRates& rates, std::int64_t nodes,
                                     std::int64_t clients, BytesPerSecond taken);

[[nodiscard]] StorageRates write_rates(const StorageSpec& storage);
[[nodiscard]] StorageRates read_rates(const StorageSpec& storage);

// Processes that take part in a save or a load, and the nodes they fill.
struct Clients {
  std::int64_t processes = 1;
  std::int64_t nodes = 1;
};

[[nodiscard]] Clients writers_of(const CheckpointSpec& spec, const StepInput& step);

// Replicas of the part that StepInput::replicated_bytes counts; at least 1.
[[nodiscard]] double replicas_of(const StepInput& step);

[[nodiscard]] Bytes checkpoint_size(const CheckpointSpec& spec, const StepInput& step);

// What saves hold in the memory of one node's host, at least: the copies of tiers in memory, else
// the part that is copied there and waits for the storage; nothing of a synchronous save.
//
//   tiers: sum of size / nodes * replicas;   else size / nodes of the writers
[[nodiscard]] Bytes host_copies(const CheckpointSpec& spec, const StepInput& step);

// Copy of the state to host memory, every writer its part.
[[nodiscard]] Seconds copy_time(const CheckpointSpec& spec, const StepInput& step);

// Of a save that is not synchronous: how long training waits, and when host memory has all of it.
struct HostCopy {
  Seconds stall;
  Seconds whole;
};

[[nodiscard]] HostCopy host_copy(const CheckpointSpec& spec, const StepInput& step);

// Size over the write rate while the input pipeline reads `data_reads` from the same storage.
[[nodiscard]] Seconds write_time(const CheckpointSpec& spec, const StepInput& step,
                                 BytesPerSecond data_reads);

// From the storage; `share` of its aggregate rate is left for this job.
[[nodiscard]] Seconds load_time(const CheckpointSpec& spec, const StepInput& step, double share);

}  // namespace orrery::run
