#include "sim/answer/report/export/step_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/answer/report/export/step_counters.hpp"
#include "sim/answer/report/export/trace_words.hpp"

namespace orrery::report {

namespace {

using schedule::Stream;
using schedule::TaskKind;
using step::Slice;

using Slices = std::vector<Slice>;
using Places = std::vector<std::size_t>;

bool is_pass(const Slice& slice) {
  return slice.task.stream == Stream::compute && has_micro_batch(slice.task.kind);
}

bool is_backward(TaskKind kind) {
  return kind == TaskKind::backward || kind == TaskKind::backward_input ||
         kind == TaskKind::backward_weight || kind == TaskKind::overlapped;
}

bool is_gather(TaskKind kind) {
  return kind == TaskKind::parameter_gather || kind == TaskKind::parameter_gather_again;
}

// The pass of a combined step that works on this micro-batch counts as a pass of it.
void for_each_micro_batch(const schedule::StepTask& task,
                          const std::function<void(std::int32_t)>& visit) {
  visit(task.micro_batch);
  if (task.kind == TaskKind::overlapped && task.backward_micro_batch != task.micro_batch) {
    visit(task.backward_micro_batch);
  }
}

// The pass of the same micro-batch that ends last before the message on its own device, and the one
// of the same kind that begins first after it elsewhere.
std::optional<StepFlow> message_flow(const Slices& slices, std::size_t at, const Places& passes) {
  const Slice& message = slices[at];
  const Slice* from = nullptr;
  const Slice* to = nullptr;
  for (const std::size_t i : passes) {
    const Slice& pass = slices[i];
    if (pass.task.device == message.task.device && pass.end <= message.start &&
        (from == nullptr || pass.end > from->end)) {
      from = &pass;
    }
  }
  if (from == nullptr) {
    return std::nullopt;
  }
  for (const std::size_t i : passes) {
    const Slice& pass = slices[i];
    if (pass.task.device != message.task.device && pass.start >= message.end &&
        pass.task.kind == from->task.kind && (to == nullptr || pass.start < to->start)) {
      to = &pass;
    }
  }
  const auto index = [&slices](const Slice* slice) {
    return static_cast<std::size_t>(slice - slices.data());
  };
  StepFlow flow = {.kind = StepFlow::Kind::message, .slices = {index(from), at}};
  if (to != nullptr) {
    flow.slices.push_back(index(to));
  }
  return flow;
}

// Device, chunk, bucket.
using Part = std::tuple<std::int16_t, std::int16_t, std::int32_t>;

// Slices by the part of the model that they work on, in order of their begin. What works on a whole
// chunk works on each of its buckets.
class Parts {
 public:
  void add(const schedule::StepTask& task, std::int16_t chunk, std::size_t slice) {
    slices_[{task.device, chunk, task.bucket}].push_back(slice);
  }

  [[nodiscard]] std::vector<const Places*> of(const schedule::StepTask& task) const {
    std::vector<const Places*> found;
    for (const std::int32_t bucket : {task.bucket, schedule::kWholeChunk}) {
      const auto places = slices_.find({task.device, task.chunk, bucket});
      if (places != slices_.end() && (found.empty() || found.front() != &places->second)) {
        found.push_back(&places->second);
      }
    }
    return found;
  }

