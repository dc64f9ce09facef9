#include "sim/answer/plan/space/space.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "sim/answer/plan/space/rules.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::plan {

namespace {

using schedule::ScheduleKind;

AxisValues divisors(std::int64_t value, std::int64_t most) {
  AxisValues found;
  for (std::int64_t d = 1; d <= std::min(value, most); ++d) {
    if (value % d == 0) {
      found.push_back(d);
    }
  }
  return found;
}

AxisValues up_to(std::int64_t most) {
  AxisValues values;
  for (std::int64_t i = 1; i <= most; ++i) {
    values.push_back(i);
  }
  return values;
}

void sort_unique(AxisValues& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class Values {
 public:
  Values(const Workbench& bench, const PlanSpec& spec, Diagnostics& diagnostics)
      : bench_(bench), base_(bench.base), spec_(spec), diagnostics_(diagnostics) {}

  std::optional<Space> make() {
    space_.tensor_within_nvlink = spec_.constraints.tensor_within_nvlink;
    space_.most_gpus = spec_.constraints.most_gpus;
    space_.least_batch = spec_.constraints.least_batch;
    space_.most_batch = spec_.constraints.most_batch;
    for (std::size_t i = 0; i < kAxes; ++i) {
      const auto axis = static_cast<Axis>(i);
      const AxisChoice& choice = spec_[axis];
      space_.automatic[i] = choice.mode == AxisChoice::Mode::automatic;
      switch (choice.mode) {
        case AxisChoice::Mode::automatic:
          space_.values[i] = automatic(axis);
          break;
        case AxisChoice::Mode::fixed:
          space_.values[i] = {stated(axis)};
          break;
        case AxisChoice::Mode::listed:
          space_.values[i] = listed(axis, choice);
          break;
      }
    }
    return diagnostics_.has_errors() ? std::nullopt : std::optional(std::move(space_));
  }

 private:
  [[nodiscard]] std::int64_t gpus() const {
    std::int64_t most = base_.cluster.nodes;
    const AxisValues& nodes = space_[Axis::nodes];
    if (!nodes.empty()) {
      most = *std::max_element(nodes.begin(), nodes.end());
    }
    return most * base_.cluster.gpus_per_node;
  }

  // What the scenario says, as a number of the axis. Axes that follow another value are 0.
  [[nodiscard]] std::int64_t stated(Axis axis) const {
    const layout::LayoutSpec& layout = base_.layout;
    switch (axis) {
      case Axis::nodes:
        return base_.cluster.nodes;
      case Axis::global_batch:
        return base_.batch.global;
      case Axis::pipeline:
        return layout.pipeline;
      case Axis::schedule:
        return static_cast<std::int64_t>(base_.step.schedule);
      case Axis::virtual_stages:
        return layout.virtual_stages;
      case Axis::tensor:
        return layout.tensor;
      case Axis::context:
        return layout.context;
      case Axis::expert:
        return layout.expert;
      case Axis::expert_tensor:
        return layout.expert_tensor.value_or(0);
      case Axis::expert_dispatcher:
        return static_cast<std::int64_t>(stated_dispatcher(bench_));
      case Axis::expert_overlap:
        return kAsStated;
      case Axis::sequence_parallel:
        return layout.sequence_parallel ? 1 : 0;
      case Axis::micro:
        return base_.batch.micro;
      case Axis::sharding:
        return static_cast<std::int64_t>(layout.sharding);
      case Axis::shard_group:
        return layout.shard_group.value_or(0);
      default:
        return 0;  // gpu, recompute and offload: the workbench knows only what is stated
    }
  }

  // Of what a search would try by itself what the stack offers: the rest is what the axis is where
  // it is not used, and what the scenario states.
  [[nodiscard]] AxisValues offered(Axis axis, AxisValues values) const {
    if (!bench_.offer || bench_.offer->offers(axis)) {
      return values;
    }
    values = {values.front(), stated(axis)};
    sort_unique(values);
    return values;
  }

  [[nodiscard]] AxisValues automatic(Axis axis) const {
    switch (axis) {
      case Axis::pipeline:
        return divisors(gpus(), base_.model.num_layers + 2);
      case Axis::schedule: {
        AxisValues kinds = {stated(axis)};
        for (const ScheduleKind kind :
             {ScheduleKind::none, ScheduleKind::one_f_one_b, ScheduleKind::interleaved}) {
          if (!bench_.offer || bench_.offer->offers(kind)) {
            kinds.push_back(static_cast<std::int64_t>(kind));
          }
        }
        sort_unique(kinds);
        return kinds;
      }
      case Axis::virtual_stages: {
        AxisValues chunks = up_to((base_.model.num_layers + 2) / 2);
        chunks.push_back(base_.layout.virtual_stages);
        sort_unique(chunks);
        return chunks;
      }
      case Axis::tensor:
        return offered(axis, divisors(base_.model.num_attention_heads, gpus()));
      case Axis::context:
        return offered(axis, divisors(base_.model.sequence_length, gpus()));
      case Axis::expert:
        return base_.model.moe ? divisors(base_.model.moe->num_experts, gpus()) : AxisValues{1};
      case Axis::expert_tensor:
        return base_.model.moe ? AxisValues{0, 1} : AxisValues{0};
      case Axis::expert_dispatcher:
        return offered(axis, base_.model.moe ? dispatchers() : AxisValues{stated(axis)});
      case Axis::expert_overlap:
        return offered(axis, base_.model.moe ? AxisValues{kAsStated, 1} : AxisValues{kAsStated});
      case Axis::sequence_parallel:
        return offered(axis, {0, 1});
      case Axis::micro:
        return micro_sizes();
      case Axis::recompute:
        return indices(bench_.recomputes.size());
      case Axis::sharding:
        return {0, 1, 2, 3, 4};
      case Axis::shard_group:
        return {0};
      case Axis::offload:
        return indices(bench_.offloads.size());
      default:
        return {stated(axis)};
    }
  }

  // The published layout's beside the collective, unless the scenario states one; else the
  // scenario's own; where it has only the collective, what the stack's recipes have
  // for this machine, else DeepEP. Two that skip copies differ in what their releases cost.
  [[nodiscard]] AxisValues dispatchers() const {
    constexpr auto kCollective = static_cast<std::int64_t>(hardware::ExpertDispatcher::alltoall);
    const auto published = published_candidate(bench_);
    if (published && published->dispatcher != hardware::ExpertDispatcher::alltoall &&
        !base_.locations.contains("software_options.expert_dispatcher")) {
      return {kCollective, static_cast<std::int64_t>(published->dispatcher)};
    }
    AxisValues values = {kCollective, stated(Axis::expert_dispatcher)};
    sort_unique(values);
    if (values.size() > 1) {
      return values;
    }
    for (const scenario::OfferedValue& offered : scenario::offered_values(base_)) {
      const auto value = offered.key == "software_options.expert_dispatcher"
                             ? parse(Axis::expert_dispatcher, offered.value)
                             : std::nullopt;
      if (value) {
        values.push_back(*value);
      }
    }
    sort_unique(values);
    if (values.size() == 1) {
      values.push_back(static_cast<std::int64_t>(hardware::ExpertDispatcher::deepep));
    }
    return values;
  }

  [[nodiscard]] AxisValues micro_sizes() const {
    AxisValues sizes;
    for (const std::int64_t global : space_[Axis::global_batch]) {
      const AxisValues more = divisors(global, global);
      sizes.insert(sizes.end(), more.begin(), more.end());
    }
    sort_unique(sizes);
    return sizes;
  }

  [[nodiscard]] static AxisValues indices(std::size_t count) {
    AxisValues values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int64_t>(i));
    }
    return values;
  }

