#include "calibrate/measure/device_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::int64_t kRotatedL2 = 4;

LibraryVersions versions(const kernels::LibraryVersion& library) {
  return {.header = library.header, .runtime = library.runtime};
}

// "model name" of the first processor; empty where the system does not say.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

// The same data for a case in every run.
std::uint64_t seed_of(const kernels::KernelCase& kernel) {
  constexpr std::size_t kHexDigits = 16;
  const std::string digits = sha256_hex(kernels::to_text(kernel)).substr(0, kHexDigits);
  std::uint64_t seed = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), seed, 16);
  return seed;
}

std::optional<double> first_choice(const std::vector<kernels::Detail>& details) {
  for (const kernels::Detail& detail : details) {
    double value = 0.0;
    const char* end = detail.value.data() + detail.value.size();
    if (detail.name == "heuristic0_over_best" &&
        std::from_chars(detail.value.data(), end, value).ptr == end) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

NvlinkTopology topology_of(const kernels::NvLinks& links,
                           const std::vector<std::string>& addresses) {
  NvlinkTopology topology{
      .links = links.links,
      .version = links.version.empty() ? std::nullopt : std::optional(links.version),
      .switched = links.switched > 0,
      .peers = {}};
  if (links.peers.empty()) {
    return topology;
  }
  for (const std::string& address : addresses) {
    const auto visible = kernels::parse_pci(address);
    topology.peers.push_back(std::ranges::count_if(
        links.peers, [&](const kernels::PciAddress& peer) { return peer == visible; }));
  }
  return topology;
}

Fingerprint fingerprint_of(const kernels::DeviceInfo& info, const kernels::Nvml& nvml) {
  const kernels::GpuLimits limits = nvml.limits();
  Fingerprint f;
  f.gpu = info.name;
  f.gpu_uuid = info.uuid;
  if (const auto links = nvml.links()) {
    f.nvlink = topology_of(*links, kernels::visible_addresses());
  }
  f.gpus = info.visible_gpus;
  f.compute_capability = fmt::format("{}.{}", info.major, info.minor);
  f.multiprocessors = info.multiprocessors;
  f.l2_bytes = info.l2;
  f.memory_bytes = info.memory;
  f.pcie_generation = limits.pcie_generation;
  f.pcie_width = limits.pcie_width;
  f.mig = info.mig;
  f.ecc = info.ecc;
  f.driver = limits.driver;
  f.cuda_compiled = kernels::cuda_version_text(info.header);
  f.cuda_runtime = kernels::cuda_version_text(info.runtime);
  f.cuda_driver = kernels::cuda_version_text(info.driver);
  f.cublaslt = versions(info.cublaslt);
  f.cudnn = versions(info.cudnn);
  f.nccl = versions(info.nccl);
  f.power_limit = limits.power_limit;
  f.most_sm_clock = limits.sm_clock;
  f.cpu = cpu_name();
  f.cores = std::thread::hardware_concurrency();
  f.tool = ORRERY_VERSION;
  return f;
}

std::string utc_now() {
  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), size};
}

DeviceBench::DeviceBench(int device, const TimingRules& rules)
    : info_(kernels::find_device(device)),
      rules_(rules),
      nvml_(info_.pci),
      fingerprint_(fingerprint_of(info_, nvml_)) {}

std::unique_ptr<kernels::Runnable> DeviceBench::prepare(const kernels::KernelCase& kernel,
                                                        const Preparation& how) {
  return kernels::prepare(kernel, {.rotated = how.rotated ? kRotatedL2 * info_.l2 : 0,
                                   .seed = seed_of(kernel),
                                   .search = how.search,
                                   .before_search = [this] {
                                     if (filler_) {
                                       filler_->stop();
                                     }
                                   }});
}

// While a kernel of our own holds multiprocessors; how much it copied is kept beside the times.
Timing DeviceBench::time_occupied(kernels::Runnable& runnable, const Timer& timer, Sample& sample) {
  using Load = kernels::Occupier::Load;
  const bool streams = sample.condition.kind == Condition::Kind::streaming;
  kernels::Occupier occupier(static_cast<int>(sample.condition.count),
                             streams ? Load::streams : Load::spins);
  Timing timing = calibrate::time_occupied(runnable, timer, occupier, other_stream_.get());
  if (streams) {
    sample.details.emplace_back("streamed_gbps", fmt::format("{:.1f}", occupier.moved() / kGiga));
  }
  return timing;
}

