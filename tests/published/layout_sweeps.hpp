#pragma once

// Layouts that were run side by side, with their measured step times (measured-runs data set).
//
// BLOOM: BigScience, chronicles of the 176B training, 2,048-token sequences, full recomputation,
// ZeRO-1, 1F1B; single iterations that repeat to about 3 %. InternEvo: 7B, documentation of its
// throughput.

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace orrery::plan::test {

struct Row {
  std::int32_t tensor = 1;
  std::int32_t pipeline = 1;
  std::int32_t micro = 1;
  std::vector<double> seconds;  // repeats

  [[nodiscard]] double mean() const {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) /
           static_cast<double>(seconds.size());
  }
};

struct Sweep {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int nodes = 0;
  int batch = 0;
  std::string precision;
  std::vector<Row> rows;
};

inline const std::vector<Sweep> kBloomSweeps = {
    {.layers = 72,
     .hidden = 14336,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 12, 1, {143.31}},
              {8, 12, 2, {134.02, 128.82}},
              {8, 12, 8, {129.26}},
              {8, 6, 1, {139.82}},
              {8, 6, 2, {131.02}},
              {8, 6, 4, {121.48, 120.85, 114.11, 113.95}},
              {8, 12, 4, {123.79}},
              {4, 12, 4, {111.89}},
              {4, 12, 2, {110.48, 113.54, 110.42}},
              {4, 6, 4, {117.11}},
              {2, 12, 2, {112.5}},
              {2, 24, 1, {119.53}},
              {2, 24, 2, {122.75}}}},
    {.layers = 84,
     .hidden = 13824,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 12, 2, {143.89}}, {8, 6, 2, {141.41}}, {8, 6, 4, {130.31}}}},
    {.layers = 80,
     .hidden = 13824,
     .heads = 64,
     .nodes = 40,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 10, 4, {147.04}}}},
    {.layers = 6,
     .hidden = 14336,
     .heads = 64,
     .nodes = 1,
     .batch = 512,
     .precision = "fp16",
     .rows = {{8, 1, 2, {130.43, 119.19}}}},
    {.layers = 10,
     .hidden = 14336,
     .heads = 64,
     .nodes = 1,
     .batch = 512,
     .precision = "fp16",
     .rows = {{8, 1, 1, {205.52}}}},
    {.layers = 96,
     .hidden = 12288,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {122.96}}, {1, 48, 1, {142.17}}}},
    {.layers = 84,
     .hidden = 13312,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 12, 4, {125.52}},
              {8, 6, 2, {135.55, 129.61}},
              {8, 6, 4, {122.93}},
              {4, 12, 2, {103.82}}}},
    {.layers = 78,
     .hidden = 13824,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {121.28}}, {4, 12, 4, {106.72}}}},
    {.layers = 72,
     .hidden = 14336,
     .heads = 16,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {121.03}}}},
    {.layers = 72,
     .hidden = 14336,
     .heads = 112,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {138.72}}}},
    {.layers = 72,
     .hidden = 14336,
     .heads = 256,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {132.85}}}},
    {.layers = 78,
     .hidden = 13824,
     .heads = 96,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {124.75, 118.12, 118.24}},
              {4, 12, 4, {110.31}},
              {8, 6, 2, {133.57}},
              {4, 6, 4, {115.55}}}},
    {.layers = 96,
     .hidden = 12288,
     .heads = 96,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{8, 6, 4, {145.4}}}},
    {.layers = 72,
     .hidden = 14336,
     .heads = 64,
     .nodes = 48,
     .batch = 1568,
     .precision = "fp16",
     .rows = {{8, 6, 4, {113.01}}, {8, 12, 4, {92.75}}}},
    {.layers = 72,
     .hidden = 14336,
     .heads = 64,
     .nodes = 48,
     .batch = 2016,
     .precision = "fp16",
     .rows = {{8, 6, 6, {123.57}},
              {8, 8, 4, {113.16}},
              {8, 4, 2, {125.52}},
              {8, 2, 1, {145.45}},
              {8, 2, 2, {136.13}}}},
    {.layers = 78,
     .hidden = 13824,
     .heads = 96,
     .nodes = 48,
     .batch = 512,
     .precision = "fp16",
     .rows = {{4, 12, 2, {35.77}}}},
    {.layers = 78,
     .hidden = 13824,
     .heads = 96,
     .nodes = 48,
     .batch = 1024,
     .precision = "fp16",
     .rows = {{4, 12, 2, {59.65}}}},
    {.layers = 106,
     .hidden = 12288,
     .heads = 96,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{4, 12, 2, {112.69}}}},
    {.layers = 106,
     .hidden = 12288,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "fp16",
     .rows = {{4, 12, 2, {110.96}}}},
    {.layers = 106,
     .hidden = 12288,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "bf16",
     .rows = {{4, 12, 2, {116.54}}}},
    {.layers = 106,
     .hidden = 12288,
     .heads = 96,
     .nodes = 48,
     .batch = 2048,
     .precision = "bf16",
     .rows = {{4, 12, 4, {120.34}}}},
    {.layers = 100,
     .hidden = 12288,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "bf16",
     .rows = {{8, 6, 4, {120.96}}}},
    {.layers = 82,
     .hidden = 13312,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "bf16",
     .rows = {{8, 12, 4, {111.79}}, {4, 12, 2, {104.45}}}},
    {.layers = 70,
     .hidden = 14336,
     .heads = 64,
     .nodes = 48,
     .batch = 2048,
     .precision = "bf16",
     .rows = {{8, 12, 2, {121.63}}, {4, 12, 2, {102.03}}, {4, 12, 4, {102.27}}}},
};

struct ShardRow {
  std::int32_t tensor = 1;
  std::int32_t micro = 1;
  std::int32_t shard_group = 1;
  double seconds = 0.0;
};

// By number of GPUs.
inline const std::map<int, std::vector<ShardRow>> kInternEvoRows = {
    {8, {{1, 2, 8, 4.0335}, {1, 2, 8, 4.0177}, {2, 4, 4, 4.2868}, {2, 4, 4, 4.3563}}},
    {16, {{1, 2, 16, 4.2644}, {1, 2, 8, 4.1594}, {2, 4, 4, 4.479}}},
    {32, {{1, 2, 8, 4.1807}, {2, 4, 16, 4.7148}, {2, 4, 4, 4.4826}}},
    {64, {{1, 2, 64, 4.4401}, {1, 2, 8, 4.1542}, {2, 4, 32, 4.7656}, {2, 4, 4, 4.4888}}},
    {128, {{1, 2, 8, 4.1711}, {2, 4, 4, 4.4875}}},
    {256, {{1, 2, 8, 4.1796}, {2, 4, 128, 5.2954}, {2, 4, 4, 4.4851}}},
    {512, {{1, 2, 512, 5.7267}, {1, 2, 8, 4.2722}, {2, 4, 256, 5.4759}, {2, 4, 4, 4.5651}}},
    {1024, {{1, 2, 1024, 7.2144}, {2, 4, 512, 5.8829}}}};

}  // namespace orrery::plan::test
