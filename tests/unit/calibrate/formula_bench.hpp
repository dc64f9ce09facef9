#pragma once

// A GPU of formulas: known times with noise, so that the whole calibration runs without a device.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/sweep/bench.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/base/random.hpp"

namespace orrery::calibrate::test {

// A plain formula, in us.
inline double time_of(const kernels::KernelCase& kernel) {
  const kernels::Work work = kernels::work_of(kernel);
  return 5.0 + in_flop(work.flop) / 7e8 + in_bytes(work.moved()) / 4e6;
}

class FormulaBench : public Bench {
 public:
  using Times = std::function<double(const kernels::KernelCase& kernel)>;  // us

  explicit FormulaBench(Times times, double noise = 0.0) : times_(std::move(times)), noise_(noise) {
    fingerprint_.gpu = "NVIDIA H200";
    fingerprint_.gpus = 1;
    fingerprint_.compute_capability = "9.0";
    fingerprint_.multiprocessors = 132;
    fingerprint_.cuda_compiled = fingerprint_.cuda_runtime = fingerprint_.cuda_driver = "13.0";
    fingerprint_.tool = "test";
  }

  [[nodiscard]] const Fingerprint& fingerprint() const override { return fingerprint_; }

  [[nodiscard]] Fingerprint& machine() { return fingerprint_; }

  [[nodiscard]] Sample measure(const kernels::KernelCase& kernel,
                               const MeasureOptions& options) override {
    if (unsupported.contains(kernel.precision)) {
      throw kernels::Unsupported("no algorithm", "15 NOT_SUPPORTED");
    }
    if (on_case) {
      on_case(kernel);
    }
    measured.push_back(kernel);
    verified += options.verify ? 1 : 0;
    searched += options.search ? 1 : 0;
    if (on_measure) {
      on_measure();
    }
    Sample sample;
    sample.kernel = kernel;
    sample.regime = options.regime;
    sample.condition = options.condition;
    const double factor_of_condition = slowdown(options.condition);
    using Kind = Condition::Kind;
    const Kind kind = options.condition.kind;
    if (kind == Kind::beside || kind == Kind::fewer_multiprocessors || kind == Kind::streaming) {
      sample.alone = times_(kernel);
    }
    sample.implementation = "formula";
    sample.taken_at = now();
    for (int i = 0; i < 11; ++i) {
      const double factor = 1.0 + noise_ * (random_.uniform01() - 0.5);
      sample.times.push_back(times_(kernel) * factor * slowness * factor_of_condition);
    }
    if (options.verify) {
      sample.error = error_of ? error_of(kernel) : error;
    }
    return sample;
  }

  [[nodiscard]] kernels::Verification verify(const kernels::KernelCase& kernel) override {
    if (unsupported.contains(kernel.precision)) {
      throw kernels::Unsupported("no algorithm", "15 NOT_SUPPORTED");
    }
    ++verified;
    return {.passed = error <= 1.0,
            .worst_error = error,
            .scale = 1.0,
            .compared = 64,
            .where = "row 3"};
  }

  [[nodiscard]] bool usable() override { return alive; }

  [[nodiscard]] std::string now() const override { return "2026-11-20T12:00:00Z"; }

  [[nodiscard]] SettlingCurve soak(Seconds duration) override {
    soaks.push_back(in_seconds(duration));
    return {.kernel = soak_case(),
            .taken_at = now(),
            .points = {{.since_load = in_seconds(duration), .time = times_(soak_case())}}};
  }

  std::set<kernels::Precision> unsupported;
  std::vector<kernels::KernelCase> measured;
  std::vector<double> soaks;
  std::function<void()> on_measure;
  std::function<void(const kernels::KernelCase& kernel)> on_case;  // may throw
  std::function<double(const kernels::KernelCase& kernel)> error_of;
  bool alive = true;
  double slowness = 1.0;
  double error = 0.1;
  int verified = 0;
  int searched = 0;

 private:
  // A launch of 5 us per graph, 2 % beside other work, 1 % per multiprocessor.
  [[nodiscard]] double slowdown(const Condition& condition) const {
    const auto count = static_cast<double>(condition.count);
    switch (condition.kind) {
      case Condition::Kind::graph:
        return 1.0 + 5.0 / (count * times_(tiny_case()));
      case Condition::Kind::beside:
        return 1.02;
      case Condition::Kind::fewer_multiprocessors:
        return 1.0 + 0.01 * count;
      case Condition::Kind::streaming:
        return 1.0 + 0.015 * count;
      default:
        return 1.0;
    }
  }

  Times times_;
  double noise_;
  Fingerprint fingerprint_;
  RandomStream random_{7, 0, Purpose::property_test};
};

}  // namespace orrery::calibrate::test
