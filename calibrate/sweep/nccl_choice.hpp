#pragma once

// Reads the algorithm and protocol of a collective from NCCL's log, their only source:
//
//   host:7:7 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto LL128
//   channel{Lo..Hi}={0..15}
//
// Rank 0 of a communicator writes the line for every call that is no send or receive, with
// NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING. That takes the host a while per call, so calls are
// logged separately from those that are timed.
// Source: src/enqueue.cc of NCCL 2.28, the same since 2.23.

#include <optional>
#include <string>
#include <string_view>

namespace orrery::calibrate {

struct NcclChoice {
  std::string algorithm;  // "RING", "TREE", "NVLS"
  std::string protocol;   // "LL", "LL128", "SIMPLE"
  int channels = 0;
};

// Of the last such line of a log; nothing when there is none.
[[nodiscard]] std::optional<NcclChoice> last_nccl_choice(std::string_view log);

}  // namespace orrery::calibrate
