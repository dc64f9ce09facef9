#pragma once

// Time of a kernel by the measurements on this machine, of that very kernel or of similar ones:
//
//   exact hit    : the measured median
//   inside       : line * exp( sum_i w_i log(time_i / fitted_i) / (sum_i w_i + trust) )
//   outside      : the line alone; `extrapolated`
//   below floor  : the floor
//
// symbol    | meaning                                                        | unit | origin
// ----------|----------------------------------------------------------------|------|------------
// line      | a + b F + c B of the series, F of products by gemm.hpp's       | s    | fit
//           | effective_work; attention: attention.hpp's law                 |      |
// i         | the three points of the series that are nearest                | -    | measured
// w_i       | 1 / (d_i + 0.1)                                                | 1    | assumed
// d_i       | distance of the places: log extents, log bytes (memory-bound)  | 1    | computed
// trust     | weight of the line; absent: no point is asked                  | 1    | fit
// outside   | more than 2 x beyond the points in any extent                  | -    | -
// floor     | launch latency of the GPU: no kernel is faster than its start  | s    | profile
// residual  | expected relative error: 0 of an exact hit, the median of the  | 1    | fit
//           | cross-validation inside, its 90th percentile outside           |      |
//
// The time is that of the library: what a stack loses or gains (gemm_efficiency and the like of
// software_profile.hpp) divides it. It holds one launch, since kernels are measured back to back in
// a graph. The same functions score the cross-validation of calibrate/profile: one formula.
//
// operations of sim/step/model    | cases of sim/step/kernels
// ---------------------------|------------------------------------------------------------------
// GemmOp                     | gemm by role and precision; grouped: grouped_gemm
// AttentionOp                | attention; not with windows, blocks of keys or across ranks
// MemoryOp                   | by part: norms, activation, residual, rotary, embedding, cross
//                            | entropy, casts, permutations
// optimizer step             | adamw
//
// Two norms: where a stack names an implementation of norms (memory_bound.hpp), that one counts.

#include <optional>
#include <string_view>

#include "sim/step/cost/cost.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/kernel_tables.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// `law`: nothing was measured on this machine, the shipped profile's law of the operation.
enum class Reach { exact, interpolated, extrapolated, launch_floor, law };

[[nodiscard]] std::string_view to_string(Reach reach);

struct KernelPrediction {
  Seconds time;
  Reach reach = Reach::interpolated;
  double residual = 0.0;
};

[[nodiscard]] Seconds line_time(const hardware::KernelLine& line, Flop work, Bytes moved);

// `line` is what the series' law says of the call; `moved` places memory-bound kernels.
[[nodiscard]] KernelPrediction predict_kernel(const hardware::KernelSeries& series,
                                              const kernels::KernelCase& call, Bytes moved,
                                              Seconds line, Seconds floor);

// The case that a product is, as it would be measured.
[[nodiscard]] kernels::KernelCase call_of(const model::GemmOp& op);
[[nodiscard]] kernels::KernelCase call_of(const model::AttentionOp& op);

// The element type of a precision, however it is scaled.
[[nodiscard]] model::Dtype dtype_of(kernels::Precision precision);

// The product and the attention of a case; nothing for other operations.
[[nodiscard]] std::optional<model::GemmOp> gemm_of(const kernels::KernelCase& call);
[[nodiscard]] std::optional<model::AttentionOp> attention_of(const kernels::KernelCase& call);

// Nothing where the profile has no measured kernels of the kind.
[[nodiscard]] std::optional<KernelPrediction> predict_gemm(const model::GemmOp& op,
                                                           const hardware::GpuProfile& gpu);

// `law`: time of the kernel by attention.hpp on the bare library.
[[nodiscard]] std::optional<KernelPrediction> predict_attention(const model::AttentionOp& op,
                                                                const hardware::GpuProfile& gpu,
                                                                Seconds law);
[[nodiscard]] std::optional<KernelPrediction> predict_memory(const model::MemoryOp& op,
                                                             const hardware::GpuProfile& gpu);
[[nodiscard]] std::optional<KernelPrediction> predict_optimizer(Bytes traffic,
                                                                const hardware::GpuProfile& gpu);

// What a stack makes of it: `efficiency` divides the time of the kernel but for its launch, and the
// stack adds its gap. What it loses is booked to the source of the efficiency.
[[nodiscard]] Cost measured_cost(const KernelPrediction& prediction,
                                 const Coefficient<double>& efficiency,
                                 const hardware::GpuProfile& gpu,
                                 const hardware::SoftwareProfile& software, double launches = 1.0);

}  // namespace orrery::cost
