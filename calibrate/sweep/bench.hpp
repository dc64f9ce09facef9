#pragma once

// Interface of a sweep to a GPU: it separates the protocol, which needs no device, from the device.
//
// measure() times one case in one regime and under one condition. It and verify() throw
// kernels::Unsupported where the library or the GPU does not offer the case, orrery::Error when the
// device fails. Tests substitute formulas for the GPU.

#include <string>

#include "calibrate/samples/fingerprint.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/samples/settling.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/base/units.hpp"
#include "sim/kernels/kernel_case.hpp"

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
  [[nodiscard]] virtual bool usable() {
    return true;
  }

  // UTC, as in Sample::taken_at.
  [[nodiscard]] virtual std::string now() const = 0;

  // Keeps the GPU busy with a large product, so that clock and temperature settle: how they did.
  [[nodiscard]] virtual SettlingCurve soak(Seconds duration) = 0;
};

}  // namespace orrery::calibrate
