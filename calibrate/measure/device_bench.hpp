#pragma once

// The bench of a real GPU: prepares, verifies and times one case after another.
//
// Operands are rotated over more than 4 x L2 and hold random data by a seed of the case, so that a
// case draws the same power in every run. A result that is verified is compared before it is timed.

#include <memory>
#include <optional>
#include <string>

#include "calibrate/measure/filler.hpp"
#include "calibrate/measure/replay_timer.hpp"
#include "calibrate/sweep/bench.hpp"
#include "kernels/device/device_info.hpp"
#include "kernels/device/stream.hpp"
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

  [[nodiscard]] const Fingerprint& fingerprint() const override {
    return fingerprint_;
  }

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
  [[nodiscard]] Timing time_occupied(kernels::Runnable& runnable,
                                     const Timer& timer,
                                     Sample& sample);
  [[nodiscard]] Timing time(kernels::Runnable& runnable,
                            const MeasureOptions& options,
                            Sample& sample);

  kernels::DeviceInfo info_;
  TimingRules rules_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
  kernels::OwnedStream other_stream_;  // of what runs beside
  Fingerprint fingerprint_;
  std::unique_ptr<Filler> filler_;  // from the first soak on
};

}  // namespace orrery::calibrate
