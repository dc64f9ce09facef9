#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/report/export/step_counters.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/layout/placement.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::timeline {

namespace {

using schedule::TaskKind;
using step::Operation;
using step::OperationKind;
using step::OperationStream;
using step::PlacedOperation;
using step::StepCategory;

// Of waiting, by its cause.
Category category_of_wait(StepCategory cause) {
  static constexpr std::pair<StepCategory, Category> kCauses[] = {
      {StepCategory::bubble, Category::wait_bubble},
      {StepCategory::stage_imbalance, Category::wait_imbalance},
      {StepCategory::idle, Category::wait_slower},
      {StepCategory::exposed_tensor, Category::wait_tensor},
      {StepCategory::exposed_context, Category::wait_context},
      {StepCategory::exposed_expert, Category::wait_expert},
      {StepCategory::exposed_pipeline, Category::wait_pipeline},
      {StepCategory::exposed_data, Category::wait_data},
      {StepCategory::data_stall, Category::wait_input}};
  const auto* row = std::ranges::find(kCauses, cause, &std::pair<StepCategory, Category>::first);
  return row != std::end(kCauses) ? row->second : Category::wait_other;
}

bool is_drawn(const Operation& operation) {
  return operation.kind != OperationKind::wait && operation.kind != OperationKind::slowdown;
}

// Nothing in a combined step waits for its weight gradients.
bool is_beside(const PlacedOperation& placed, const Operation& operation) {
  return placed.pass == step::PartPass::backward && operation.name.ends_with("wgrad");
}

Category category_of_kernel(const Operation& operation, step::PartPass pass, TaskKind task) {
  if (operation.name.ends_with("wgrad")) {
    return Category::weight_gradient;
  }
  if (operation.name.ends_with("dgrad") || operation.name.ends_with("backward")) {
    return Category::input_gradient;
  }
  if (pass == step::PartPass::forward) {
    return Category::forward;
  }
  const bool forward = task == TaskKind::forward || operation.name.ends_with("fprop") ||
                       operation.name.ends_with("forward");
  return task == TaskKind::backward_weight ? Category::weight_gradient
         : forward                         ? Category::forward
                                           : Category::backward;
}

Category category_of(const Operation& operation, const PlacedOperation& placed, TaskKind task) {
  switch (operation.stream) {
    case OperationStream::tensor:
      return Category::tensor;
    case OperationStream::context:
      return Category::context;
    case OperationStream::expert:
      return Category::expert;
    case OperationStream::pipeline:
      return Category::pipeline;
    case OperationStream::data:
      return task == TaskKind::parameter_gather || task == TaskKind::parameter_gather_again
                 ? Category::data_gather
                 : Category::data_reduce;
    case OperationStream::host:
      return operation.kind == OperationKind::copy ? Category::copy : Category::host;
    default:
      break;
  }
  if (placed.category == StepCategory::recompute) {
    return Category::recompute;
  }
  return placed.category == StepCategory::optimizer
             ? Category::optimizer
             : category_of_kernel(operation, placed.pass, task);
}

constexpr std::uint64_t kMostWithFlows =
    500'000;  // operations: arrows take more memory than slices

struct StreamRows {
  std::array<RowId, step::kOperationStreams> streams{};
  RowId slowest = kNoRow;
};

// First and last kernel of a task, for flows.
struct Ends {
  std::optional<PendingSlice> first;
  std::optional<PendingSlice> last;
};

// One pass of a task on its way through kernels and collectives.
struct Chain {
  std::optional<PendingSlice> last;    // kernel
  std::optional<PendingSlice> waited;  // the latest collective that what follows waits for
};

class OperationLevel {
 public:
  OperationLevel(const report::Evaluation& evaluation, double nic_limit)
      : evaluation_(evaluation),
        timeline_(*evaluation.step.operation_timeline),
        nic_limit_(nic_limit) {
    for (const step::TaskRun& run : timeline_.runs) {
      runs_of_[run.kind] += 1.0;
    }
  }

  Level build();

 private:
  void place_kinds();
  void find_streams();
  void add_stage(std::size_t device);
  void add_task(std::size_t slice);
  void add_slowest(std::size_t slice);
  void add_exposed(const step::Slice& task, const Operation& operation,
                   const PlacedOperation& placed);
  void add_messages();
  void add_link(std::size_t device, RowId stage);
  NameId name_of(std::uint32_t kind, std::size_t at);
  void connect(Chain& chain, const PlacedOperation& placed, PendingSlice place);

