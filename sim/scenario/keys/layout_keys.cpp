// Keys of `layout` and `batch`: how the model is split over the GPUs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using layout::Axis;
using layout::Sharding;
using yaml::between;
namespace kind = yaml::kind;

constexpr Idle kOneContextRank = ORRERY_WHEN(d.scenario.layout.context == 1, "context is 1");

// Products of the four degrees stay far below 2^63.
constexpr std::int64_t kMostRanks = 4096;
constexpr std::int64_t kMostReplicas = std::int64_t{1} << 24U;

void add_context(Rows& keys) {
  keys.choice<model::ContextMethod>(
      "layout.context_method",
      "How context ranks share keys and values: gathered before the attention, passed round a ring "
      "behind its blocks, or all tokens of a share of the heads (Ulysses).",
      "ring",
      {{"all_gather", model::ContextMethod::all_gather},
       {"ring", model::ContextMethod::ring},
       {"all_to_all", model::ContextMethod::all_to_all}},
      ORRERY_AT(scenario.layout.context_method),
      {.note = "as the software does it", .idle = {kOneContextRank}});
  keys.flag(
      "layout.context_balanced",
      "Each context rank holds an early and a late piece of the sequence, so that a causal mask "
      "gives all the same work.",
      "false", ORRERY_AT(scenario.layout.context_balanced),
      {.note = "as the software does it",
       .idle = {
           kOneContextRank,
           ORRERY_WHEN(d.scenario.layout.context > 1 &&
                           d.scenario.layout.context_method == model::ContextMethod::all_to_all,
                       "every rank holds all tokens of its heads"),
           ORRERY_WHEN(d.scenario.layout.context > 1 && !d.scenario.model.causal &&
                           d.scenario.layout.context_method != model::ContextMethod::all_to_all,
                       "without a causal mask all tokens are alike")}});
}

void add_experts(Rows& keys) {
  keys.count(
      "layout.expert",
      "GPUs that share the routed experts; expert_tensor x expert divides tensor x context x data.",
      "8", {1, kMostReplicas}, ORRERY_AT(scenario.layout.expert),
      {.aliases = {"ep", "expert_model_parallel_size", "expert_parallel_size"}, .fallback = "1"});
  keys.count("layout.expert_tensor", "GPUs that share one expert.", "1", {1, kMostRanks},
             ORRERY_AT(scenario.layout.expert_tensor),
             {.aliases = {"etp", "expert_tensor_parallel_size"},
              .note = "layout.tensor",
              .idle = {ORRERY_WHEN(
                  !d.scenario.model.moe && d.scenario.layout.expert_tensor.value_or(1) != 1,
                  "the model is dense")}});
}

void add_degrees(Rows& keys) {
  keys.section("layout", "GPUs = tensor x context x pipeline x data.",
               "{tensor: 8, pipeline: 4, schedule: 1f1b}",
               {.note = "plain data parallelism over all GPUs"});
  keys.count(
      "layout.tensor", "GPUs that share every layer.", "8", {1, kMostRanks},
      ORRERY_AT(scenario.layout.tensor),
      {.aliases = {"tp", "tensor_model_parallel_size", "tensor_parallel_size"}, .fallback = "1"});
  keys.flag(
      "layout.sequence_parallel", "Norms and residuals split over the tensor group as well.",
      "true", ORRERY_AT(scenario.layout.sequence_parallel),
      {.aliases = {"sp"},
       .fallback = "false",
       .idle = {ORRERY_WHEN(d.scenario.layout.tensor == 1 && d.scenario.layout.sequence_parallel,
                            "tensor is 1")}});
  keys.count("layout.context", "GPUs that share a sequence.", "2", {1, kMostRanks},
             ORRERY_AT(scenario.layout.context),
             {.aliases = {"cp", "context_parallel_size"}, .fallback = "1"});
  add_context(keys);
  keys.count("layout.pipeline", "Devices of the pipeline.", "16", {1, kMostRanks},
             ORRERY_AT(scenario.layout.pipeline),
             {.aliases = {"pp", "pipeline_model_parallel_size", "pipeline_parallel_size"},
              .fallback = "1"});
  keys.count("layout.virtual_stages", "Chunks of layers per pipeline device.", "4", {1, 1024},
             ORRERY_AT(scenario.layout.virtual_stages),
             {.aliases = {"vpp", "virtual_pipeline_model_parallel_size"}, .fallback = "1"});
  add_experts(keys);
  keys.count(
      "layout.data", "Replicas of the model, sharded or not.", "128", {1, kMostReplicas},
      ORRERY_AT(scenario.layout.data),
      {.aliases = {"dp", "data_parallel_size"}, .note = "GPUs / (tensor x context x pipeline)"});
}

