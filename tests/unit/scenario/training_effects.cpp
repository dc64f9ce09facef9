// Effects and dump of `training` and `evaluation`.

#include <fmt/core.h>

#include "tests/unit/scenario/dump_lines.hpp"
#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

namespace {

std::string show_progress(const std::optional<run::Progress>& progress) {
  if (!progress) {
    return "absent";
  }
  if (const auto* steps = std::get_if<std::int64_t>(&*progress)) {
    return fmt::format("{} steps", *steps);
  }
  const auto* some = std::get_if<Tokens>(&*progress);
  return some != nullptr ? show(*some) : show(std::get<Seconds>(*progress));
}

// One more key of the first phase; a second one follows, for only the last may have no end.
Effect phase(const std::string& name, const std::string& value, const std::string& changed) {
  const auto list = [](const std::string& more) {
    return "[{until: 10 steps" + more + "}, {nodes: 2}]";
  };
  return {"training.phases[]." + name,
          list(fmt::format(", {}: {}", name, value)),
          "training.phases[0]." + changed,
          {{"training.phases", list("")}},
          "training.phases"};
}

Effect rework(const std::string& name, const std::string& value, const std::string& changed) {
  return {"training.rework[]." + name,
          fmt::format("[{{at: 10 steps, {}: {}}}]", name, value),
          "training.rework[0]." + changed,
          {{"training.rework", "[{at: 10 steps}]"}},
          "training.rework"};
}

}  // namespace

const std::vector<Effect>& training_effects() {
  using Pairs = ScenarioText::Pairs;
  static const Pairs evaluation = {{"evaluation.every", "100 steps"},
                                   {"evaluation.duration", "1min"}};
  static const Pairs ramp = {{"training.batch_ramp.start", "16"},
                             {"training.batch_ramp.increment", "16"},
                             {"training.batch_ramp.samples", "1000"}};
  static const std::vector<Effect> effects = {
      {"training.duration",
       "{duration: 54d}",
       "training.duration = 4665600 s; training.steps = absent",
       {},
       "training"},
      {"training.tokens",
       "{tokens: 15.6T}",
       "training.tokens = 15600000000000 tokens; training.steps = absent",
       {},
       "training"},
      {"training.budget",
       "{budget: 1e22FLOP}",
       "training.steps = absent; training.budget = 1e+22 FLOP",
       {},
       "training"},
      {"training.steps", "2k", "training.steps = 2000"},
      // date -u -d 2024-04-01T00:00Z +%s
      {"training.start", "2024-04-01T00:00Z", "training.start = 1711929600"},
      {"evaluation.every", "1000 steps", "evaluation.every = 1000", evaluation},
      {"evaluation.duration", "12min", "evaluation.duration = 720 s", evaluation},
      {"measured", "{gpu_hours: {value: 5, kind: productive}}",
       "measured = gpu_hours 5 productive"},
      {"training.batch_ramp.start", "32", "training.batch_ramp.start = 32", ramp},
      {"training.batch_ramp.increment", "8", "training.batch_ramp.increment = 8", ramp},
      {"training.batch_ramp.samples", "2000", "training.batch_ramp.samples = 2000", ramp},
      {"training.phases[].until",
       "[{until: 252M tokens}, {nodes: 2}]",
       "training.phases[0].until = 252000000 tokens",
       {{"training.phases", "[{until: 10 steps}, {nodes: 2}]"}},
       "training.phases"},
      {"training.phases[].until",
       "[{until: 7d}, {nodes: 2}]",
       "training.phases[0].until = 604800 s",
       {{"training.phases", "[{until: 10 steps}, {nodes: 2}]"}},
       "training.phases"},
      phase("name", "ramp", "name = ramp"),
      phase("global", "32", "global = 32"),
      phase("micro", "2", "micro = 2"),
      phase("sequence_length", "4096", "sequence_length = 4096"),
      phase("context", "2", "context = 2"),
      phase("tensor", "2", "tensor = 2"),
      phase("pipeline", "2", "pipeline = 2"),
      phase("virtual_stages", "2", "virtual_stages = 2"),
      phase("nodes", "1", "nodes = 1"),
      phase("gpus", "8", "gpus = 8"),
      phase("step_time", "47.6s", "step_time = 47.6 s"),
      phase("restart", "47min", "restart = 2820 s"),
      rework("name", "spike", "name = spike"),
      {"training.rework[].at",
       "[{at: 1T tokens}]",
       "training.rework[0].at = 1000000000000 tokens",
       {{"training.rework", "[{at: 10 steps}]"}},
       "training.rework"},
      rework("discard", "5 steps", "discard = 5 steps"),
      rework("discard", "1M tokens", "discard = 1000000 tokens"),
      rework("stall", "1d", "stall = 86400 s"),
  };
  return effects;
}

void dump_training(Lines& lines, const run::RunSpec& run) {
  const run::TrainingSpec& training = run.training;
  lines.add("training.duration", training.duration);
  lines.add("training.tokens", training.tokens);
  lines.add("training.steps", training.steps);
  if (training.budget) {
    const auto* compute = std::get_if<Flop>(&*training.budget);
    lines.add("training.budget",
              compute != nullptr
                  ? fmt::format("{} FLOP", in_flop(*compute))
                  : fmt::format("{} dollars", in_dollars(std::get<Dollars>(*training.budget))));
  }
  lines.add("training.start", training.start);
  if (training.batch_ramp) {
    lines.add("training.batch_ramp.start", training.batch_ramp->start);
    lines.add("training.batch_ramp.increment", training.batch_ramp->increment);
    lines.add("training.batch_ramp.samples", training.batch_ramp->samples);
  }
  for (std::size_t i = 0; i < training.phases.size(); ++i) {
    const run::PhaseSpec& phase = training.phases[i];
    const std::string field = fmt::format("training.phases[{}].", i);
    lines.add(field + "name", phase.name);
    lines.add(field + "until", show_progress(phase.until));
    lines.add(field + "global", phase.global_batch);
    lines.add(field + "micro", phase.micro_batch);
    lines.add(field + "sequence_length", phase.sequence_length);
    lines.add(field + "context", phase.context);
    lines.add(field + "tensor", phase.tensor);
    lines.add(field + "pipeline", phase.pipeline);
    lines.add(field + "virtual_stages", phase.virtual_stages);
    lines.add(field + "nodes", phase.nodes);
    lines.add(field + "gpus", phase.gpus);
    lines.add(field + "step_time", phase.step_time);
    lines.add(field + "restart", phase.change);
  }
  for (std::size_t i = 0; i < training.rework.size(); ++i) {
    const run::ReworkSpec& event = training.rework[i];
    const std::string field = fmt::format("training.rework[{}].", i);
    const auto* part = std::get_if<run::Progress>(&event.discard);
    lines.add(field + "name", event.name);
    lines.add(field + "at", show_progress(event.at));
    lines.add(field + "discard", part != nullptr ? show_progress(*part) : "all");
    lines.add(field + "stall", event.stall);
  }
  if (run.evaluation) {
    lines.add("evaluation.every", run.evaluation->every_steps);
    lines.add("evaluation.duration", run.evaluation->duration);
  }
}

}  // namespace orrery::scenario
