#include "calibrate/import/trace_samples.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "calibrate/import/trace_calls.hpp"
#include "sim/trace/event_reader.hpp"
#include "sim/trace/gpu_activity.hpp"

namespace orrery::calibration_import {

namespace {

using trace::TraceEvent;

// Where on the host something happened.
struct HostPlace {
  std::string thread;  // with its process
  std::int64_t time = 0;
};

struct HostCall {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name;
  TracedCall call;
};

struct TracedKernel {
  std::string name;
  std::int64_t duration = 0;  // ns
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> external_id;
};

class Collector {
 public:
  void add(const TraceEvent& event) {
    if (event.phase != 'X' || !event.time || !event.duration) {
      return;
    }
    if (event.category == "kernel") {
      kernels_.push_back({event.name, *event.duration, event.correlation, event.external_id});
      return;
    }
    const HostPlace place{event.process + "/" + event.thread, *event.time};
    if (event.category == "cuda_runtime" || event.category == "cuda_driver") {
      if (event.correlation) {
        launches_[*event.correlation] = place;
      }
    } else if (event.category == "cpu_op") {
      if (event.external_id) {
        operations_[*event.external_id] = place;
      }
      if (is_known_call(event.name)) {
        calls_[place.thread].push_back({*event.time,
                                        *event.time + *event.duration,
                                        event.name,
                                        call_of(event.name, event.operands)});
      }
    }
  }

  void finish(TraceSamples& result, const std::string& taken_at) {
    for (auto& [thread, calls] : calls_) {
      std::stable_sort(calls.begin(), calls.end(), [](const HostCall& a, const HostCall& b) {
        return a.begin < b.begin;
      });
    }

    struct Time {
      std::int64_t all = 0;
      std::int64_t longest = 0;
      std::string kernel;  // the longest
    };

    std::map<const HostCall*, Time> times;
    for (const TracedKernel& kernel : kernels_) {
      const auto [call, reason] = caller_of(kernel);
      if (call == nullptr) {
        leave_out(reason, kernel.duration, result);
        continue;
      }
      Time& time = times[call];
      time.all += kernel.duration;
      if (kernel.duration > time.longest) {
        time.longest = kernel.duration;
        time.kernel = kernel.name;
      }
    }
    std::map<std::pair<kernels::KernelCase, std::string>, calibrate::Sample> samples;
    for (const auto& [thread, calls] : calls_) {
      for (const HostCall& call : calls) {
        const auto at = times.find(&call);
        if (at == times.end()) {
          continue;
        }
        if (!call.call.kernel) {
          leave_out(call.name + ": " + call.call.refusal, at->second.all, result);
          continue;
        }
        const std::string library = library_of(*call.call.kernel, at->second.kernel);
        calibrate::Sample& sample = samples[{*call.call.kernel, library}];
        sample.kernel = *call.call.kernel;
        sample.implementation = library;
        sample.block = "trace";
        sample.taken_at = taken_at;
        sample.times.push_back(static_cast<double>(at->second.all) * kNano / kMicro);
        result.taken += nanoseconds(static_cast<double>(at->second.all));
        ++result.calls;
      }
    }
    for (auto& [key, sample] : samples) {
      result.samples.push_back(std::move(sample));
    }
    keep_most(result.samples);
  }

 private:
  static void leave_out(const std::string& reason, std::int64_t duration, TraceSamples& result) {
    result.left_out[reason] += nanoseconds(static_cast<double>(duration));
  }

  // Of one case that two libraries ran, the one with more calls stands for it.
  static void keep_most(std::vector<calibrate::Sample>& samples) {
    std::map<kernels::KernelCase, calibrate::Sample> best;
    for (calibrate::Sample& sample : samples) {
      calibrate::Sample& known = best[sample.kernel];
      if (sample.times.size() > known.times.size()) {
        known = std::move(sample);
      }
    }
    samples.clear();
    for (auto& [kernel, sample] : best) {
      samples.push_back(std::move(sample));
    }
  }

  static std::string library_of(const kernels::KernelCase& kernel, const std::string& name) {
    if (kernel.operation == kernels::Operation::gemm) {
      return "cublaslt";
    }
    return name.find("cudnn") != std::string::npos   ? "cudnn"
           : name.find("flash") != std::string::npos ? "flash"
                                                     : "efficient";
  }

  [[nodiscard]] const HostCall* enclosing(const HostPlace& place) const {
    const auto thread = calls_.find(place.thread);
    if (thread == calls_.end()) {
      return nullptr;
    }
    const auto& calls = thread->second;
    auto at = std::upper_bound(
        calls.begin(), calls.end(), place.time, [](std::int64_t time, const HostCall& call) {
          return time < call.begin;
        });
    // Known calls do not lie in each other: the last that began is the only one that can hold it.
    if (at == calls.begin()) {
      return nullptr;
    }
    --at;
    return place.time <= at->end ? &*at : nullptr;
  }

  struct Caller {
    const HostCall* call = nullptr;
    std::string reason;  // where there is none
  };

  [[nodiscard]] Caller caller_of(const TracedKernel& kernel) const {
    const trace::Work work = trace::kind_of_kernel(kernel.name).work;
    if (work == trace::Work::communication || work == trace::Work::copy) {
      return {nullptr, "communication and copies"};
    }
    std::optional<HostPlace> place;
    if (kernel.correlation) {
      const auto at = launches_.find(*kernel.correlation);
      place = at == launches_.end() ? std::nullopt : std::optional(at->second);
    }
    const HostCall* call = place ? enclosing(*place) : nullptr;
    if (call == nullptr && kernel.external_id) {
      const auto at = operations_.find(*kernel.external_id);
      if (at != operations_.end()) {
        place = at->second;
        call = enclosing(*place);
      }
    }
    if (call != nullptr) {
      return {call, {}};
    }
    return {nullptr,
            place ? fmt::format("{} outside of the calls that have a case", trace::to_string(work))
                  : fmt::format("{} whose launch or External id is not in the trace",
                                trace::to_string(work))};
  }

  std::vector<TracedKernel> kernels_;
  std::map<std::int64_t, HostPlace> launches_;    // by correlation
  std::map<std::int64_t, HostPlace> operations_;  // by External id
  std::map<std::string, std::vector<HostCall>> calls_;
};

calibrate::Fingerprint machine_of(const trace::TraceFacts& facts) {
  calibrate::Fingerprint machine;
  machine.gpu = facts.gpu.name;
  machine.gpus = facts.world_size.value_or(1);
  machine.compute_capability = fmt::format("{}.{}", facts.gpu.major, facts.gpu.minor);
  machine.multiprocessors = facts.gpu.multiprocessors;
  machine.memory_bytes = facts.gpu.memory;
  machine.tool = ORRERY_VERSION;
  return machine;
}

}  // namespace

TraceSamples read_trace_samples(const std::filesystem::path& path, const std::string& taken_at) {
  TraceSamples result;
  Collector collector;
  const trace::EventReading reading = trace::read_events(path, {}, [&](const TraceEvent& event) {
    collector.add(event);
    return true;
  });
  result.problem = reading.problem;
  if (result.problem.empty() && reading.facts.gpu.name.empty()) {
    result.problem = "does not name its GPU (deviceProperties): a profile could not be used";
  }
  if (!result.problem.empty()) {
    return result;
  }
  result.machine = machine_of(reading.facts);
  collector.finish(result, taken_at);
  return result;
}

}  // namespace orrery::calibration_import
