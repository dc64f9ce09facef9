#pragma once

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

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/samples/sample.hpp"

namespace orrery::calibrate {

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
