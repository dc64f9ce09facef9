#pragma once

// Selects the samples of a calibration that are evidence for a fit, and computes the work of each.
//
// left out                        | why
// --------------------------------|-------------------------------------------------------------
// not supported                   | there is no time
// burst                           | training runs at the sustained clock
// under a condition               | not what a call takes by itself (condition.hpp)
// functional                      | shows that it works, not how fast
// error above 1                   | the result was wrong
// repeats of an anchor            | they monitor the clock; one shape must not count 40 times
// drifted                         | the clock moved around it, twice: the same command measures it
//                                 | again (SampleJournal::has)
// other implementations           | one fit is for one library; the vendor's goes before ours
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|----------------
// F      | of products effective_work of sim/cost/gemm.hpp, of attention   | FLOP | computed
//        | as the step counts them (sim/model)                             |      |
// B      | bytes that cross the memory interface: of products as in        | byte | computed
//        | sim/cost/gemm.hpp, of all others as in sim/kernels              |      |
// time   | median of the times; of products and attention at the clock of  | s    | measured
//        | a step (step_clock.hpp, sim/hardware/step_clock.hpp)          |      |

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/hardware/kernel_tables.hpp"

namespace orrery::calibrate {

struct KernelEvidence {
  hardware::KernelPoint point;  // fitted: not set
  Flop work;
  Bytes moved;
};

struct EvidenceKey {
  kernels::Operation operation = kernels::Operation::gemm;
  kernels::Precision precision = kernels::Precision::bf16;
  kernels::Role role = kernels::Role::none;

  friend auto operator<=>(const EvidenceKey& a, const EvidenceKey& b) = default;
};

struct EvidenceSeries {
  std::string implementation;
  std::vector<KernelEvidence> points;  // by case
};

using Evidence = std::map<EvidenceKey, EvidenceSeries>;

// FLOP and bytes as the fits count them. `gpu` supplies the tiles' SMs and the depth of their
// filling.
[[nodiscard]] Flop fit_work(const kernels::KernelCase& kernel, const hardware::GpuProfile& gpu);
[[nodiscard]] Bytes fit_bytes(const kernels::KernelCase& kernel);

// A right time of one point, in whatever regime and condition.
[[nodiscard]] bool is_sound(const Sample& sample);

// A sound sample of the table above: sustained, and measured alone. The one rule for fits, tables
// of collectives and summaries.
[[nodiscard]] bool is_evidence(const Sample& sample);

// The name of a sample in a profile: s and its place in the journal.
[[nodiscard]] std::string sample_id(std::size_t index);

// Without collectives, which make tables of their own. `step_clock` in MHz; absent: the times stand
// as they were measured.
[[nodiscard]] Evidence evidence_of(const std::vector<Sample>& samples,
                                   const hardware::GpuProfile& gpu,
                                   std::optional<double> step_clock = {});

}  // namespace orrery::calibrate
