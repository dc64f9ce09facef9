#include "calibrate/sweep/sweep_runner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "calibrate/samples/sample.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

namespace {

// Log of the cases during which earlier processes crashed: a file beside the journal that names the
// case in progress. A kernel or a library that takes the process with it leaves its name there.
//
//   line = a case (sim/step/kernels); the last is in progress, those before it ended a process
//
// A process that is killed from outside leaves a line too, so that one line proves nothing.
//
// Errors: none. Where the file cannot be written, crashes are forgotten.

class CrashLog {
 public:
  // Reads what earlier processes left.
  explicit CrashLog(std::filesystem::path path);

  [[nodiscard]] const std::vector<kernels::KernelCase>& ended() const { return ended_; }

  void begin(const kernels::KernelCase& kernel) const;
  void end() const;

  // After a sweep that came to its end: the next one has no crashes behind it.
  void forget() const;

 private:
  void write(const kernels::KernelCase* current) const;

  std::filesystem::path path_;
  std::vector<kernels::KernelCase> ended_;
};

CrashLog::CrashLog(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_);
  std::string line;
  while (std::getline(file, line)) {
    if (const kernels::ParsedCase parsed = kernels::parse_case(line); parsed.kernel) {
      ended_.push_back(*parsed.kernel);
    }
  }
}

void CrashLog::begin(const kernels::KernelCase& kernel) const { write(&kernel); }

void CrashLog::end() const { write(nullptr); }

void CrashLog::forget() const {
  std::error_code ignored;  // what stays is read as one crash, which proves nothing
  std::filesystem::remove(path_, ignored);
}

void CrashLog::write(const kernels::KernelCase* current) const {
  if (current == nullptr && ended_.empty()) {
    return forget();
  }
  std::ofstream file(path_, std::ios::trunc);
  for (const kernels::KernelCase& kernel : ended_) {
    file << kernels::to_text(kernel) << '\n';
  }
  if (current != nullptr) {
    file << kernels::to_text(*current) << '\n';
  }
}

using Cases = std::vector<SweepCase>;

constexpr std::string_view kWrong = "wrong result: ";
constexpr std::string_view kFailed = "failed: ";
constexpr std::string_view kLost = "device lost: ";

bool is_burst(const SweepCase& planned) { return planned.regime == Regime::burst; }

// Fisher-Yates with our own stream: the same order everywhere.
void shuffle(std::span<SweepCase> cases, std::uint64_t seed) {
  RandomStream random(seed, 0, Purpose::calibration_order);
  for (std::size_t left = cases.size(); left > 1; --left) {
    std::swap(cases[left - 1], cases[random.uniform_int(left)]);
  }
}

double size_of(const kernels::KernelCase& kernel) {
  const auto work = kernels::work_of(kernel);
  return in_flop(work.flop) + in_bytes(work.moved());
}

class Runner {
  using Kind = std::tuple<kernels::Operation, kernels::Role, kernels::Precision>;

 public:
  Runner(Bench& bench, SampleJournal& journal, const SweepOptions& options)
      : bench_(bench),
        journal_(journal),
        options_(options),
        crashes_(journal.path().string() + ".running") {
    remember_crashes();
    for (const Sample& sample : journal.samples()) {
      anchors_ = std::max(anchors_, sample.repeat);
      if (!sample.supported) {
        remember(sample);
      }
    }
  }

  SweepReport run(const Cases& exact, const Cases& cases) {
    Cases bursts;
    Cases rest = missing(exact);
    const std::size_t first = rest.size();
    for (const SweepCase& planned : missing(cases)) {
      if (is_burst(planned)) {
        bursts.push_back(planned);
      } else if (!contains(rest, first, planned)) {
        rest.push_back(planned);
      }
    }
    const auto at_random =
        std::stable_partition(rest.begin() + static_cast<std::ptrdiff_t>(first), rest.end(),
                              [](const SweepCase& planned) { return planned.singly; });
    shuffle({at_random, rest.end()}, options_.seed);
    smallest_first({rest.begin(), first});
    smallest_first({at_random, rest.end()});
    all_ = static_cast<std::int64_t>(bursts.size() + rest.size());
    for (const SweepCase& planned : bursts) {
      if (!measure(planned)) {
        return std::move(report_);
      }
    }
    if (!rest.empty() && !stopped()) {
      journal_.append(bench_.soak(options_.soak));
      run_blocks(rest);
    }
    if (!report_.interrupted) {
      crashes_.forget();
    }
    return std::move(report_);
  }

