#pragma once

// Time of a matrix product on one GPU, single or grouped:
//
//   time    = gap + max(busy + fill + exposed * memory, memory)
//   grouped = gap + calls + max(busy + max(fill, exposed * memory), memory)
//   busy    = F / (sustained * efficiency * short) * waves^e * alignment
//   fill    = busy * k0 / K
//   short   = 1 + short_gain / (1 + F / short_work)
//   memory  = bytes / (hbm_bandwidth * memory_efficiency)
//   calls   = max((products - 1) * latency, products * grouped_call_time - all of the above)
//
// symbol     | meaning                                                       | unit   | origin
// -----------|---------------------------------------------------------------|--------|----------
// F          | 2 m n k batch                                                 | FLOP   | operation
// sustained  | rate of large products in steady state                        | FLOP/s | profile
// efficiency | gemm_efficiency: rate inside this stack / sustained           | 1      | stack
// (scales)   | 8 bit: sustained times what finer scales cost, see below;     | 1      | profile
//            | efficiency: fp8_gemm_efficiency where the stack states it     | 1      | stack
// k0         | half_depth: depth that filling and draining a tile costs      | -      | profile
// short      | products whose operands stay in the L2 run above sustained    | 1      | profile
// waves      | whole waves of tiles / what is needed, at most 2; tiles of    | 1      | computed
//            | 256 x 128, on Hopper also of 192 x 128                        |        |
// alignment  | rows that do not start at a multiple of 16 bytes, see below   | 1      | GPU
// bytes      | operands read, result written; a gradient that accumulates is | byte   | operation
//            | read too (8 per sum in fp32, 4 in 16 bit)                     |        |
// exposed    | exposed_memory, grouped_exposed_memory: share of the memory   | 1      | GPU
//            | time that compute does not hide                               |        |
// e          | wave_exponent                                                 | 1      | GPU
// gap        | launch latency of the GPU + kernel gap of the stack           | s      | profiles
// calls      | only where the stack has a grouped_call_time: its experts'    | s      | stack
//            | products are a loop of library calls, not one kernel          |        |
//
// A product of a kind that was measured on this machine is predicted from those measurements
// (measured_kernels.hpp), with the efficiency of the stack on top; this law is for all others.
//
// Grouped: the few tiles of a group cannot hide each other's loads and stores, hence the larger
// share; fill and stores run at the same time. One share for the loops of cuBLAS calls on B200 and
// A100 and for DeepGEMM's single kernel on H800 (held out by shape: 8.3, 5.0 and 3.9 %). Where the
// rows of the products differ (`row_spread`), whole tiles and whole waves are means over normal
// numbers of rows, which have no steps.
// The exponent of the wave ratio: a library that may choose another tile loses less than the one
// large tile would: fitted 0.76 on the A100 points, where 4096 x 1024 x 4096 (128 tiles on 108 SMs)
// runs at 60 % of the rate of 4096 x 1536 x 4096. cuBLAS on Hopper has tiles of 192, too, as in
// nvjet_hsh_192x192 (NVIDIA/Fuser, issue 3137): with them the best shapes published for GH200, H100
// and H200 are met to 3.5 %, without to 7.3 %. A deep product may be split along K into parts of at
// least 8,192. The two products of unfused attention (attention_scores, attention_context) take
// attention_efficiency instead of the GEMM one and are bound by compute or by the traffic of the
// scores.
//
// Scales of blocks, one rule for every GPU:
//
// tensor cores         | kernels of the stack | rate / that with one scale per tensor
// ---------------------|----------------------|---------------------------------------------------
// with group scales    | any                  | mx_ratio: blocks of 128 by groups of 32
// without              | the library's        | block_ratio: 0.82 where it was not measured
// without              | DeepGEMM             | 1
//
// Without group scales the sum of each block is added on the CUDA cores. The library's loop waits
// for that: four products of a layer on an H200 NVL take 22.9 ms with their casts, of which 2.1 ms
// are casts, against 16.9 ms (Transformer Engine, docs/examples/gemm_profiling). DeepGEMM adds the
// sums of one tile while it multiplies the other: on an H800 its products reach the rate that
// `sustained` and `burst` stand for (README of February 2025, scales of 128). No other part without
// group scales was measured: the rule is assumed there.
//
// Alignment: tensor-core kernels load 16 bytes at a time. When the rows of an operand are not a
// multiple of that, the library falls back to kernels with narrow loads (cuBLAS documentation,
// Tensor Core Usage: the leading dimensions count). Rows are n and k elements long forward and for
// the input gradient, m and n for a weight gradient. The number of tokens is never a row: 16-bit
// layouts do not have it (padding tokens to 4, 8 or 16 gained nothing in 16 bit: Transformer
// Engine, pull request 1129), and stacks pad it to 16 or 32 where 8-bit copies do.
//
// rows are a multiple of  | dense | batched products of attention (head dimension in 16 bit)
// ------------------------|-------|----------------------------------------------------------
// 16 bytes                | 1     | 1
// 8 bytes                 | 1.3   | 5.4  (108: 128 heads of hidden 13,824)
// 4 bytes                 | 1.3   | 3.0  (150 and 450: 96 and 32 heads of hidden 14,400)
// 2 bytes                 | 1.3   | 13   (225: 64 heads of hidden 14,400)
//
// The batched column follows from step times of the BLOOM topology sweep on A100 (measured-runs
// notes: 107.1 against 147.4 s, 160 against 221 s); other kernels for each width, hence no order.
// Range: m, n, k >= 64, 16-bit. A value outside the range that the profile states for `sustained`
// (FLOP of one product) or `half_depth` (K) is booked as extrapolated. Source: fit on
// scenarios/published/kernel_measurements.yaml (SimuMax tables of A100 PCIe and B200).