  [[nodiscard]] AxisValues listed(Axis axis, const AxisChoice& choice) {
    AxisValues values;
    switch (axis) {
      case Axis::gpu:
        return machines(choice);
      case Axis::recompute:
        return indices(bench_.recomputes.size());
      case Axis::offload:
        return indices(bench_.offloads.size());
      default:
        break;
    }
    for (const std::string& text : choice.values) {
      if (const auto value = parse(axis, text)) {
        values.push_back(*value);
      } else {
        diagnostics_.error(choice.where, choice.key,
                           fmt::format("`{}` is no value of {}", text, to_string(axis)),
                           allowed(axis));
      }
    }
    sort_unique(values);
    return values;
  }

  [[nodiscard]] AxisValues machines(const AxisChoice& choice) const {
    AxisValues values;
    for (std::size_t i = 0; i < bench_.machines.size(); ++i) {
      const std::string& name = bench_.machines[i].name;
      if (std::find(choice.values.begin(), choice.values.end(), name) != choice.values.end()) {
        values.push_back(static_cast<std::int64_t>(i));
      }
    }
    return values;
  }

  template <typename Names>
  static std::optional<std::int64_t> index_of(const Names& names, std::string_view text) {
    const auto found = std::find(names.begin(), names.end(), text);
    return found != names.end() ? std::optional<std::int64_t>(found - names.begin()) : std::nullopt;
  }