// The times, and in the sample what the condition is compared with.
Timing DeviceBench::time(kernels::Runnable& runnable, const MeasureOptions& options,
                         Sample& sample) {
  using Kind = Condition::Kind;
  const Condition& condition = options.condition;
  if (condition.kind == Kind::alone) {
    const TimingRules rules = options.power ? rules_for(sample.kernel, rules_) : rules_;
    return time_calls(
        runnable, {.stream = stream_.get(), .nvml = nvml_, .rules = rules, .filler = filler_.get()},
        options.regime);
  }
  const Timer timer{
      .stream = stream_.get(), .nvml = nvml_, .rules = rules_, .filler = filler_.get()};
  if (condition.kind == Kind::enqueued || condition.kind == Kind::graph) {
    if (filler_) {
      filler_->stop();
    }
    return condition.kind == Kind::enqueued
               ? time_enqueued(runnable, timer)
               : time_graph(runnable, timer, static_cast<int>(condition.count));
  }
  sample.alone = summarise(time_calls(runnable, timer, options.regime).times).median;
  if (condition.kind != Kind::beside) {
    return time_occupied(runnable, timer, sample);
  }
  const std::unique_ptr<kernels::Runnable> other = prepare(condition.other.value(), {});
  if (filler_) {
    filler_->stop();
  }
  return time_beside(runnable, timer,
                     {.other = *other, .stream = other_stream_.get(), .largest = {}});
}

Sample DeviceBench::measure(const kernels::KernelCase& kernel, const MeasureOptions& options) {
  using Kind = Condition::Kind;
  const Kind kind = options.condition.kind;
  if (filler_) {
    filler_->rested();
    if (options.regime == Regime::sustained) {
      filler_->start();
    }
  }
  const std::unique_ptr<kernels::Runnable> runnable = prepare(
      kernel, {.search = options.search, .rotated = kind != Kind::enqueued && kind != Kind::graph});
  Sample sample;
  sample.kernel = kernel;
  sample.regime = options.regime;
  sample.condition = options.condition;
  if (options.verify) {
    const kernels::Verification verification = runnable->verify(stream_.get());
    // What was not written has no error to speak of, but is wrong.
    sample.error =
        verification.passed ? verification.worst_error : std::max(verification.worst_error, 2.0);
  }
  Timing timing = time(*runnable, options, sample);
  sample.times = std::move(timing.times);
  sample.state = std::move(timing.state);
  sample.implementation = runnable->implementation();
  const std::vector<kernels::Detail> details = runnable->details();
  sample.first_choice = first_choice(details);
  for (const kernels::Detail& detail : details) {
    sample.details.emplace_back(detail.name, detail.value);
  }
  if (!timing.settled) {
    sample.details.emplace_back("not_settled_after_ms",
                                fmt::format("{:.0f}", in_milliseconds(timing.settled_after)));
  }
  sample.taken_at = now();
  return sample;
}

kernels::Verification DeviceBench::verify(const kernels::KernelCase& kernel) {
  return prepare(kernel, {})->verify(stream_.get());
}

bool DeviceBench::usable() { return kernels::device_answers(); }

std::string DeviceBench::now() const { return utc_now(); }

SettlingCurve DeviceBench::soak(Seconds duration) {
  if (!filler_) {
    filler_ = std::make_unique<Filler>(info_.index, prepare(soak_case(), {}));
  }
  filler_->stop();
  const std::unique_ptr<kernels::Runnable> runnable = prepare(soak_case(), {});
  const Timer timer{.stream = stream_.get(), .nvml = nvml_, .rules = rules_};
  SettlingCurve curve{.kernel = soak_case(), .taken_at = now(), .points = {}};
  curve.points = settle(*runnable, timer, duration);
  return curve;
}

}  // namespace orrery::calibrate
