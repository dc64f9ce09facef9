#pragma once

// Runs a sweep: the protocol around single measurements, which orders the cases and detects a drift
// of the GPU.
//
//   bursts first, from an idle GPU; then soak; then blocks of `block_length` cases, an anchor
//   before the first and after each: the exact shapes of scenarios, the cases on which a figure of
//   the profile rests alone, all others in random order, so that a sweep that is cut has some of
//   each family
//   drift of a block = |anchor after / anchor before - 1|; above the limit the block is measured
//   once more after a short soak, and marked when the anchor still moves
//
// symbol       | meaning                                               | unit | origin
// -------------|-------------------------------------------------------|------|----------
// block_length | cases between two anchors, 20                         | 1    | protocol
// drift_limit  | 0.02                                                  | 1    | protocol
// soak         | 10 s, 2 s before a block that is repeated             | s    | protocol
//
// Every sample goes to the journal as soon as it is taken: a sweep that is killed resumes with what
// is missing. The first case of each operation, role and precision (its kind) is verified against
// the reference. The order is random by `seed`.
//
// trouble                       | what is kept                         | and then
// ------------------------------|--------------------------------------|---------------------------
// not offered                   | not supported, the library's status  | the next case
// a wrong result                | not supported: "wrong result: ..."   | no other case of its kind
// a failure of one case         | not supported: "failed: ..."         | the next case
// the device stops answering    | not supported: "device lost: ..."    | ends; resumed without it

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample_journal.hpp"
#include "calibrate/sweep/bench.hpp"

namespace orrery::calibrate {

struct SweepOptions {
  std::uint64_t seed = 1;
  Seconds soak = seconds(10.0);
  Seconds short_soak = seconds(2.0);
  std::size_t block_length = 20;
  double drift_limit = 0.02;
  std::size_t searched = 24;  // dense products whose candidates are timed
  std::stop_token stop = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

struct SweepReport {
  std::int64_t measured = 0;
  std::int64_t known = 0;  // already in the journal
  std::int64_t unsupported = 0;
  std::int64_t blocks_repeated = 0;
  double worst_drift = 0.0;  // of a block that was kept
  std::vector<std::string> warnings;
  bool interrupted = false;
};

// A sample of a wrong result or of a failure, and not of what is merely not offered.
[[nodiscard]] bool is_failure(const Sample& sample);

// `exact`: measured first, in their order. Throws what the bench throws for an anchor, and
// Error(device) when the device answers no more; what was taken is in the journal then.
[[nodiscard]] SweepReport run_sweep(const std::vector<SweepCase>& exact,
                                    const std::vector<SweepCase>& cases, Bench& bench,
                                    SampleJournal& journal, const SweepOptions& options);

}  // namespace orrery::calibrate
