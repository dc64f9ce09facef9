#pragma once

// The bench of a real GPU: prepares, verifies and times one case after another.
//
// Operands are rotated over more than 4 x L2 and hold random data by a seed of the case, so that a
// case draws the same power in every run. A result that is verified is compared before it is timed.

#include <memory>
#include <optional>
#include <string>

#include "calibrate/measure/replay_timer.hpp"
#include "calibrate/sweep/bench.hpp"
#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/nvml/nvml.hpp"

namespace orrery::calibrate {

// The machine as a profile keeps it.
[[nodiscard]] Fingerprint fingerprint_of(const kernels::DeviceInfo& info,
                                         const kernels::Nvml& nvml);

// UTC, as Sample::taken_at.
[[nodiscard]] std::string utc_now();

class DeviceBench : public Bench {
 public:
  // Throws Error(device) with one clear sentence where there is no GPU.
  explicit DeviceBench(int device, const TimingRules& rules = {});

  [[nodiscard]] const Fingerprint& fingerprint() const override { return fingerprint_; }

  [[nodiscard]] Sample measure(const kernels::KernelCase& kernel,
                               const MeasureOptions& options) override;
  [[nodiscard]] std::string now() const override;
  [[nodiscard]] SettlingCurve soak(Seconds duration) override;

  [[nodiscard]] kernels::Verification verify(const kernels::KernelCase& kernel) override;
  [[nodiscard]] bool usable() override;

 private:
  // What differs from a case with operands past L2.
  struct Preparation {
    bool search = false;
    bool rotated = true;
  };

  [[nodiscard]] std::unique_ptr<kernels::Runnable> prepare(const kernels::KernelCase& kernel,
                                                           const Preparation& how);
  [[nodiscard]] Timing time_occupied(kernels::Runnable& runnable, const Timer& timer,
                                     Sample& sample);
  [[nodiscard]] Timing time(kernels::Runnable& runnable, const MeasureOptions& options,
                            Sample& sample);

  kernels::DeviceInfo info_;
  TimingRules rules_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
  kernels::OwnedStream other_stream_;  // of what runs beside
  Fingerprint fingerprint_;
  std::unique_ptr<Filler> filler_;  // from the first soak on
};

// Times collectives between the GPUs of this job: one process per GPU, all of them in step; rank 0
// keeps the samples.
//
//   sample = slowest rank's time per call, of `calls` in a row after a barrier
//   calls  = 20 ms / time of a call, 5 to 200, the same on every rank
//
// With `choices` nothing is timed: one call of each case that the journal has, whose algorithm and
// protocol NCCL logs, join its sample.
//
// NCCL's own estimate is stored with each time (`nccl_estimate_us`). Ranks that share a GPU, and a
// job of one rank, show that the calls work and no more: their samples are `functional`, and fits
// refuse them. The first size of each operation is checked against the exact result.

// Throws Error(device) where there is no GPU, the ranks contradict each other or a result is wrong,
// Error(io) when the ranks do not meet.
[[nodiscard]] CollectiveOutcome run_collectives(const CollectiveRequest& request,
                                                const OpenJournal& open_journal);

}  // namespace orrery::calibrate