  const report::Evaluation& evaluation_;
  const step::OperationTimeline& timeline_;
  double nic_limit_;  // GB/s of a GPU; 0: unknown
  StoreBuilder builder_;
  std::vector<std::vector<PlacedOperation>> placed_;  // by kind of task
  std::map<std::uint32_t, double> runs_of_;
  std::vector<std::array<bool, step::kOperationStreams>> used_;  // by device
  std::vector<StreamRows> stages_;
  std::vector<Ends> ends_;                           // by slice of the step
  std::unordered_map<std::uint64_t, NameId> names_;  // by kind of task and place in it
  std::uint64_t expected_ = 0;
  std::uint64_t left_out_ = 0;
  std::int64_t kernel_time_ = 0;
  std::int64_t kernels_ = 0;
};

void OperationLevel::place_kinds() {
  placed_.reserve(timeline_.kinds.size());
  for (std::uint32_t kind = 0; kind < timeline_.kinds.size(); ++kind) {
    placed_.push_back(step::place_operations(timeline_, {kind, {}, {}}));
  }
}

void OperationLevel::find_streams() {
  used_.resize(evaluation_.step.stage_ledgers.size());
  for (std::size_t i = 0; i < evaluation_.step.slices.size(); ++i) {
    const auto device = static_cast<std::size_t>(evaluation_.step.slices[i].task.device);
    expected_ += placed_[timeline_.runs[i].kind].size();
    for (const PlacedOperation& placed : placed_[timeline_.runs[i].kind]) {
      const Operation& operation = timeline_.operations[placed.operation];
      if (is_drawn(operation)) {
        used_[device][static_cast<std::size_t>(operation.stream)] = true;
      }
    }
  }
  for (const step::MessageRun& message : timeline_.messages) {
    const auto device = static_cast<std::size_t>(evaluation_.step.slices[message.from].task.device);
    used_[device][static_cast<std::size_t>(OperationStream::pipeline)] = true;
  }
}

void OperationLevel::add_link(std::size_t device, RowId stage) {
  std::vector<Sample> inside;
  std::vector<Sample> outside;
  bool used_inside = false;
  bool used_outside = false;
  for (const report::LinkSample& sample : report::link_use_over_time(
           evaluation_, static_cast<std::int64_t>(device), gigabytes_per_second(nic_limit_))) {
    inside.push_back({sample.from.ns, in_gigabytes_per_second(sample.inside)});
    outside.push_back({sample.from.ns, in_gigabytes_per_second(sample.outside)});
    used_inside = used_inside || sample.inside > BytesPerSecond{};
    used_outside = used_outside || sample.outside > BytesPerSecond{};
  }
  if (used_inside) {
    builder_.counter("NVLink use", "GB/s", std::move(inside), stage);
  }
  if (used_outside) {
    builder_.counter("NIC use", "GB/s", std::move(outside), stage, nic_limit_);
  }
}

void OperationLevel::add_stage(std::size_t device) {
  const std::size_t stages = evaluation_.step.stage_ledgers.size();
  const std::int64_t ranks = evaluation_.step.gpus / static_cast<std::int64_t>(stages);
  const bool unequal = are_unequal(evaluation_, device);
  const RowId stage = builder_.group(
      fmt::format("stage {} ({} {})", device, format_integer(ranks),
                  ranks == 1 ? "rank" : (unequal ? "ranks, their mean" : "ranks alike")));
  const std::vector<std::int32_t> of_stage = ranks_of(evaluation_, device);
  builder_.set_ranks(stage, of_stage, unequal);
  if (stages > 1) {
    builder_.lead(stage);
  }
  StreamRows rows;
  for (std::size_t s = 0; s < step::kOperationStreams; ++s) {
    rows.streams[s] =
        used_[device][s] ? builder_.row(step::kOperationStreamNames[s], stage) : kNoRow;
  }
  if (unequal) {
    rows.slowest = builder_.row("slowest rank", stage);
    if (timeline_.gpu_times.size() == static_cast<std::size_t>(evaluation_.step.gpus) &&
        !of_stage.empty()) {
      const auto time = [this](std::int32_t rank) {
        return timeline_.gpu_times[static_cast<std::size_t>(rank)];
      };
      const std::int32_t slowest = *std::ranges::max_element(
          of_stage, [&time](auto a, auto b) { return time(a) < time(b); });
      builder_.rename(rows.slowest, fmt::format("rank {}, slowest", format_integer(slowest)));
      builder_.set_ranks(rows.slowest, {slowest});
    }
  }
  stages_.push_back(rows);
  add_memory(evaluation_, device, stage, builder_);
  add_link(device, stage);
}

NameId OperationLevel::name_of(std::uint32_t kind, std::size_t at) {
  const std::uint64_t key = static_cast<std::uint64_t>(kind) << 32U | at;
  const auto known = names_.find(key);
  if (known != names_.end()) {
    return known->second;
  }
  const PlacedOperation& placed = placed_[kind][at];
  const auto lines =
      report::operation_lines(timeline_, placed, runs_of_[kind], evaluation_.step.step_time);
  const NameId name =
      builder_.name(step::full_name(timeline_, placed), fmt::format("{}", fmt::join(lines, "\n")));
  names_.emplace(key, name);
  return name;
}

// All of the task on the rank that the others wait for.
void OperationLevel::add_slowest(std::size_t index) {
  const step::Slice& slice = evaluation_.step.slices[index];
  const auto device = static_cast<std::size_t>(slice.task.device);
  if (stages_[device].slowest == kNoRow || slice.task.stream != schedule::Stream::compute) {
    return;
  }
  const step::DevicePace pace = timeline_.paces[device];
  const NameId name =
      builder_.name(fmt::format("{} of the nominal time; the mean rank takes {}",
                                format_percent(pace.slowest), format_percent(pace.mean)));
  builder_.add(stages_[device].slowest,
               {slice.start.ns, slice.end.ns, name, Category::kernel, true});
}

// A collective begins after the last kernel of its pass; what compute waits for is over when the
// next one begins.
void OperationLevel::connect(Chain& chain, const PlacedOperation& placed, PendingSlice place) {
  const Operation& operation = timeline_.operations[placed.operation];
  if (operation.kind == OperationKind::collective) {
    if (chain.last) {
      builder_.flow(*chain.last, place, FlowKind::collective);
    }
    const bool to_its_end =
        placed.booked > SimTime{} && placed.booked == placed.end - placed.booked_from;
    chain.waited = to_its_end ? std::optional(place) : std::nullopt;
  } else if (operation.stream == OperationStream::compute && !is_beside(placed, operation)) {
    if (chain.waited) {
      builder_.flow(*chain.waited, place, FlowKind::collective);
      chain.waited.reset();
    }
    chain.last = place;
  }
}

void OperationLevel::add_task(std::size_t index) {
  const step::Slice& slice = evaluation_.step.slices[index];
  const std::uint32_t kind = timeline_.runs[index].kind;
  const StreamRows& rows = stages_[static_cast<std::size_t>(slice.task.device)];
  const bool with_flows = expected_ < kMostWithFlows;
  std::array<Chain, 2> chains;  // of the two passes of a combined step, or one
  for (std::size_t i = 0; i < placed_[kind].size(); ++i) {
    const PlacedOperation& placed = placed_[kind][i];
    const Operation& operation = timeline_.operations[placed.operation];
    if (!is_drawn(operation)) {
      continue;
    }
    add_exposed(slice, operation, placed);
    const PendingSlice place =
        builder_.add(rows.streams[static_cast<std::size_t>(operation.stream)],
                     {(slice.start + placed.start).ns, (slice.start + placed.end).ns,
                      name_of(kind, i), category_of(operation, placed, slice.task.kind)});
    if (with_flows) {
      connect(chains[placed.pass == step::PartPass::backward ? 1 : 0], placed, place);
    }
    if (operation.stream == OperationStream::compute) {
      Ends& ends = ends_[index];
      ends.first = ends.first.value_or(place);
      ends.last = place;
      kernel_time_ += placed.booked.ns;
      ++kernels_;
    }
  }
}

// The part of a collective that compute waits for, between the kernels.
void OperationLevel::add_exposed(const step::Slice& task, const Operation& operation,
                                 const PlacedOperation& placed) {
  const RowId compute = stages_[static_cast<std::size_t>(task.task.device)]
                            .streams[static_cast<std::size_t>(OperationStream::compute)];
  if (operation.kind != OperationKind::collective || placed.booked <= SimTime{} ||
      task.task.stream != schedule::Stream::compute || compute == kNoRow) {
    return;
  }
  const Category category = category_of_wait(placed.category);
  const SimTime from = task.start + placed.booked_from;
  builder_.add(compute,
               {from.ns, (from + placed.booked).ns, builder_.name(to_string(category)), category});
}

void OperationLevel::add_messages() {
  for (const step::MessageRun& message : timeline_.messages) {
    const schedule::StepTask& from = evaluation_.step.slices[message.from].task;
    std::optional<PendingSlice> sent;
    if (!message.is_slice) {
      const RowId row = stages_[static_cast<std::size_t>(from.device)]
                            .streams[static_cast<std::size_t>(OperationStream::pipeline)];
      const NameId name = builder_.name(timeline_.operations[message.operation].name);
      sent = builder_.add(row, {message.start.ns, message.end.ns, name, Category::pipeline});
    }
    const std::optional<PendingSlice>& begin = ends_[message.from].last;
    const std::optional<PendingSlice>& end = ends_[message.to].first;
    if (begin && end) {
      builder_.flow(*begin, sent.value_or(*end), FlowKind::message);
      if (sent) {
        builder_.flow(*sent, *end, FlowKind::message);
      }
    }
  }
}

Level OperationLevel::build() {
  place_kinds();
  find_streams();
  for (std::size_t device = 0; device < evaluation_.step.stage_ledgers.size(); ++device) {
    add_stage(device);
  }
  const std::vector<step::Slice>& slices = evaluation_.step.slices;
  ends_.resize(slices.size());
  std::vector<std::size_t> order(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(
      order, [&slices](std::size_t a, std::size_t b) { return slices[a].start < slices[b].start; });
  for (const std::size_t i : order) {
    if (builder_.slices() < kMostOperations) {
      add_task(i);
      add_slowest(i);
    } else {
      ++left_out_;
    }
  }
  add_messages();
  std::vector<RowId> compute;
  for (const StreamRows& rows : stages_) {
    compute.push_back(rows.streams[static_cast<std::size_t>(OperationStream::compute)]);
  }
  add_waits(evaluation_, compute, builder_);
  constexpr std::int64_t kInWindow = 800;  // kernels that can be told apart
  const std::int64_t time = evaluation_.step.step_time.ns;
  const std::int64_t wanted = kernels_ > 0 ? kernel_time_ / kernels_ * kInWindow : time;
  const std::int64_t longest =
      std::clamp<std::int64_t>(wanted, 1, std::max(time / 2, std::int64_t{1}));
  std::string note =
      fmt::format("operations of every stage; ranks that are alike share rows{}",
                  left_out_ > 0 ? fmt::format("; {} later tasks are not drawn",
                                              format_integer(static_cast<std::int64_t>(left_out_)))
                                : std::string());
  return {"operations",    "",     builder_.build(), Repetition({{{0, time}, 0}}, time),
          std::move(note), longest};
}

}  // namespace

bool are_unequal(const report::Evaluation& evaluation, std::size_t device) {
  const auto& timeline = evaluation.step.operation_timeline;
  return timeline && device < timeline->paces.size() &&
         timeline->paces[device].slowest > timeline->paces[device].mean;
}

std::vector<std::int32_t> ranks_of(const report::Evaluation& evaluation, std::size_t device) {
  const layout::Layout& layout = evaluation.echo.layout;
  const auto devices = static_cast<std::size_t>(layout.pipeline);
  if (layout.order.empty() || devices != evaluation.step.stage_ledgers.size()) {
    return {};
  }
  const layout::RankMap map(layout);
  std::vector<std::int32_t> ranks;
  for (std::int64_t data = 0; data < layout.data; ++data) {
    for (std::int64_t context = 0; context < layout.context; ++context) {
      for (std::int64_t tensor = 0; tensor < layout.tensor; ++tensor) {
        ranks.push_back(map.rank({tensor, context, static_cast<std::int64_t>(device), data}).value);
      }
    }
  }
  std::ranges::sort(ranks);
  return ranks;
}

void add_waits(const report::Evaluation& evaluation, const std::vector<RowId>& rows,
               StoreBuilder& builder) {
  if (!evaluation.step.operation_timeline) {
    return;
  }
  for (const step::DeviceWait& wait : evaluation.step.operation_timeline->waits) {
    const auto device = static_cast<std::size_t>(wait.device);
    const Category category = category_of_wait(wait.category);
    if (device < rows.size() && rows[device] != kNoRow && wait.end > wait.start) {
      builder.add(rows[device],
                  {wait.start.ns, wait.end.ns, builder.name(to_string(category)), category});
    }
  }
}

void add_memory(const report::Evaluation& evaluation, std::size_t device, RowId stage,
                StoreBuilder& builder) {
  std::vector<Sample> samples;
  for (const report::MemorySample& sample :
       report::memory_over_time(evaluation, static_cast<std::int64_t>(device))) {
    samples.push_back({sample.from.ns, in_gibibytes(sample.memory)});
  }
  if (!samples.empty()) {
    builder.counter("memory", "GiB", std::move(samples), stage);
  }
}

std::optional<Level> operation_level(const report::Evaluation& evaluation, double nic_limit) {
  if (!evaluation.step.operation_timeline || evaluation.step.slices.empty()) {
    return std::nullopt;
  }
  return OperationLevel(evaluation, nic_limit).build();
}

}  // namespace orrery::timeline