 private:
  std::map<Part, Places> slices_;
};

// The last slice of these lists that ends by `time`.
std::optional<std::size_t> last_before(const Slices& slices,
                                       const std::vector<const Places*>& lists, SimTime time) {
  std::optional<std::size_t> found;
  for (const Places* places : lists) {
    const auto after = std::partition_point(places->begin(), places->end(),
                                            [&](std::size_t i) { return slices[i].end <= time; });
    if (after != places->begin() && (!found || slices[*found].end < slices[*(after - 1)].end)) {
      found = *(after - 1);
    }
  }
  return found;
}

// The first slice of these lists that begins at `time` or later.
std::optional<std::size_t> first_from(const Slices& slices, const std::vector<const Places*>& lists,
                                      SimTime time) {
  std::optional<std::size_t> found;
  for (const Places* places : lists) {
    const auto at = std::partition_point(places->begin(), places->end(),
                                         [&](std::size_t i) { return slices[i].start < time; });
    if (at != places->end() && (!found || slices[*at].start < slices[*found].start)) {
      found = *at;
    }
  }
  return found;
}

struct Index {
  std::map<std::int32_t, Places> passes;  // by micro-batch
  Parts backwards;
  Parts users;                               // of gathered parameters
  std::map<std::int16_t, Places> optimizer;  // by device
};

Index index_of(const Slices& slices) {
  Places order(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(
      order, [&slices](std::size_t a, std::size_t b) { return slices[a].start < slices[b].start; });
  Index index;
  for (const std::size_t i : order) {
    const schedule::StepTask& task = slices[i].task;
    if (task.kind == TaskKind::optimizer) {
      index.optimizer[task.device].push_back(i);
    }
    if (!is_pass(slices[i])) {
      continue;
    }
    for_each_micro_batch(task, [&](std::int32_t batch) { index.passes[batch].push_back(i); });
    index.users.add(task, task.chunk, i);
    if (is_backward(task.kind)) {
      const bool combined = task.kind == TaskKind::overlapped;
      index.backwards.add(task, combined ? task.backward_chunk : task.chunk, i);
    }
  }
  return index;
}

std::optional<StepFlow> gradient_flow(const Slices& slices, std::size_t at, const Index& index) {
  const Slice& reduction = slices[at];
  StepFlow flow = {.kind = StepFlow::Kind::gradients, .slices = {}};
  if (const auto from = last_before(slices, index.backwards.of(reduction.task), reduction.start)) {
    flow.slices.push_back(*from);
  }
  flow.slices.push_back(at);
  const auto optimizer = index.optimizer.find(reduction.task.device);
  if (optimizer != index.optimizer.end()) {
    if (const auto to = first_from(slices, {&optimizer->second}, reduction.end)) {
      flow.slices.push_back(*to);
    }
  }
  return flow.slices.size() > 1 ? std::optional(flow) : std::nullopt;
}

std::optional<StepFlow> gather_flow(const Slices& slices, std::size_t at, const Index& index) {
  const auto to = first_from(slices, index.users.of(slices[at].task), slices[at].end);
  if (!to) {
    return std::nullopt;
  }
  return StepFlow{.kind = StepFlow::Kind::gather, .slices = {at, *to}};
}

constexpr std::int64_t kLanesPerRow = 100;

std::string lane_name(Stream stream, std::size_t lane) {
  const std::string_view name = stream_name(stream);
  return lane == 0 ? std::string(name) : fmt::format("{} ({})", name, lane + 1);
}

std::string_view category_of(const schedule::StepTask& task) {
  switch (task.stream) {
    case Stream::data_parallel_comm:
      return "collective";
    case Stream::p2p:
      return "message";
    case Stream::compute:
      break;
  }
  return has_micro_batch(task.kind) ? "pass" : "optimizer";
}

void add_arguments(TraceBuilder& builder, const schedule::StepTask& task) {
  if (has_micro_batch(task.kind)) {
    builder.argument("micro_batch", task.micro_batch);
  }
  if (task.chunk != schedule::kNone) {
    builder.argument("chunk", task.chunk);
  }
  if (task.bucket != schedule::kWholeChunk) {
    builder.argument("bucket", task.bucket);
  }
  if (task.kind == TaskKind::overlapped) {
    builder.argument("backward_micro_batch", task.backward_micro_batch);
    builder.argument("backward_chunk", task.backward_chunk);
  }
}

// Messages may be in flight together: each slice goes to the first lane that is free.
class Lanes {
 public:
  std::size_t place(SimTime start, SimTime end) {
    for (std::size_t i = 0; i < free_at_.size(); ++i) {
      if (free_at_[i] <= start) {
        free_at_[i] = end;
        return i;
      }
    }
    free_at_.push_back(end);
    return free_at_.size() - 1;
  }

 private:
  std::vector<SimTime> free_at_;
};

// Slices of one device and stream, in order of their start.
std::vector<std::size_t> drawing_order(const std::vector<Slice>& slices) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&slices](std::size_t i) {
    const Slice& slice = slices[i];
    return std::tuple(slice.task.device, slice.task.stream, slice.start, slice.end);
  };
  std::ranges::stable_sort(order, [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// Adds the slices of the devices; returns their ids by index into `slices` (joins have none).
std::vector<std::optional<SliceId>> add_slices(const std::vector<Slice>& slices,
                                               const std::vector<TrackId>& devices,
                                               TraceBuilder& builder) {
  std::vector<std::optional<SliceId>> ids(slices.size());
  Lanes lanes;
  std::vector<TrackId> threads;  // of the present device and stream, by lane
  const Slice* before = nullptr;
  for (const std::size_t i : drawing_order(slices)) {
    const Slice& slice = slices[i];
    const schedule::StepTask& task = slice.task;
    if (task.device < 0 || static_cast<std::size_t>(task.device) >= devices.size()) {
      continue;
    }
    if (before == nullptr || before->task.device != task.device ||
        before->task.stream != task.stream) {
      lanes = {};
      threads.clear();
    }
    before = &slice;
    const std::size_t lane = lanes.place(slice.start, slice.end);
    if (lane == threads.size()) {
      const auto stream = static_cast<std::int64_t>(task.stream);
      threads.push_back(builder.thread(devices[static_cast<std::size_t>(task.device)],
                                       lane_name(task.stream, lane),
                                       stream * kLanesPerRow + static_cast<std::int64_t>(lane)));
    }
    ids[i] =
        builder.slice({threads[lane], slice.start, slice.end, task_name(task), category_of(task)});
    add_arguments(builder, task);
  }
  return ids;
}

// How many of the chosen slices run at each moment: by device, changes in order of time.
using Changes = std::map<SimTime, int>;

std::vector<Changes> running(const std::vector<Slice>& slices, std::size_t devices,
                             bool (*chosen)(const Slice&)) {
  std::vector<Changes> changes(devices);
  for (const Slice& slice : slices) {
    const auto device = static_cast<std::size_t>(slice.task.device);
    if (slice.task.device >= 0 && device < devices && slice.start < slice.end && chosen(slice)) {
      ++changes[device][slice.start];
      --changes[device][slice.end];
    }
  }
  return changes;
}

bool is_transfer(const Slice& slice) { return slice.task.stream != Stream::compute; }

bool is_compute(const Slice& slice) { return slice.task.stream == Stream::compute; }

void add_device_counters(const Evaluation& evaluation, const std::vector<TrackId>& devices,
                         TraceBuilder& builder) {
  const std::vector<Changes> transfers =
      running(evaluation.step.slices, devices.size(), is_transfer);
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const auto memory = memory_over_time(evaluation, static_cast<std::int64_t>(device));
    if (!memory.empty()) {
      const TrackId counter = builder.counter(devices[device], "memory", "bytes");
      for (const MemorySample& sample : memory) {
        builder.sample(counter, sample.from, in_bytes(sample.memory));
      }
    }
    if (!transfers[device].empty()) {
      const TrackId counter = builder.counter(devices[device], "transfers in flight", "transfers");
      int count = 0;
      builder.sample(counter, {}, 0.0);
      for (const auto& [time, change] : transfers[device]) {
        count += change;
        if (change != 0) {
          builder.sample(counter, time, count);
        }
      }
    }
  }
}

// Dollars per second for all nodes that are held from the start on; nothing without a price.
std::optional<DollarsPerSecond> price_of_job(const Evaluation& evaluation) {
  if (!evaluation.plan || evaluation.plan->pricing.fixed.empty()) {
    return std::nullopt;
  }
  return evaluation.plan->pricing.fixed.front().per_node *
         static_cast<double>(std::max<std::int64_t>(evaluation.echo.nodes, 1));
}

void add_waiting_dollars(const Evaluation& evaluation, std::size_t devices, TraceBuilder& builder) {
  const auto price = price_of_job(evaluation);
  if (!price || evaluation.step.slices.empty()) {
    return;
  }
  Changes busy;  // devices that compute
  for (const Changes& device : running(evaluation.step.slices, devices, is_compute)) {
    int count = 0;
    for (const auto& [time, change] : device) {
      const int after = count + change;
      busy[time] += (after > 0 ? 1 : 0) - (count > 0 ? 1 : 0);
      count = after;
    }
  }
  const TrackId job = builder.process("job");
  const TrackId counter = builder.counter(job, "dollars that wait", "$/h");
  int count = 0;
  busy.try_emplace(SimTime{}, 0);
  for (const auto& [time, change] : busy) {
    count += change;
    if (change == 0 && time > SimTime{}) {
      continue;
    }
    const double idle = 1.0 - static_cast<double>(count) / static_cast<double>(devices);
    builder.sample(counter, time, in_dollars_per_hour(*price) * idle);
  }
}

void add_flows(const std::vector<Slice>& slices, const std::vector<std::optional<SliceId>>& ids,
               TraceBuilder& builder) {
  static constexpr std::array<std::string_view, 3> kNames = {"message", "gradients", "gather"};
  std::vector<SliceId> through;
  for (const StepFlow& flow : step_flows(slices)) {
    through.clear();
    for (const std::size_t slice : flow.slices) {
      if (ids[slice]) {
        through.push_back(*ids[slice]);
      }
    }
    if (through.size() > 1) {
      builder.flow(kNames[static_cast<std::size_t>(flow.kind)], through);
    }
  }
}

}  // namespace

std::vector<StepFlow> step_flows(const std::vector<step::Slice>& slices) {
  const Index index = index_of(slices);
  std::vector<StepFlow> flows;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const schedule::StepTask& task = slices[i].task;
    std::optional<StepFlow> flow;
    if (task.kind == TaskKind::send_receive) {
      const auto passes = index.passes.find(task.micro_batch);
      flow = passes == index.passes.end() ? std::nullopt : message_flow(slices, i, passes->second);
    } else if (task.kind == TaskKind::gradient_reduce) {
      flow = gradient_flow(slices, i, index);
    } else if (is_gather(task.kind)) {
      flow = gather_flow(slices, i, index);
    }
    if (flow) {
      flows.push_back(std::move(*flow));
    }
  }
  return flows;
}

Trace step_trace(const Evaluation& evaluation) {
  TraceBuilder builder(evaluation.echo.name);
  const std::vector<Slice>& slices = evaluation.step.slices;
  std::vector<TrackId> devices(std::max<std::size_t>(1, evaluation.step.stage_ledgers.size()));
  for (std::size_t device = 0; device < devices.size(); ++device) {
    devices[device] = builder.process(fmt::format("pipeline device {}", device));
  }
  const auto ids = add_slices(slices, devices, builder);
  for (const Slice& slice : slices) {
    if (slice.task.kind == TaskKind::join) {
      builder.mark(devices.front(), slice.start, task_name(slice.task));
    }
  }
  add_device_counters(evaluation, devices, builder);
  add_link_counters(evaluation, builder);
  add_waiting_dollars(evaluation, devices.size(), builder);
  add_flows(slices, ids, builder);
  return std::move(builder).build();
}

}  // namespace orrery::report
