#pragma once

// Runs and checks collectives between GPUs: NCCL, one process per GPU.
//
// operation      | buffers of a rank, bytes            | what rank r must hold afterwards
// ---------------|-------------------------------------|-----------------------------------------
// all_reduce     | bytes in, bytes out                 | out[i] = sum over s of in_s[i]
// all_gather     | bytes / n in, bytes out             | out[s c + j] = in_s[j]
// reduce_scatter | bytes in, bytes / n out             | out[j] = sum over s of in_s[r c + j]
// all_to_all     | bytes in, bytes out                 | out[s c + j] = in_s[r c + j]
// send_receive   | bytes in, bytes out                 | out[j] = in of rank r - 1 (around)
//
// symbol   | meaning                                                     | unit | origin
// ---------|-------------------------------------------------------------|------|-----------------
// n        | ranks of the group                                          | 1    | launcher
// c        | elements of a part, bytes / n / element size, rounded down  | 1    | case
// estimate | NCCL's own prediction of the call                           | s    | GroupSimulateEnd
//
// With one rank send_receive sends to itself; the others become copies. Two processes that share a
// GPU (each with its own NCCL_HOSTID) are functional(): results are checked, times are meaningless.
//
// Assumptions: every rank of a group makes the same calls in the same order. A rank that dies
// leaves the others waiting: the launcher ends them.
// Source: NCCL 2.28 user guide; sizes as nccl-tests prints them (PERFORMANCE.md).

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/element.hpp"
#include "kernels/device/launcher.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/step/kernels/kernel_case.hpp"

struct ncclComm;

namespace orrery::kernels {

class CollectiveGroup {
 public:
  // Meets the other ranks and forms the group of all of them on the current GPU. One rank needs no
  // meeting. Throws orrery::Error.
  CollectiveGroup(const GroupRank& place, const std::optional<Meeting>& meeting,
                  std::chrono::milliseconds patience);
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;
  ~CollectiveGroup();

  // Every rank calls it; those with equal colours form a group, ordered by rank. Without a colour a
  // rank takes no part and gets nothing.
  [[nodiscard]] std::unique_ptr<CollectiveGroup> part(std::optional<int> colour) const;

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] int ranks() const { return ranks_; }

  // Machines, counted by host name.
  [[nodiscard]] int nodes() const { return nodes_; }

  // Whether two ranks share a GPU.
  [[nodiscard]] bool functional() const { return functional_; }

  [[nodiscard]] ncclComm* get() const { return communicator_; }

  // The largest and the sum of a number over the ranks; both also wait for all ranks.
  [[nodiscard]] double largest(double value, Stream stream) const;
  [[nodiscard]] double total(double value, Stream stream) const;
  void barrier(Stream stream) const;

 private:
  CollectiveGroup() = default;

  void learn_places();

  ncclComm* communicator_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
  int nodes_ = 1;
  bool functional_ = false;
};

class Collective : public Runnable {
 public:
  // NCCL's prediction for one call in seconds; nothing with one rank, or where it gives none.
  [[nodiscard]] virtual std::optional<double> estimate(Stream stream) = 0;

  // What is really exchanged: `bytes` of the case, rounded down to whole parts.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

// Throws Unsupported when the case is for another number of ranks or nodes, has less than an
// element per part, or is in place where no such call exists (all_to_all, send_receive).
[[nodiscard]] std::unique_ptr<Collective> make_collective(const KernelCase& kernel,
                                                          const CollectiveGroup& group,
                                                          const PrepareOptions& options);

struct CollectiveTime {
  double own = 0.0;      // seconds per call on this rank
  double mean = 0.0;     // over the ranks, as nccl-tests prints by default
  double slowest = 0.0;  // what a synchronous step waits for
};

// `calls` of them in a row after a barrier, between two events. Every rank calls it.
[[nodiscard]] CollectiveTime time_collective(Collective& collective, const CollectiveGroup& group,
                                             int calls, Stream stream);

// Host side of collective.hpp: element counts, where a buffer starts when it is used in place, and
// the values that check a result exactly.
//
//   value(rank, i) = integer(seed of rank, i mod period) in [0, values)
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|---------------
// period | of the pattern; prime, so that parts of a buffer differ        | 1    | chosen
// values | 4, or 2 above 64 ranks: sums stay whole numbers that bf16      | 1    | chosen
//        | holds exactly up to 256 ranks                                  |      |
//
// Sums of whole numbers do not depend on the order in which ranks are added.

struct CollectivePlan {
  Operation operation = Operation::all_reduce;
  Element element = Element::fp32;
  int rank = 0;
  int ranks = 1;
  bool in_place = false;
  std::int64_t part = 0;           // c: elements of a part; of the whole buffer where it has none
  std::int64_t send_elements = 0;  // of this rank
  std::int64_t receive_elements = 0;
  std::int64_t bytes = 0;  // largest buffer

  // Where the input starts inside the output in place, in elements, and the reverse.
  [[nodiscard]] std::int64_t input_in_output() const;
  [[nodiscard]] std::int64_t output_in_input() const;
};

struct PlannedCollective {
  std::optional<CollectivePlan> plan;
  std::string problem;  // one sentence
};

[[nodiscard]] PlannedCollective plan_collective(const KernelCase& kernel, int rank, int ranks,
                                                int nodes);

inline constexpr std::int64_t kPatternPeriod = 65'537;

// Element i of the input of a rank.
[[nodiscard]] float input_value(const CollectivePlan& plan, int rank, std::int64_t i);

// Element i of the output of plan.rank.
[[nodiscard]] double expected_value(const CollectivePlan& plan, std::int64_t i);

// What a sum may differ: nothing up to 256 ranks.
[[nodiscard]] double allowed_error(const CollectivePlan& plan, double expected);

// Elements to look at: ends and pseudo-random ones of up to 16 parts, ascending.
[[nodiscard]] std::vector<std::int64_t> sampled_elements(const CollectivePlan& plan);

}  // namespace orrery::kernels