// The axes of `layout.order`; the expert axis lies inside the data axis and is only checked.
void read_order(const yaml::Value& value, const std::string& path, Reading& reading) {
  constexpr std::array<std::string_view, 9> kWords = {"tp",     "cp",      "ep",   "dp",      "pp",
                                                      "tensor", "context", "data", "pipeline"};
  constexpr std::array<std::optional<Axis>, 9> kAxes = {
      Axis::tensor, Axis::context, std::nullopt, Axis::data,    Axis::pipeline,
      Axis::tensor, Axis::context, Axis::data,   Axis::pipeline};
  constexpr std::string_view kAllowed = "tp, cp, dp and pp in any order, such as [tp, cp, dp, pp]";
  if (value.kind != yaml::Value::Kind::sequence) {
    yaml::report(reading.diagnostics, value.where, path,
                 std::string("is ") + std::string(yaml::describe(value.kind)) +
                     " where a list of axes is needed",
                 kAllowed);
    return;
  }
  std::vector<Axis> axes;
  std::vector<std::size_t> seen;
  bool sound = true;
  bool has_expert = false;
  std::size_t axes_before_expert = 0;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string item = path + "[" + std::to_string(i) + "]";
    const auto index = yaml::read_word(value.items[i], item, kWords, reading.diagnostics);
    if (!index) {
      sound = false;
    } else if (kAxes[*index]) {
      axes.push_back(*kAxes[*index]);
    } else {
      sound = sound && !has_expert;
      has_expert = true;
      axes_before_expert = axes.size();
    }
  }
  std::vector<Axis> sorted = axes;
  std::ranges::sort(sorted);
  const std::vector<Axis> all = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  if (!sound) {
    return;
  }
  if (sorted != all) {
    yaml::report(reading.diagnostics, value.where, path, "does not name every axis exactly once",
                 kAllowed);
    return;
  }
  reading.draft.scenario.layout.order = axes;
  if (has_expert) {
    const auto place = [&](Axis axis) {
      return static_cast<std::size_t>(std::ranges::find(axes, axis) - axes.begin());
    };
    reading.draft.expert_in_order = true;
    reading.draft.expert_after_tensor_and_context =
        place(Axis::tensor) < axes_before_expert && place(Axis::context) < axes_before_expert;
    reading.draft.expert_before_data = place(Axis::data) >= axes_before_expert;
  }
}

