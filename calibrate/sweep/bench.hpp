#pragma once

// Interface of a sweep to a GPU: it separates the protocol, which needs no device, from the device.
//
// measure() times one case in one regime and under one condition. It and verify() throw
// kernels::Unsupported where the library or the GPU does not offer the case, orrery::Error when the
// device fails. Tests substitute formulas for the GPU.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "calibrate/samples/sample.hpp"
#include "calibrate/samples/sample_journal.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/base/units.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

struct MeasureOptions {
  Regime regime = Regime::sustained;
  Condition condition = {};
  bool verify = false;  // compare the result with the reference
  bool search = false;  // time the library's candidates too
  bool power = true;    // of the case itself, for which a kernel that moves memory runs longer
};

class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  [[nodiscard]] virtual const Fingerprint& fingerprint() const = 0;

  // Fills everything but block, repeat and drifted.
  [[nodiscard]] virtual Sample measure(const kernels::KernelCase& kernel,
                                       const MeasureOptions& options) = 0;

  // Compares one call with the reference of kernels/reference, without timing it.
  [[nodiscard]] virtual kernels::Verification verify(const kernels::KernelCase& kernel) = 0;

  // Whether the device still answers. After some failures it does not until the process ends.
  [[nodiscard]] virtual bool usable() { return true; }

  // UTC, as in Sample::taken_at.
  [[nodiscard]] virtual std::string now() const = 0;

  // Keeps the GPU busy with a large product, so that clock and temperature settle: how they did.
  [[nodiscard]] virtual SettlingCurve soak(Seconds duration) = 0;
};

// Interface of a sweep of collectives to a group of processes, one per GPU. Like bench.hpp for one
// GPU, it separates the command, which needs no device, from NCCL.

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
