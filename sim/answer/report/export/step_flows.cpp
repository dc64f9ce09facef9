#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/answer/report/export/step_trace.hpp"
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
  std::stable_sort(order.begin(), order.end(), [&slices](std::size_t a, std::size_t b) {
    return slices[a].start < slices[b].start;
  });
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

}  // namespace orrery::report
