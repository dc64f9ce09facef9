#include "calibrate/import/trace_samples.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/answer/trace/event_reader.hpp"
#include "sim/answer/trace/gpu_activity.hpp"

namespace orrery::calibration_import {

namespace {

using kernels::KernelCase;
using kernels::Precision;
using kernels::Role;
using Sizes = std::vector<std::int64_t>;

// Where an operation keeps what a case needs.
struct KnownCall {
  std::string_view name;
  std::size_t first = 0;   // of the two matrices, or Q
  std::size_t causal = 0;  // of attention
  Role role = Role::none;  // of attention; none: a product
};

constexpr std::array<KnownCall, 9> kCalls = {{
    {"aten::mm"},
    {"aten::addmm", 1},
    {"aten::_scaled_mm"},
    {"aten::_scaled_dot_product_flash_attention", 0, 4, Role::forward},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, 11, Role::backward},
    {"aten::_scaled_dot_product_efficient_attention", 0, 6, Role::forward},
    {"aten::_scaled_dot_product_efficient_attention_backward", 1, 11, Role::backward},
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, Role::forward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, Role::backward},
}};

const KnownCall* find_call(std::string_view name) {
  const auto* at = std::find_if(kCalls.begin(), kCalls.end(),
                                [name](const KnownCall& known) { return known.name == name; });
  return at == kCalls.end() ? nullptr : at;
}

TracedCall refused(std::string why) { return {.kernel = {}, .refusal = std::move(why)}; }

TracedCall sound(const KernelCase& kernel) {
  if (const auto problem = kernels::problem_of(kernel)) {
    return refused("its extents are no case");
  }
  return {.kernel = kernel, .refusal = {}};
}

std::optional<Precision> precision_of(std::string_view type) {
  if (type == "c10::BFloat16") {
    return Precision::bf16;
  }
  if (type == "c10::Half") {
    return Precision::fp16;
  }
  return type.starts_with("c10::Float8") ? std::optional(Precision::fp8_tensor) : std::nullopt;
}

bool is_turned(const Sizes& strides) { return strides[0] == 1 && strides[1] != 1; }

std::int64_t elements(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    count *= size;
  }
  return count;
}

TracedCall product_of(const KnownCall& known, const trace::Operands& operands) {
  const std::size_t a = known.first;
  const std::size_t b = a + 1;
  const auto& sizes = operands.sizes;
  const auto& strides = operands.strides;
  if (sizes.size() <= b || sizes[a].size() != 2 || sizes[b].size() != 2 ||
      sizes[a][1] != sizes[b][0]) {
    return refused("the sizes of its two matrices are not recorded (record_shapes=True)");
  }
  if (strides.size() <= b || strides[a].size() != 2 || strides[b].size() != 2) {
    return refused("strides are not recorded, so that a product and its gradients look the same");
  }
  const auto precision = operands.types.size() > b ? precision_of(operands.types[a]) : std::nullopt;
  if (!precision) {
    return refused("its element type is not one of 16 or 8 bits");
  }
  const bool scaled = known.name == "aten::_scaled_mm";
  if (scaled != (*precision == Precision::fp8_tensor)) {
    return refused("its element type does not go with the call");
  }
  if (scaled &&
      (sizes.size() < b + 3 || elements(sizes[b + 1]) != 1 || elements(sizes[b + 2]) != 1)) {
    return refused("its scales are not one per tensor");
  }
  const bool left = is_turned(strides[a]);
  const bool right = is_turned(strides[b]);
  // 8-bit products are always row by column: their roles cannot be told, and do not differ.
  if (left && right) {
    return refused("both of its matrices are turned, as no pass of training has them");
  }
  const Role role = scaled || right ? Role::fprop : left ? Role::wgrad : Role::dgrad;
  return sound({.operation = kernels::Operation::gemm,
                .role = role,
                .precision = *precision,
                .extents = {sizes[a][0], sizes[b][1], sizes[a][1]}});
}

TracedCall attention_of(const KnownCall& known, const trace::Operands& operands) {
  constexpr std::size_t kAxes = 4;  // sequences, heads, tokens, width
  const auto& sizes = operands.sizes;
  const std::size_t q = known.first;
  if (sizes.size() <= q + 2) {
    return refused("the sizes of Q, K and V are not recorded (record_shapes=True)");
  }
  for (std::size_t i = q; i < q + 3; ++i) {
    if (sizes[i].size() != kAxes) {
      return refused("the sizes of Q, K and V are not recorded (record_shapes=True)");
    }
  }
  const std::string causal =
      operands.values.size() > known.causal ? operands.values[known.causal] : std::string();
  if (causal != "True" && causal != "False") {
    return refused("whether it is causal is not recorded (Concrete Inputs)");
  }
  const auto precision = operands.types.size() > q ? precision_of(operands.types[q]) : std::nullopt;
  if (!precision) {
    return refused("its element type is not one of 16 or 8 bits");
  }
  return sound({.operation = kernels::Operation::attention,
                .role = known.role,
                .precision = *precision,
                .extents = {sizes[q][0], sizes[q][1], sizes[q + 1][1], sizes[q][2], sizes[q + 1][2],
                            sizes[q][3], sizes[q + 2][3], causal == "True" ? 1 : 0}});
}

}  // namespace

bool is_known_call(std::string_view name) { return find_call(name) != nullptr; }

TracedCall call_of(std::string_view name, const trace::Operands& operands) {
  const KnownCall* known = find_call(name);
  if (known == nullptr) {
    return refused("no case is known for it");
  }
  return known->role == Role::none ? product_of(*known, operands) : attention_of(*known, operands);
}

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
        calls_[place.thread].push_back({*event.time, *event.time + *event.duration, event.name,
                                        call_of(event.name, event.operands)});
      }
    }
  }

  void finish(TraceSamples& result, const std::string& taken_at) {
    for (auto& [thread, calls] : calls_) {
      std::stable_sort(calls.begin(), calls.end(),
                       [](const HostCall& a, const HostCall& b) { return a.begin < b.begin; });
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
    auto at =
        std::upper_bound(calls.begin(), calls.end(), place.time,
                         [](std::int64_t time, const HostCall& call) { return time < call.begin; });
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
