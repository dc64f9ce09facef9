#pragma once

// Interface of a sweep of collectives to a group of processes, one per GPU. Like bench.hpp for one
// GPU, it separates the command, which needs no device, from NCCL.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "calibrate/samples/sample_journal.hpp"

namespace orrery::calibrate {

// One process, as the command line and the launcher place it.
struct CollectiveRequest {
  std::optional<int> rank;  // absent: as the launcher says, else 0 of 1
  std::optional<int> ranks;
  std::optional<int> local_rank;
  std::optional<std::string> meeting;  // file:PATH or tcp:HOST:PORT; needed for several ranks
  bool choices = false;  // ask only which algorithms NCCL chooses for cases that are measured
  std::stop_token stop;
  std::function<void(std::int64_t done, std::int64_t all)> progress;  // called on rank 0
};

struct CollectiveOutcome {
  bool first = true;        // rank 0, which keeps the samples
  bool functional = false;  // ranks share a GPU, or there is one: no evidence of speed
};

// Opens the journal of rank 0, once the machine is known.
using OpenJournal = std::function<std::unique_ptr<SampleJournal>(const Fingerprint& fingerprint)>;

using CollectiveRunner = std::function<CollectiveOutcome(const CollectiveRequest& request,
                                                         const OpenJournal& open_journal)>;

}  // namespace orrery::calibrate
