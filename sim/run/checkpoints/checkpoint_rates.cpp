#include "sim/run/checkpoints/checkpoint_rates.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::run {

BytesPerSecond rate_of(const StorageRates& rates, std::int64_t nodes, std::int64_t clients,
                       BytesPerSecond taken) {
  BytesPerSecond rate = rates.aggregate - taken;
  if (rates.per_node) {
    rate = std::min(rate, static_cast<double>(nodes) * *rates.per_node);
  }
  if (rates.per_client) {
    rate = std::min(rate, static_cast<double>(clients) * *rates.per_client);
  }
  return rates.efficiency * rate;
}

StorageRates write_rates(const StorageSpec& storage) {
  return {storage.write, storage.write_per_node, storage.write_per_client, storage.efficiency};
}

StorageRates read_rates(const StorageSpec& storage) {
  return {storage.read, storage.read_per_node, storage.read_per_client, storage.efficiency};
}

namespace {

Clients clients_of(double processes, const StepInput& step) {
  Clients clients;
  clients.processes = std::max<std::int64_t>(1, std::llround(processes));
  clients.nodes = (clients.processes + step.gpus_per_node - 1) / step.gpus_per_node;
  return clients;
}

}  // namespace

Clients writers_of(const CheckpointSpec& spec, const StepInput& step) {
  const double gpus = static_cast<double>(step.gpus);
  return clients_of(spec.sharded ? gpus : gpus / static_cast<double>(step.data_parallel), step);
}

double replicas_of(const StepInput& step) {
  if (step.state_replicas > 1.0) {
    return step.state_replicas;
  }
  return step.replicated_bytes > Bytes{} ? static_cast<double>(step.data_parallel) : 1.0;
}

Bytes checkpoint_size(const CheckpointSpec& spec, const StepInput& step) {
  return step.parameters * spec.bytes_per_parameter +
         static_cast<double>(step.data_parallel) * spec.data_state;
}

Bytes host_copies(const CheckpointSpec& spec, const StepInput& step) {
  const Bytes size = checkpoint_size(spec, step);
  Bytes copies;
  for (const TierSpec& tier : spec.tiers) {
    if (tier.medium == TierMedium::memory) {
      copies += size / static_cast<double>(step.nodes) * static_cast<double>(tier.replicas);
    }
  }
  const bool waits = copies == Bytes{} && spec.mode != CheckpointMode::sync;
  return waits ? size / static_cast<double>(writers_of(spec, step).nodes) : copies;
}

Seconds copy_time(const CheckpointSpec& spec, const StepInput& step) {
  const double writers = static_cast<double>(writers_of(spec, step).processes);
  return checkpoint_size(spec, step) / writers / spec.device_to_host;
}

HostCopy host_copy(const CheckpointSpec& spec, const StepInput& step) {
  const Seconds copy = copy_time(spec, step);
  if (spec.mode == CheckpointMode::snapshot) {
    const Seconds hidden = to_seconds(step.step_time - step.update);
    const Seconds stall = spec.stall.value_or(std::max(copy - hidden, Seconds{}));
    return {stall, std::max(copy, stall)};
  }
  const Seconds stall = spec.stall.value_or(std::max(copy, spec.least_stall));
  return {stall, stall};
}

Seconds write_time(const CheckpointSpec& spec, const StepInput& step, BytesPerSecond data_reads) {
  const Clients writers = writers_of(spec, step);
  return checkpoint_size(spec, step) / rate_of(write_rates(spec.storage), writers.nodes,
                                               writers.processes,
                                               spec.storage.background + data_reads);
}

Seconds load_time(const CheckpointSpec& spec, const StepInput& step, double share) {
  StorageRates rates = read_rates(spec.storage);
  rates.aggregate *= share;
  const Bytes size = checkpoint_size(spec, step);
  const double gpus = static_cast<double>(step.gpus);
  const double replicas = replicas_of(step);
  const Bytes replicated = step.parameters * step.replicated_bytes;
  if (spec.readers == LoadReaders::all) {
    const Clients all = clients_of(gpus, step);
    return (size + (replicas - 1.0) * replicated) /
           rate_of(rates, all.nodes, all.processes, share * spec.storage.background);
  }
  const Clients readers = clients_of(gpus / replicas, step);
  const Seconds read =
      size / rate_of(rates, readers.nodes, readers.processes, share * spec.storage.background);
  if (replicas <= 1.0 || !step.node_network) {
    return read;
  }
  const BytesPerSecond fabric = *step.node_network / static_cast<double>(step.gpus_per_node);
  return read + replicated / (gpus / replicas) / fabric;
}

}  // namespace orrery::run
