#pragma once

// Which of the samples of a calibration are evidence for a fit, and what is each worth?
//
// left out                        | why
// --------------------------------|-------------------------------------------------------------
// not supported                   | there is no time
// burst                           | training runs at the sustained clock
// under a condition               | not what a call takes by itself (condition.hpp)
// functional                      | shows that it works, not how fast
// error above 1                   | the result was wrong
// other implementations           | one fit stands for one library; the vendor's before our own
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|----------------
// F      | FLOP as the step counts them (sim/model)                        | FLOP | computed
// B      | bytes that cross the memory interface: of products as in        | byte | computed
//        | sim/cost/gemm.hpp, of all others as in sim/kernels              |      |
// time   | median of the times                                             | s    | measured

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/samples/sample.hpp"
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

// FLOP and bytes as the fits count them.
[[nodiscard]] Flop fit_work(const kernels::KernelCase& kernel);
[[nodiscard]] Bytes fit_bytes(const kernels::KernelCase& kernel);

// The name of a sample in a profile: s and its place in the journal.
[[nodiscard]] std::string sample_id(std::size_t index);

// Without collectives, which make tables of their own.
[[nodiscard]] Evidence evidence_of(const std::vector<Sample>& samples);

}  // namespace orrery::calibrate