  static std::optional<std::int64_t> parse(Axis axis, std::string_view text) {
    switch (axis) {
      case Axis::schedule:
        return index_of(schedule::kScheduleNames, text);
      case Axis::sharding:
        return index_of(layout::kShardingNames, text);
      case Axis::sequence_parallel:
      case Axis::expert_overlap:
        return index_of(std::array<std::string_view, 2>{"false", "true"}, text);
      case Axis::expert_dispatcher:
        return index_of(hardware::kDispatcherNames, text);
      default:
        break;
    }
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    constexpr std::int64_t kMost = std::int64_t{1} << 30U;
    const bool sound = error == std::errc{} && stop == end && value >= 1 && value <= kMost;
    return sound ? std::optional(value) : std::nullopt;
  }

  static std::string allowed(Axis axis) {
    switch (axis) {
      case Axis::schedule:
        return fmt::format("{}", fmt::join(schedule::kScheduleNames, ", "));
      case Axis::sharding:
        return fmt::format("{}", fmt::join(layout::kShardingNames, ", "));
      case Axis::sequence_parallel:
      case Axis::expert_overlap:
        return "true, false";
      case Axis::expert_dispatcher:
        return fmt::format("{}", fmt::join(hardware::kDispatcherNames, ", "));
      default:
        return "whole numbers from 1, or auto";
    }
  }

  const Workbench& bench_;
  const scenario::Scenario& base_;
  const PlanSpec& spec_;
  Diagnostics& diagnostics_;
  Space space_;
};

// Walks the axes, the last one fastest. Values that can no longer be valid are left out as soon as
// the axes before them are known.
class Walk {
 public:
  // Whether to look below a value that the rules take.
  using Below = std::function<bool(Axis axis, const Candidate& candidate)>;

  Walk(const Space& space, const Workbench& bench, const LayoutVisitor& visit)
      : rules_(space, bench), visit_(visit) {}

  void run(const std::stop_token& stop) {
    stop_ = stop;
    descend(0);
  }

  // Only where `goes_on`.
  void run(const Below& goes_on) {
    goes_on_ = &goes_on;
    descend(0);
  }

  // The first one only, from values that `choose` names.
  void run(const std::function<std::size_t(std::size_t)>& choose) {
    choose_ = &choose;
    descend(0);
  }