void read_stage_layers(const yaml::Value& value, const std::string& path, Reading& reading) {
  if (yaml::is_word(value, "auto")) {
    return;
  }
  if (value.kind != yaml::Value::Kind::sequence) {
    yaml::report(reading.diagnostics, value.where, path, "is neither auto nor a list",
                 "auto, or a list of layers such as [5, 6, 6, 5]");
    return;
  }
  std::vector<std::int64_t> layers;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto count =
        yaml::read_value<kind::Count>(value.items[i], path + "[" + std::to_string(i) + "]",
                                      reading.diagnostics, between<std::int64_t>(0, 10'000));
    if (!count) {
      return;
    }
    layers.push_back(*count);
  }
  reading.draft.scenario.layout.stage_layers = std::move(layers);
}

// PyTorch's name for sharded parameters is taken, too; the first name of a value is printed.
std::vector<yaml::Choice<Sharding>> sharding_choices() {
  return {{"none", Sharding::none},   {"zero1", Sharding::zero1}, {"zero2", Sharding::zero2},
          {"zero3", Sharding::zero3}, {"hsdp", Sharding::hsdp},   {"fsdp", Sharding::zero3}};
}

void add_shapes(Rows& keys) {
  Key& order = keys.add("layout.order",
                        "Which ranks are neighbours, the fastest axis first. `ep` may be named "
                        "between cp and dp, where the expert groups lie.",
                        "[tp, cp, pp, dp]", {.fallback = "[tp, cp, dp, pp]"});
  order.forms = {
      words_form({"tp", "cp", "ep", "dp", "pp", "tensor", "context", "data", "pipeline"})};
  order.forms.front().list = true;
  order.read = read_order;
  order.print = [](Draft& draft) -> std::optional<std::string> {
    constexpr std::array<std::string_view, 4> kNames = {"tp", "cp", "pp", "dp"};
    std::vector<std::string_view> words;
    for (const Axis axis : draft.scenario.layout.order) {
      words.push_back(kNames[static_cast<std::size_t>(axis)]);
    }
    return fmt::format("[{}]", fmt::join(words, ", "));
  };
  keys.choice<Sharding>(
      "layout.sharding",
      "What is sharded over the data-parallel group: optimizer states (zero1), and gradients "
      "(zero2), and parameters (zero3, which PyTorch calls fsdp); hsdp: zero3 within groups.",
      "zero1", sharding_choices(), ORRERY_AT(scenario.layout.sharding),
      {.aliases = {"zero", "fsdp"},
       .fallback = "none",
       .idle = {ORRERY_WHEN(d.scenario.layout.sharding != Sharding::none && shares_no_gradients(d),
                            "one rank holds every shard (data x context is 1)")}});
  keys.count(
      "layout.shard_group", "Ranks that share one copy of what is sharded.", "8",
      {1, kMostReplicas}, ORRERY_AT(scenario.layout.shard_group),
      {.note = "the whole data-parallel group",
       .idle = {ORRERY_WHEN(d.scenario.layout.sharding == Sharding::none, "sharding is none")}});
  keys.choice<schedule::ScheduleKind>(
      "layout.schedule",
      "Order of forwards and backwards on the pipeline devices; a pipeline needs one other than "
      "none.",
      "1f1b", choices_of<schedule::ScheduleKind>(schedule::kScheduleNames),
      ORRERY_AT(scenario.step.schedule),
      {.note = "1f1b with a pipeline, interleaved with virtual stages, else none"});
  Key& stage_layers =
      keys.add("layout.stage_layers",
               "Layers of each virtual stage, first to last. auto spreads them evenly; where that "
               "needs it, embedding and loss count as a layer each.",
               "[5, 6, 6, 5]", {.fallback = "auto"});
  Form layers = form_of<kind::Count>(between<std::int64_t>(0, 10'000));
  layers.list = true;
  stage_layers.forms = {words_form({"auto"}), layers};
  stage_layers.read = read_stage_layers;
  stage_layers.print = [](Draft& draft) -> std::optional<std::string> {
    const std::optional<std::vector<std::int64_t>>& counts = draft.scenario.layout.stage_layers;
    return counts ? fmt::format("[{}]", fmt::join(*counts, ", ")) : "auto";
  };
}

void add_batch(Rows& keys) {
  keys.section("batch", "Sequences per optimizer step and per micro-batch.",
               "{global: 256, micro: 1}", {.required = true});
  keys.count("batch.global", "Sequences of one optimizer step; a multiple of micro x layout.data.",
             "2048", {1, kMostSequences}, ORRERY_AT(scenario.batch.global),
             {.aliases = {"gbs", "global_batch_size"}, .required = true});
  keys.count("batch.micro", "Sequences of one micro-batch on one data-parallel rank.", "2",
             {1, 1'000'000}, ORRERY_AT(scenario.batch.micro),
             {.aliases = {"mbs", "micro_batch_size"}, .fallback = "1"});
}

}  // namespace

void layout_keys(Rows& keys) {
  add_degrees(keys);
  add_shapes(keys);
  add_batch(keys);
}

}  // namespace orrery::scenario
