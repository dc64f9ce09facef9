#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>

#include "calibrate/measure/device_bench.hpp"
#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/sweep_runner.hpp"
#include "kernels/collectives/collective.hpp"
#include "sim/base/error.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CollectiveGroup;
using kernels::KernelCase;

constexpr std::chrono::milliseconds kPatience{120'000};
constexpr int kWarmUp = 5;
constexpr int kFewestCalls = 5;
constexpr int kMostCalls = 200;
constexpr int kSamples = 10;
constexpr Seconds kBlock = milliseconds(20.0);
constexpr std::int64_t kLargestFunctional = std::int64_t{1} << 20U;  // bytes

int calls_of(double seconds_per_call) {
  const double calls = std::ceil(in_seconds(kBlock) / std::max(seconds_per_call, kNano));
  return static_cast<int>(std::clamp<double>(calls, kFewestCalls, kMostCalls));
}

// The GPUs of a node go to its processes in turn.
kernels::DeviceInfo device_of(const kernels::GroupRank& place) {
  const kernels::DeviceInfo first = kernels::find_device(0);
  const int index = place.local_rank % first.visible_gpus;
  return index == 0 ? first : kernels::find_device(index);
}

// Where NCCL writes which algorithm it chooses; the environment says so before NCCL reads it.
class NcclLog {
 public:
  static void open() {
    ::setenv("NCCL_DEBUG", "INFO", 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
    ::setenv("NCCL_DEBUG_FILE", path().c_str(), 1);
  }

  ~NcclLog() {
    std::error_code ignored;
    std::filesystem::remove(path(), ignored);
  }

  // What is written so far is not asked for.
  void skip() { (void)rest(); }

  // What was written since.
  [[nodiscard]] std::string rest() {
    std::ifstream file(path());
    file.seekg(at_);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    at_ += static_cast<std::streamoff>(text.size());
    return text;
  }

 private:
  static std::filesystem::path path() {
    return std::filesystem::temp_directory_path() / fmt::format("orrery-nccl-{}.log", ::getpid());
  }

  std::streamoff at_ = 0;
};

class Sweep {
 public:
  Sweep(const CollectiveRequest& request, const kernels::DeviceInfo& device,
        const CollectiveGroup& world, std::unique_ptr<SampleJournal> journal)
      : request_(request), nvml_(device.pci), world_(world), journal_(std::move(journal)) {
    outcome_.first = world.rank() == 0;
    outcome_.functional = world.functional() || world.ranks() == 1;
  }

  CollectiveOutcome run() {
    const auto shapes = collective_shapes(world_.ranks(), world_.nodes());
    for (const CollectiveShape& shape : shapes) {
      for (const auto& cases : {collective_cases(shape), background_cases(shape)}) {
        all_ += std::ranges::count_if(
            cases, [this](const KernelCase& kernel) { return !too_large(kernel); });
      }
    }
    for (const CollectiveShape& shape : shapes) {
      const auto group = static_cast<int>(group_of(shape, world_.rank()));
      const bool member = group == 0 || shape.concurrent;
      const std::unique_ptr<CollectiveGroup> part =
          world_.part(member ? std::optional(group) : std::nullopt);
      if (part) {
        run_shape(shape, *part);
      }
      world_.barrier(stream_.get());
    }
    if (journal_) {
      journal_->close();
    }
    return outcome_;
  }

 private:
  // A decision of rank 0, for all of the group.
  bool agreed(bool mine, const CollectiveGroup& group) {
    const bool decides = group.rank() == 0;
    return group.largest(decides && mine ? 1.0 : 0.0, stream_.get()) > 0.0;
  }

  // Ranks that share a GPU show that calls work: with small messages, and nothing beside them.
  [[nodiscard]] bool too_large(const KernelCase& kernel) const {
    return world_.functional() && extent(kernel, "bytes") > kLargestFunctional;
  }

  void run_shape(const CollectiveShape& shape, const CollectiveGroup& group) {
    // Groups that run at once begin and end each case together.
    const CollectiveGroup& together = shape.concurrent ? world_ : group;
    const Condition condition = shape.concurrent ? Condition{.kind = Condition::Kind::concurrent,
                                                             .count = world_.ranks() / shape.ranks}
                                                 : Condition{};
    for (const KernelCase& kernel : collective_cases(shape)) {
      if (too_large(kernel)) {
        continue;
      }
      const bool went_on = step(kernel, condition, together, [&] {
        request_.choices ? ask(kernel, condition, group)
                         : measure(kernel, condition, group, together);
      });
      if (!went_on) {
        return;
      }
    }
    for (const KernelCase& other : background_cases(shape)) {
      if (too_large(other) || request_.choices) {
        continue;
      }
      const Condition beside{.kind = Condition::Kind::beside, .count = 0, .other = other};
      if (!step(anchor_case(), beside, group, [&] { measure_beside(beside, group); })) {
        return;
      }
    }
  }

  // Does `work` unless the journal has its sample. False after a stop request.
  template <typename Work>
  bool step(const KernelCase& kernel, const Condition& condition, const CollectiveGroup& group,
            const Work& work) {
    if (agreed(request_.stop.stop_requested(), group)) {
      return false;
    }
    const bool known =
        agreed(journal_ && journal_->has(kernel, Regime::sustained, condition), group);
    if (request_.choices ? known : !known) {
      work();
      if (request_.progress && outcome_.first) {
        request_.progress(done_ + 1, all_);
      }
    }
    ++done_;
    return true;
  }

  // Fills a sample by `work` and keeps it; what is not offered is kept as such.
  template <typename Work>
  void keep(const KernelCase& kernel, const Condition& condition, const Work& work) {
    Sample sample;
    sample.kernel = kernel;
    sample.condition = condition;
    sample.block = "collectives";
    sample.functional = outcome_.functional;
    try {
      work(sample);
    } catch (const kernels::Unsupported& unsupported) {
      sample.supported = false;
      sample.status = unsupported.status();
    }
    sample.taken_at = utc_now();
    if (journal_) {
      journal_->append(sample);
    }
  }

  // A product on every rank while they exchange: what the collective takes from it.
  void measure_beside(const Condition& condition, const CollectiveGroup& group) {
    keep(anchor_case(), condition, [&](Sample& sample) {
      const auto largest = [&](double value) { return group.largest(value, stream_.get()); };
      const std::unique_ptr<kernels::Runnable> product = kernels::prepare(sample.kernel, {});
      const std::unique_ptr<kernels::Collective> other =
          kernels::make_collective(condition.other.value(), group, {});
      const TimingRules rules;
      const Timer timer{.stream = stream_.get(), .nvml = nvml_, .rules = rules};
      const Timing alone = time_calls(*product, timer, Regime::sustained);
      sample.alone = largest(summarise(alone.times).median);
      Timing timing = time_beside(*product, timer, {*other, other_stream_.get(), largest});
      sample.times = std::move(timing.times);
      sample.state = std::move(timing.state);
      sample.implementation = product->implementation();
    });
  }

  // Every rank looks at its own result; one wrong rank ends the sweep on all.
  void verify(const KernelCase& kernel, kernels::Collective& collective,
              const CollectiveGroup& group, Sample& sample) {
    if (!verified_.insert(kernel.operation).second) {
      return;
    }
    const kernels::Verification mine = collective.verify(stream_.get());
    const double error = mine.passed ? mine.worst_error : std::max(mine.worst_error, 2.0);
    sample.error = group.largest(error, stream_.get());
    if (*sample.error > 1.0) {
      throw Error(ErrorKind::device,
                  fmt::format("{}: the result of a rank is wrong{}{}", kernels::to_text(kernel),
                              mine.passed ? "" : ": ", mine.passed ? "" : mine.where));
    }
  }

  // One call, whose algorithm and protocol join the sample that the journal has.
  void ask(const KernelCase& kernel, const Condition& condition, const CollectiveGroup& group) {
    std::optional<NcclChoice> choice;
    try {
      const std::unique_ptr<kernels::Collective> collective =
          kernels::make_collective(kernel, group, {});
      log_.skip();
      collective->launch(stream_.get(), 0);
      stream_.synchronize();
      choice = last_nccl_choice(log_.rest());
    } catch (const kernels::Unsupported&) {
      return;
    }
    if (!journal_ || !choice) {
      return;
    }
    const std::string key = key_of(kernel, Regime::sustained, condition);
    for (const Sample& sample : std::vector<Sample>(journal_->samples())) {
      if (key_of(sample.kernel, sample.regime, sample.condition, sample.repeat) == key) {
        Sample told = sample;
        std::erase_if(told.details, [](const auto& detail) {
          return detail.first == "algorithm" || detail.first == "protocol" ||
                 detail.first == "channels";
        });
        told.details.emplace_back("algorithm", choice->algorithm);
        told.details.emplace_back("protocol", choice->protocol);
        told.details.emplace_back("channels", std::to_string(choice->channels));
        journal_->append(told);
      }
    }
  }

  // `together`: all ranks that are in step; the slowest of them counts.
  void measure(const KernelCase& kernel, const Condition& condition, const CollectiveGroup& group,
               const CollectiveGroup& together) {
    keep(kernel, condition, [&](Sample& sample) {
      sample.implementation = "nccl";
      const std::unique_ptr<kernels::Collective> collective =
          kernels::make_collective(kernel, group, {});
      verify(kernel, *collective, group, sample);
      const std::optional<double> estimate = collective->estimate(stream_.get());
      if (estimate) {
        sample.details.emplace_back("nccl_estimate_us",
                                    fmt::format("{:.3f}", in_microseconds(seconds(*estimate))));
      }
      const auto slowest = [&](int calls) {
        together.barrier(stream_.get());
        return together.largest(
            kernels::time_collective(*collective, group, calls, stream_.get()).slowest,
            stream_.get());
      };
      const int calls = calls_of(slowest(kWarmUp));
      for (int i = 0; i < kSamples; ++i) {
        sample.times.push_back(in_microseconds(seconds(slowest(calls))));
      }
      sample.details.emplace_back("bytes", fmt::format("{}", collective->bytes()));
      const kernels::GpuReading reading = nvml_.read();
      sample.state = {.sm_clock = reading.sm_clock,
                      .memory_clock = reading.memory_clock,
                      .power = reading.power,
                      .temperature = reading.temperature};
    });
  }

  const CollectiveRequest& request_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
  kernels::OwnedStream other_stream_;
  const CollectiveGroup& world_;
  std::unique_ptr<SampleJournal> journal_;
  NcclLog log_;
  CollectiveOutcome outcome_;
  std::set<kernels::Operation> verified_;
  std::int64_t done_ = 0;
  std::int64_t all_ = 0;
};

}  // namespace

CollectiveOutcome run_collectives(const CollectiveRequest& request,
                                  const OpenJournal& open_journal) {
  const kernels::FoundRank found = kernels::group_rank(
      {request.rank, request.ranks, request.local_rank}, kernels::process_environment());
  if (!found.problem.empty()) {
    throw Error(ErrorKind::device, found.problem);
  }
  std::optional<kernels::Meeting> meeting;
  if (request.meeting) {
    const kernels::ParsedMeeting parsed = kernels::parse_meeting(*request.meeting);
    if (!parsed.meeting) {
      throw Error(ErrorKind::device, parsed.problem);
    }
    meeting = parsed.meeting;
  }
  if (request.choices) {
    NcclLog::open();
  }
  const kernels::DeviceInfo device = device_of(found.group);
  const CollectiveGroup world(found.group, meeting, kPatience);
  std::unique_ptr<SampleJournal> journal;
  if (world.rank() == 0) {
    journal = open_journal(fingerprint_of(device, kernels::Nvml(device.pci)));
  }
  return Sweep(request, device, world, std::move(journal)).run();
}

}  // namespace orrery::calibrate