 private:
  // True at the end of the walk.
  bool descend(std::size_t axis) {
    if (axis == kAxes) {
      visit_(candidate_);
      return choose_ != nullptr;
    }
    if (axis == static_cast<std::size_t>(Axis::micro) && stop_.stop_requested()) {
      return true;
    }
    const AxisValues& values = rules_.values(static_cast<Axis>(axis), candidate_, scratch_[axis]);
    const std::size_t first = choose_ != nullptr && !values.empty() ? (*choose_)(values.size()) : 0;
    const Candidate before = candidate_;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t value = values[(first + i) % values.size()];
      const bool goes = rules_.set(static_cast<Axis>(axis), value, candidate_) &&
                        (goes_on_ == nullptr || (*goes_on_)(static_cast<Axis>(axis), candidate_));
      if (goes && descend(axis + 1)) {
        return true;
      }
      candidate_ = before;
    }
    return false;
  }

  Rules rules_;
  const LayoutVisitor& visit_;
  const Below* goes_on_ = nullptr;
  const std::function<std::size_t(std::size_t)>* choose_ = nullptr;
  std::stop_token stop_;
  Candidate candidate_;
  std::array<AxisValues, kAxes> scratch_;  // of values that follow from others
};

}  // namespace

double Space::grid() const {
  double product = 1.0;
  for (const AxisValues& axis : values) {
    product *= static_cast<double>(axis.size());
  }
  return product;
}

std::optional<Space> make_space(const Workbench& bench, const PlanSpec& spec,
                                Diagnostics& diagnostics) {
  return Values(bench, spec, diagnostics).make();
}

void for_each_layout(const Space& space, const Workbench& bench, const LayoutVisitor& visit,
                     const std::stop_token& stop) {
  Walk(space, bench, visit).run(stop);
}

std::vector<Candidate> layouts(const Space& space, const Workbench& bench,
                               const std::stop_token& stop) {
  std::vector<Candidate> all;
  for_each_layout(
      space, bench, [&all](const Candidate& candidate) { all.push_back(candidate); }, stop);
  return all;
}

std::vector<Candidate> layouts_near(const Candidate& own, const Space& space,
                                    const Workbench& bench) {
  std::vector<Candidate> near;
  const LayoutVisitor visit = [&near](const Candidate& one) { near.push_back(one); };
  Walk(space, bench, visit).run([&own](Axis axis, const Candidate& so_far) {
    return difference(own, so_far, axis).axes <= 1;
  });
  return near;
}

std::optional<Candidate> some_layout(const Space& space, const Workbench& bench,
                                     const std::function<std::size_t(std::size_t)>& choose) {
  std::optional<Candidate> found;
  const LayoutVisitor visit = [&found](const Candidate& one) { found = one; };
  Walk(space, bench, visit).run(choose);
  return found;
}

bool allows(const Space& space, const Candidate& candidate, const Workbench& bench) {
  if (candidate.data != bench.data.value_or(candidate.data) ||
      (bench.most_changes && changes_of(candidate, bench) > *bench.most_changes)) {
    return false;
  }
  const std::pair<Axis, std::int64_t> values[] = {
      {Axis::gpu, candidate.gpu},
      {Axis::nodes, candidate.nodes},
      {Axis::global_batch, candidate.global_batch},
      {Axis::pipeline, candidate.pipeline},
      {Axis::schedule, static_cast<std::int64_t>(candidate.schedule)},
      {Axis::virtual_stages, candidate.virtual_stages},
      {Axis::tensor, candidate.tensor},
      {Axis::context, candidate.context},
      {Axis::expert, candidate.expert},
      {Axis::sequence_parallel, candidate.sequence_parallel ? 1 : 0},
      {Axis::micro, candidate.micro},
      {Axis::sharding, static_cast<std::int64_t>(candidate.sharding)}};
  return std::all_of(std::begin(values), std::end(values), [&space](const auto& one) {
    const AxisValues& known = space[one.first];
    return space.automatic[static_cast<std::size_t>(one.first)] ||
           std::find(known.begin(), known.end(), one.second) != known.end();
  });
}

}  // namespace orrery::plan
