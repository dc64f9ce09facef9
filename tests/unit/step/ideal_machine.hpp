#pragma once

// A machine without friction, so that steps have closed forms: one SM, no launch gaps, memory and
// wires that take next to no time, a stack that adds nothing.
//
// symbol | meaning                                            | value
// -------|----------------------------------------------------|----------------------------------
// R      | rate of matrix products                            | 1 GFLOP/s unless stated
// SMs    | 1: whole tiles are the only loss of a product      | dimensions of 256 lose nothing
// wire   | 10^18 byte/s; NCCL's fixed latencies stay (~20 us) | next to seconds of compute: nothing
//
// The model that belongs to it has a vocabulary of one token: embedding and loss take about 10^-4
// of a layer.

#include <string>
#include <utility>

#include "sim/step/cost/cost_model.hpp"

namespace orrery::step::test {

template <typename Q>
Coefficient<Q> exactly(Q value) {
  return {value, {SourceKind::given, "a test"}};
}

struct Ideal {
  FlopPerSecond rate = flop_per_second(kGiga);
  BytesPerSecond memory_rate = bytes_per_second(kExa);
  BytesPerSecond wire_rate = bytes_per_second(kExa);
  Bytes memory = gigabytes(80.0);
  bool nvlink = true;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  hardware::AttentionImplementation attention = hardware::AttentionImplementation::unfused;
};

inline hardware::GpuProfile ideal_gpu(const Ideal& ideal) {
  hardware::GpuProfile gpu{.name = "ideal",
                           .full_name = "ideal",
                           .file = "",
                           .arch = hardware::GpuArch::hopper,
                           .sm_count = 1,
                           .memory = exactly(ideal.memory),
                           .hbm_bandwidth = exactly(ideal.memory_rate),
                           .memory_efficiency = exactly(1.0),
                           .launch_latency = exactly(Seconds{}),
                           .gemm = {{.dtype = model::Dtype::bf16,
                                     .peak = exactly(ideal.rate),
                                     .sustained = exactly(ideal.rate),
                                     .half_depth = exactly(0.0)}},
                           .attention = {.forward = exactly(ideal.rate),
                                         .backward = exactly(ideal.rate),
                                         .half_length = exactly(0.0)},
                           .nvlink = std::nullopt,
                           .host_bandwidth = exactly(ideal.wire_rate),
                           .pcie_bandwidth = exactly(ideal.wire_rate),
                           .power_watts = exactly(1.0)};
  if (ideal.nvlink) {
    gpu.nvlink = hardware::NvlinkProfile{.bandwidth = exactly(ideal.wire_rate),
                                         .nccl_ring_bandwidth = exactly(ideal.wire_rate)};
  }
  return gpu;
}

inline hardware::SoftwareProfile ideal_software(const Ideal& ideal) {
  hardware::SoftwareProfile software;
  software.name = "ideal";
  software.gemm_efficiency = exactly(1.0);
  software.memory_efficiency = exactly(1.0);
  software.attention_efficiency = exactly(1.0);
  software.kernel_gap = exactly(Seconds{});
  software.host_layer_time = exactly(Seconds{});
  software.score_passes = exactly(1.0);
  software.nvlink_efficiency = exactly(1.0);
  software.network_efficiency = exactly(1.0);
  software.collective_overhead = exactly(Seconds{});
  software.transfer_overhead = exactly(Seconds{});
  software.tensor_exposed = exactly(1.0);
  software.communication_slowdown = exactly(0.0);
  software.loss_bytes_per_logit = exactly(bytes(1.0));
  software.optimizer_traffic = exactly(Bytes{});
  software.fixed_step_time = exactly(Seconds{});
  software.jitter_per_doubling = exactly(0.0);
  software.memory_overhead = exactly(Bytes{});
  software.fragmentation = exactly(0.0);
  software.attention = ideal.attention;
  return software;
}

inline hardware::ClusterSpec ideal_cluster(const Ideal& ideal) {
  hardware::ClusterSpec cluster;
  cluster.gpu = "ideal";
  cluster.nodes = ideal.nodes;
  cluster.gpus_per_node = ideal.gpus_per_node;
  cluster.network.nic_rate = ideal.wire_rate;
  cluster.network.nics_per_node = ideal.gpus_per_node;
  return cluster;
}

inline cost::CostModel ideal_costs(const Ideal& ideal) {
  return {ideal_gpu(ideal), ideal_software(ideal), ideal_cluster(ideal)};
}

// All layers alike, all widths multiples of 256, next to no embedding and loss.
inline model::ModelSpec ideal_model(std::int64_t layers) {
  model::ModelSpec spec;
  spec.name = "ideal";
  spec.num_layers = layers;
  spec.hidden_size = 16384;
  spec.num_attention_heads = 64;
  spec.vocab_size = 1;
  spec.sequence_length = 2048;
  spec.activation = model::Activation::gelu;
  spec.position = model::PositionEmbedding::none;
  return model::resolve(spec);
}

// With memory for anything.
inline cost::CostModel machine(std::int64_t gpus = 1) {
  Ideal ideal;
  ideal.gpus_per_node = gpus;
  ideal.memory = gigabytes(1000.0);
  return ideal_costs(ideal);
}

}  // namespace orrery::step::test
