// The program that measures, on a GPU of formulas that takes as long as a real one: in the time of
// simulated_time.bash, whose CLOCK, ENDS and CUT it obeys. All of it but the device is the product.
//
// what                                         | takes, s
// ---------------------------------------------|------------------------------------------------
// the process, before it measures              | 2
// a case: operands, graph                      | 0.08
//   until it has settled, and its samples      | 0.17, 16 calls at least; where the power of a
//                                              | kernel is asked that moves memory, 0.36
//   in bursts                                  | 2.5
//   under a condition                          | 0.6
//   verified                                   | 0.4 more
//   its candidates searched                    | 160 calls more, 1 at most
// a check of one kernel                        | 0.13
// a small step in double precision             | 2
// a step: its operands, its warm-up and loop   | 0.6 and those
//
// After ENDS the program is told to end (SIGINT), and is gone 0.9 s later whatever it does
// (sim/cli/frame/interrupt.hpp).

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "calibrate/command/calibrate_command.hpp"
#include "calibrate/validate/validate_command.hpp"
#include "sim/cli/frame/program.hpp"
#include "tests/unit/calibrate/validate/formula_step_bench.hpp"

namespace {

using namespace orrery;
using namespace orrery::calibrate;

constexpr int kInterrupted = 130;
constexpr Seconds kGrace = milliseconds(900.0);

class SimulatedClock {
 public:
  SimulatedClock() {
    double now = 0.0;
    std::ifstream(file_) >> now;
    now_ = milliseconds(now);
  }

  void spend(Seconds time) {
    now_ += time;
    if (cut_ && now_ >= *cut_) {
      write(*cut_);
      kill(0, SIGKILL);
    }
    if (ends_ && now_ >= *ends_ + kGrace) {
      write(*ends_ + kGrace);
      _exit(kInterrupted);
    }
    write(now_);
    if (ends_ && now_ >= *ends_ && !told_) {
      told_ = true;
      tell();
    }
  }

 private:
  static std::optional<Seconds> moment(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional(milliseconds(std::atof(text)));
  }

  void write(Seconds time) const {
    std::ofstream(file_) << static_cast<long long>(in_milliseconds(time)) << '\n';
  }

  // Returns when the program has taken the signal.
  static void tell() {
    kill(getpid(), SIGINT);
    sigset_t waiting;
    do {
      sigpending(&waiting);
    } while (sigismember(&waiting, SIGINT) == 1);
  }

  std::string file_ = std::getenv("CLOCK");
  Seconds now_;
  std::optional<Seconds> ends_ = moment("ENDS");
  std::optional<Seconds> cut_ = moment("CUT");
  bool told_ = false;
};

class TimedBench final : public test::FormulaBench {
 public:
  explicit TimedBench(SimulatedClock& clock) : FormulaBench(test::time_of, 0.002), clock_(clock) {
    machine().gpu_uuid = "GPU-of-formulas";
  }

  [[nodiscard]] Sample measure(const kernels::KernelCase& kernel,
                               const MeasureOptions& options) override {
    clock_.spend(time_to_measure(kernel, options));
    return FormulaBench::measure(kernel, options);
  }

  [[nodiscard]] kernels::Verification verify(const kernels::KernelCase& kernel) override {
    clock_.spend(seconds(0.13));
    return FormulaBench::verify(kernel);
  }

  [[nodiscard]] SettlingCurve soak(Seconds duration) override {
    clock_.spend(duration);
    return FormulaBench::soak(duration);
  }

 private:
  static Seconds time_to_measure(const kernels::KernelCase& kernel, const MeasureOptions& options) {
    const Seconds call = microseconds(test::time_of(kernel));
    Seconds all = milliseconds(80.0);
    if (options.regime == Regime::burst) {
      all += seconds(2.5);
    } else if (!options.condition.alone()) {
      all += seconds(0.6);
    } else {
      const bool longer = options.power && kernels::work_of(kernel).flop <= Flop{};
      all += std::max(milliseconds(longer ? 360.0 : 170.0), 16.0 * call);
    }
    all += options.verify ? seconds(0.4) : Seconds{};
    return all + (options.search ? std::min(seconds(1.0), 160.0 * call) : Seconds{});
  }

  SimulatedClock& clock_;
};

class TimedStepBench final : public StepBench {
 public:
  explicit TimedStepBench(SimulatedClock& clock) : clock_(clock), kernels_(clock) {}

  [[nodiscard]] Bench& kernels() override { return kernels_; }

  [[nodiscard]] StepTiming time_step(const StepProgram& program,
                                     const StepTimingRules& rules) override {
    StepTiming timing = steps_.time_step(program, rules);
    const Seconds launched = rules.launched * microseconds(timing.step.median);
    clock_.spend(milliseconds(600.0) + rules.warm_up + rules.loop + launched);
    return timing;
  }

  [[nodiscard]] StepCheck check_step(const StepProgram& program) override {
    clock_.spend(seconds(2.0));
    return steps_.check_step(program);
  }

 private:
  SimulatedClock& clock_;
  TimedBench kernels_;
  test::FormulaStepBench steps_{test::time_of};
};

}  // namespace

int main(int argc, char** argv) {
  return cli::run_guarded([argc, argv] {
    std::optional<SimulatedClock> clock;
    const auto started = [&clock]() -> SimulatedClock& {
      clock.emplace().spend(seconds(2.0));
      return *clock;
    };
    if (asks_to_validate(argc, argv)) {
      return validate_command(argc, argv,
                              [&](int) { return std::make_unique<TimedStepBench>(started()); });
    }
    return calibrate_command(
        argc, argv,
        {.bench = [&](int) { return std::make_unique<TimedBench>(started()); },
         .collectives = {},
         .parts = {.cuda = "13.0", .collectives = false, .cudnn_attention = true}});
  });
}