#include "sim/step/cost/cost.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// The stack-independent parts, for tests and for `explain`.
struct GemmTime {
  Seconds compute;  // busy + fill
  Seconds memory;
  Seconds exposed;            // what the memory adds to compute
  double wave_penalty = 1.0;  // waves^0.75
  double short_factor = 1.0;
  double alignment_penalty = 1.0;
  bool substituted_dtype = false;  // the GPU has no unit for the data type: a wider one is used
};

// One of the two batched products of unfused attention.
[[nodiscard]] bool is_attention_product(const model::GemmOp& op);

// Bytes that cross the memory interface once.
[[nodiscard]] Bytes gemm_bytes(const model::GemmOp& op);

// Factor on the time for operand rows that are not a multiple of 16 bytes.
[[nodiscard]] double alignment_penalty(const model::GemmOp& op, const hardware::GpuProfile& gpu);

// Whole waves of large tiles over what is needed, 1 to 2.
[[nodiscard]] double wave_ratio(const model::GemmOp& op, const hardware::GpuProfile& gpu);

// The rate entry of the data type; when the GPU has no such unit the next wider type it does have
// (fp4 -> fp8 -> bf16, bf16 <-> fp16, fp32 -> tf32 -> 16 bit), and `substituted` is set.
[[nodiscard]] const hardware::GemmRate& gemm_rate(const hardware::GpuProfile& gpu,
                                                  model::Dtype dtype, bool& substituted);

// FLOP that the multiprocessors are busy for: those of the product, stretched by whole waves,
// alignment and the filling of tiles as in `busy` and `fill`. The base of a fit through measured
// products (calibrate/profile), whose own rate and memory term stand in place of the profile's.
[[nodiscard]] Flop effective_work(const model::GemmOp& op, const hardware::GpuProfile& gpu);

[[nodiscard]] GemmTime gemm_time(const model::GemmOp& op, const hardware::GpuProfile& gpu,
                                 const hardware::SoftwareProfile& software);

[[nodiscard]] Cost gemm_cost(const model::GemmOp& op, const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