 private:
  static bool contains(const Cases& cases, std::size_t count, const SweepCase& wanted) {
    return std::any_of(cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const SweepCase& c) {
                         return c.kernel == wanted.kernel && c.regime == wanted.regime &&
                                c.condition == wanted.condition;
                       });
  }

  // The first case of each kind is compared with a reference on the host, which takes seconds for a
  // large one: the smallest takes its place.
  static void smallest_first(std::span<SweepCase> cases) {
    std::set<Kind> seen;
    for (auto first = cases.begin(); first != cases.end(); ++first) {
      const Kind kind = kind_of(first->kernel);
      if (!first->condition.alone() || !seen.insert(kind).second) {
        continue;
      }
      auto smallest = first;
      for (auto other = first; other != cases.end(); ++other) {
        if (other->condition.alone() && kind_of(other->kernel) == kind &&
            size_of(other->kernel) < size_of(smallest->kernel)) {
          smallest = other;
        }
      }
      std::swap(*first, *smallest);
    }
  }

  Cases missing(const Cases& cases) {
    Cases left;
    for (const SweepCase& planned : cases) {
      if (journal_.has(planned.kernel, planned.regime, planned.condition)) {
        ++report_.known;
      } else {
        left.push_back(planned);
      }
    }
    return left;
  }

  bool stopped() {
    report_.interrupted = report_.interrupted || options_.stop.stop_requested();
    return report_.interrupted;
  }

  void run_blocks(const Cases& cases) {
    double before = anchor();
    for (std::size_t begin = 0; begin < cases.size(); begin += options_.block_length) {
      const std::size_t end = std::min(begin + options_.block_length, cases.size());
      const Cases block(cases.begin() + static_cast<std::ptrdiff_t>(begin),
                        cases.begin() + static_cast<std::ptrdiff_t>(end));
      if (!measure_all(block)) {
        return;
      }
      double after = anchor();
      if (drift(before, after) > options_.drift_limit) {
        ++report_.blocks_repeated;
        journal_.append(bench_.soak(options_.short_soak));
        before = anchor();
        done_ -= static_cast<std::int64_t>(block.size());
        if (!measure_all(block)) {
          return;
        }
        after = anchor();
        if (drift(before, after) > options_.drift_limit) {
          mark(block, drift(before, after));
        }
      }
      report_.worst_drift = std::max(report_.worst_drift, drift(before, after));
      before = after;
    }
  }

  static double drift(double before, double after) { return std::abs(after / before - 1.0); }

  // Times of a block during which the anchor moved twice are kept, and say so.
  void mark(const Cases& block, double moved) {
    report_.warnings.push_back(fmt::format(
        "the anchor moved by {:.1f} % during {} cases, also when they were measured again",
        100.0 * moved, block.size()));
    for (const SweepCase& planned : block) {
      for (const Sample& sample : std::vector<Sample>(journal_.samples())) {
        if (sample.kernel == planned.kernel && sample.regime == planned.regime &&
            sample.condition == planned.condition && sample.repeat == 0 && sample.supported) {
          Sample marked = sample;
          marked.drifted = true;
          journal_.append(marked);
        }
      }
    }
  }

  bool measure_all(const Cases& block) {
    return std::ranges::all_of(block, [&](const SweepCase& planned) { return measure(planned); });
  }

  // In cycles, as far as the clock is known: at a limit of power time and clock move together with
  // what ran before, and profiles state every product at one clock.
  double anchor() {
    Sample sample = bench_.measure(anchor_case(), {});
    sample.block = "anchor";
    sample.repeat = ++anchors_;
    journal_.append(sample);
    return summarise(sample.times).median * sample.state.sm_clock.value_or(1.0);
  }

  static Kind kind_of(const kernels::KernelCase& kernel) {
    return {kernel.operation, kernel.role, kernel.precision};
  }

  // A kind that is wrong, or ends the use of the device, is not tried again.
  void remember(const Sample& sample) {
    const std::string_view status = sample.status;
    if (sample.condition.alone() && (status.starts_with(kWrong) || status.starts_with(kLost))) {
      left_out_.insert(kind_of(sample.kernel));
    }
  }

  // One crash may have been somebody's kill; two of one kind are its own.
  void remember_crashes() {
    std::set<Kind> once;
    for (const kernels::KernelCase& kernel : crashes_.ended()) {
      if (!once.insert(kind_of(kernel)).second && !journal_.has(kernel, Regime::sustained)) {
        journal_.append(refused(
            {kernel, "crash", Regime::sustained},
            fmt::format("{}the process ended twice while a kernel of its kind ran", kLost)));
      }
    }
  }

  Sample refused(const SweepCase& planned, std::string status) {
    Sample sample;
    sample.kernel = planned.kernel;
    sample.regime = planned.regime;
    sample.condition = planned.condition;
    sample.block = planned.block;
    sample.supported = false;
    sample.status = std::move(status);
    sample.taken_at = bench_.now();
    return sample;
  }

  // False after a stop request.
  bool measure(const SweepCase& planned) {
    if (stopped()) {
      return false;
    }
    const Sample sample = taken(planned);
    journal_.append(sample);
    if (!sample.supported) {
      remember(sample);
    }
    if (sample.status.starts_with(kLost)) {
      throw Error(ErrorKind::device,
                  fmt::format("{}: {}; what was measured is kept, and the same command goes on "
                              "without this kind",
                              kernels::to_text(planned.kernel), sample.status));
    }
    ++done_;
    if (options_.progress) {
      options_.progress(done_, all_);
    }
    return true;
  }

  Sample taken(const SweepCase& planned) {
    const Kind kind = kind_of(planned.kernel);
    Sample sample;
    std::string trouble;
    if (left_out_.contains(kind)) {
      trouble = "left out: its kind fails on this GPU";
    } else {
      try {
        const MeasureOptions how = how_of(planned);
        crashes_.begin(planned.kernel);
        sample = bench_.measure(planned.kernel, how);
        searched_ += how.search ? 1 : 0;
        ++report_.measured;
        if (sample.error && *sample.error > 1.0) {
          trouble = fmt::format("{}{:.3g} times what its format allows", kWrong, *sample.error);
        }
      } catch (const kernels::Unsupported& unsupported) {
        trouble = unsupported.status();
        unverify(planned);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::device) {
          throw;
        }
        trouble = fmt::format("{}{}", bench_.usable() ? kFailed : kLost, error.what());
        unverify(planned);
      }
    }
    crashes_.end();
    if (!trouble.empty()) {
      ++report_.unsupported;
      return refused(planned, trouble);
    }
    sample.block = planned.block;
    return sample;
  }

  // The next case of the kind is the first that is verified.
  void unverify(const SweepCase& planned) {
    if (planned.condition.alone()) {
      verified_.erase(kind_of(planned.kernel));
    }
  }

  MeasureOptions how_of(const SweepCase& planned) {
    const bool alone = planned.condition.alone();
    const bool product = alone && planned.kernel.operation == kernels::Operation::gemm;
    return {.regime = planned.regime,
            .condition = planned.condition,
            .verify = alone && verified_.insert(kind_of(planned.kernel)).second,
            .search = product && searched_ < options_.searched};
  }

  Bench& bench_;
  SampleJournal& journal_;
  const SweepOptions& options_;
  CrashLog crashes_;
  SweepReport report_;
  std::set<Kind> verified_;
  std::set<Kind> left_out_;
  std::size_t searched_ = 0;
  std::int64_t anchors_ = 0;
  std::int64_t done_ = 0;
  std::int64_t all_ = 0;
};

}  // namespace

bool is_failure(const Sample& sample) {
  const auto begins = [&sample](std::string_view text) { return sample.status.starts_with(text); };
  return !sample.supported && (begins(kWrong) || begins(kFailed) || begins(kLost));
}

SweepReport run_sweep(const std::vector<SweepCase>& exact, const std::vector<SweepCase>& cases,
                      Bench& bench, SampleJournal& journal, const SweepOptions& options) {
  return Runner(bench, journal, options).run(exact, cases);
}

}  // namespace orrery::calibrate
