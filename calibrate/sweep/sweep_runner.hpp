#pragma once

// Runs a sweep: the protocol around single measurements, which orders the cases and detects a drift
// of the GPU.
//
//   bursts first, from an idle GPU; then soak; then blocks of `block_length` cases, an anchor
//   before the first and after each: the exact shapes of scenarios, the cases on which a figure of
//   the profile rests alone, all others in random order, so that a sweep that is cut has some of
//   each family
//   drift of a block = |anchor after / anchor before - 1|, in cycles (time x clock) where the clock
//   is known; above the limit the block is measured once more after a short soak, and marked when
//   the anchor still moves
//
// Every sample goes to the journal as soon as it is taken: a sweep that is killed resumes with what
// is missing. The first case of each operation, role and precision (its kind), among those in
// random order the smallest, is verified against the reference. The order is random by `seed`.
//
// trouble                       | what is kept                         | and then
// ------------------------------|--------------------------------------|---------------------------
// not offered                   | not supported, the library's status  | the next case
// a wrong result                | not supported: "wrong result: ..."   | no other case of its kind
// a failure of one case         | not supported: "failed: ..."         | the next case
// the device stops answering    | not supported: "device lost: ..."    | ends; resumed without it

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/bench.hpp"

namespace orrery::calibrate {

struct SweepOptions {
  std::uint64_t seed = 1;
  Seconds soak = seconds(10.0);
  Seconds short_soak = seconds(2.0);  // before a block that is repeated
  std::size_t block_length = 20;      // cases between two anchors
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

// Caveats for users of the samples: sentences for the screen and the warnings of a profile, from
// the samples alone.
//
// note                          | when
// ------------------------------|---------------------------------------------------------------
// a burst below the sustained   | its median time is more than 2 % above the sustained one: the
// rate                          | GPU was not idle before it, or something else ran
// Orrery's own attention        | a sample of attention ran without cuDNN: training is faster
// not settled                   | the time or the clock of a case still moved at the cap
// held back                     | replays were discarded in more than one case in twenty
// a late host                   | the GPU rested between replays of more than one case in twenty
// a better algorithm            | cuBLASLt's first choice is more than 2 % slower than the best
//                               | that the search found

[[nodiscard]] std::vector<std::string> sweep_notes(const std::vector<Sample>& samples);

// Of the products whose candidates were timed: first choice / best.
struct FirstChoices {
  std::size_t searched = 0;
  double median = 1.0;
  double worst = 1.0;
  std::size_t beyond = 0;  // more than 2 % slower than the best
};

[[nodiscard]] FirstChoices first_choices(const std::vector<Sample>& samples);

// Reads the algorithm and protocol of a collective from NCCL's log, their only source:
//
//   host:7:7 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto LL128
//   channel{Lo..Hi}={0..15}
//
// Rank 0 of a communicator writes the line for every call that is no send or receive, with
// NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING. That takes the host a while per call, so calls are
// logged separately from those that are timed.
// Source: src/enqueue.cc of NCCL 2.28, the same since 2.23.

struct NcclChoice {
  std::string algorithm;  // "RING", "TREE", "NVLS"
  std::string protocol;   // "LL", "LL128", "SIMPLE"
  int channels = 0;
};

// Of the last such line of a log; nothing when there is none.
[[nodiscard]] std::optional<NcclChoice> last_nccl_choice(std::string_view log);

}  // namespace orrery::calibrate
