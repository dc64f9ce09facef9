// Keys of `training` and `evaluation`: how long the run lasts and what changes on its way.

#include <fmt/core.h>

#include <algorithm>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::Budget;
using run::PhaseSpec;
using run::Progress;
using run::ReworkSpec;
using yaml::between;
namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).
constexpr std::int64_t kMostSequencesOfRamp = std::int64_t{1} << 40U;

// `1e25FLOP` or `$5M`; the tree of the file knows rates of FLOP.
void read_budget(const yaml::Value& value, const std::string& path, Reading& reading) {
  const auto compute = value.kind == yaml::Value::Kind::scalar && value.text.ends_with("FLOP")
                           ? yaml::parse_flop_rate(value.text + "/s")
                           : yaml::Parsed<FlopPerSecond>{};
  const auto money = value.kind == yaml::Value::Kind::scalar ? yaml::parse_money(value.text)
                                                             : yaml::Parsed<Dollars>{};
  std::optional<Budget>& budget = reading.draft.run.training.budget;
  if (compute.value && in_flop_per_second(*compute.value) >= 1.0) {
    budget = flop(in_flop_per_second(*compute.value));
  } else if (money.value && *money.value > Dollars{}) {
    budget = *money.value;
  } else {
    yaml::report(reading.diagnostics, value.where, path,
                 yaml::display(value.text) + " is no compute and no money",
                 "compute such as `1e25FLOP` or money such as `$5M`");
  }
}

Key budget_key() {
  Key key = key_of(
      {.path = "training.budget",
       .note = "one of four",
       .meaning =
           "What may be spent: compute, 6 x active parameters x tokens, or money, as long as "
           "it pays for the nodes. The answer says what scaling laws would train with it.",
       .example = "1e25FLOP"});
  Form compute = form_of<kind::Money>({});
  compute.name = "an amount of compute";
  compute.example = "1e25FLOP";
  compute.pattern = "^(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?[MGTPE]?FLOP$";
  key.forms = {compute, form_of<kind::Money>({})};
  key.read = read_budget;
  key.print = [](Draft& draft) -> std::optional<std::string> {
    const std::optional<Budget>& budget = draft.run.training.budget;
    if (!budget) {
      return std::nullopt;
    }
    const auto* compute = std::get_if<Flop>(&*budget);
    return compute != nullptr ? fmt::format("{}FLOP", in_flop(*compute))
                              : kind::Money::format(std::get<Dollars>(*budget));
  };
  return key;
}

void add_training(std::vector<Key>& keys) {
  keys.push_back(
      section_key({.path = "training",
                   .note = "only the step is asked for, no run",
                   .meaning = "How long the run lasts: exactly one of duration, tokens, steps and "
                              "budget.",
                   .example = "{tokens: 15.6T, start: 2026-11-01}"}));
  keys.push_back(value_key<kind::Time>(
      {.path = "training.duration",
       .note = "one of four",
       .meaning = "A window of wall-clock time; the answer is what was done in it.",
       .example = "54d"},
      kPositiveSpan, ORRERY_AT(run.training.duration)));
  keys.push_back(count_key(
      {.path = "training.tokens",
       .note = "one of four",
       .meaning = "Tokens to train on; the answer is when they are done.",
       .example = "15.6T"},
      yaml::at_least<std::int64_t>(1),
      {[](Draft& draft, const std::int64_t& value) {
         draft.run.training.tokens = tokens(static_cast<double>(value));
       },
       [](Draft& draft) -> std::optional<std::int64_t> {
         const std::optional<Tokens>& count = draft.run.training.tokens;
         return count ? std::optional(static_cast<std::int64_t>(in_tokens(*count))) : std::nullopt;
       }}));
  keys.push_back(count_key({.path = "training.steps",
                            .aliases = {"train_iters"},
                            .note = "one of four",
                            .meaning = "Optimizer steps to do; the answer is when they are done.",
                            .example = "82072"},
                           {1, kMostSteps}, ORRERY_AT(run.training.steps)));
  keys.push_back(budget_key());
  keys.push_back(value_key<kind::Date>(
      {.path = "training.start",
       .note = "no dates, only durations",
       .meaning = "When the run starts (UTC); only printed dates depend on it.",
       .example = "2024-04-01T00:00Z"},
      {},
      {[](Draft& draft, const yaml::DateTime& value) {
         draft.run.training.start = value.unix_seconds;
       },
       [](Draft& draft) -> std::optional<yaml::DateTime> {
         const std::optional<std::int64_t>& start = draft.run.training.start;
         return start ? std::optional(yaml::DateTime{*start}) : std::nullopt;
       }}));
}

ReworkSpec& last_rework(Draft& draft) { return draft.run.training.rework.back(); }

constexpr std::string_view kProgressAllowed =
    "steps such as `2000 steps`, tokens such as `252M tokens`, or a time such as `7d`";

// `252M tokens`, `2000 steps` or `7d`; reports what is wrong.
std::optional<Progress> read_progress(const yaml::Value& value, const std::string& path,
                                      Diagnostics& diagnostics) {
  std::string_view number = value.text;
  for (const std::string_view word : {std::string_view("tokens"), std::string_view("token")}) {
    if (value.kind == yaml::Value::Kind::scalar && number.ends_with(word)) {
      number.remove_suffix(word.size());
      if (number.ends_with(' ')) {
        number.remove_suffix(1);
      }
      const auto count = yaml::parse_count(number);
      if (!count.value || *count.value < 1) {
        yaml::report(diagnostics, value.where, path,
                     yaml::display(value.text) + " is no number of tokens",
                     std::string(kProgressAllowed));
        return std::nullopt;
      }
      return Progress(tokens(static_cast<double>(*count.value)));
    }
  }
  const auto read = yaml::read_value<kind::StepsOrDuration>(value, path, diagnostics);
  if (!read) {
    return std::nullopt;
  }
  const yaml::Steps* steps = std::get_if<yaml::Steps>(&*read);
  const bool sound = steps != nullptr ? steps->count <= kMostSteps
                                      : std::get<Seconds>(*read) > Seconds{} &&
                                            std::get<Seconds>(*read) <= *kSpan.max;
  if (!sound) {
    yaml::report(diagnostics, value.where, path,
                 yaml::display(value.text) + " is no point in the run",
                 std::string(kProgressAllowed));
    return std::nullopt;
  }
  return steps != nullptr ? Progress(steps->count) : Progress(std::get<Seconds>(*read));
}

std::vector<Form> progress_forms() {
  Form tokens = form_of<kind::StepsOrDuration>({});
  tokens.name = "a number of tokens";
  tokens.example = "252M tokens";
  tokens.pattern = "^(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?[kMBT]? ?tokens?$";
  return {tokens, form_of<kind::StepsOrDuration>({})};
}

std::string show_progress(const Progress& progress) {
  if (const auto* steps = std::get_if<std::int64_t>(&progress)) {
    return kind::StepsOrDuration::format(yaml::Steps{*steps});
  }
  const auto* count = std::get_if<Tokens>(&progress);
  return count != nullptr
             ? kind::Count::format(static_cast<std::int64_t>(in_tokens(*count))) + " tokens"
             : kind::Time::format(std::get<Seconds>(progress));
}

Key progress_key(KeyText text, Lens<Progress> lens) {
  Key key = key_of(std::move(text));
  key.forms = progress_forms();
  key.print = lens.printed(show_progress);
  key.read = [store = std::move(lens.set)](const yaml::Value& value, const std::string& path,
                                           Reading& reading) {
    if (const auto progress = read_progress(value, path, reading.diagnostics)) {
      store(reading.draft, *progress);
    }
  };
  return key;
}

void add_phase_shapes(std::vector<Key>& keys) {
  keys.push_back(count_key({.path = "training.phases[].global",
                            .note = "batch.global",
                            .meaning = "Sequences of one step in the phase.",
                            .example = "512"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().global_batch)));
  keys.push_back(count_key({.path = "training.phases[].micro",
                            .note = "batch.micro",
                            .meaning = "Sequences of one micro-batch in the phase.",
                            .example = "1"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().micro_batch)));
  keys.push_back(count_key({.path = "training.phases[].sequence_length",
                            .aliases = {"seq_len"},
                            .note = "model.sequence_length",
                            .meaning = "Tokens of a sequence in the phase.",
                            .example = "131072"},
                           {1, std::int64_t{1} << 30U},
                           ORRERY_AT(run.training.phases.back().sequence_length)));
  keys.push_back(count_key({.path = "training.phases[].context",
                            .aliases = {"cp"},
                            .note = "layout.context",
                            .meaning = "Degree of context parallelism in the phase.",
                            .example = "16"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().context)));
  keys.push_back(count_key({.path = "training.phases[].tensor",
                            .aliases = {"tp"},
                            .note = "layout.tensor",
                            .meaning = "Degree of tensor parallelism in the phase.",
                            .example = "4"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().tensor)));
  keys.push_back(count_key({.path = "training.phases[].pipeline",
                            .aliases = {"pp"},
                            .note = "layout.pipeline",
                            .meaning = "Pipeline stages in the phase.",
                            .example = "16"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().pipeline)));
  keys.push_back(count_key({.path = "training.phases[].virtual_stages",
                            .aliases = {"vpp"},
                            .note = "layout.virtual_stages",
                            .meaning = "Chunks of a pipeline device in the phase.",
                            .example = "2"},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.phases.back().virtual_stages)));
  keys.push_back(count_key({.path = "training.phases[].nodes",
                            .note = "cluster.nodes",
                            .meaning = "Nodes that train in the phase.",
                            .example = "256"},
                           {1, std::int64_t{1} << 30U},
                           ORRERY_AT(run.training.phases.back().nodes)));
  keys.push_back(count_key({.path = "training.phases[].gpus",
                            .note = "as nodes",
                            .meaning = "The same in GPUs: whole nodes.",
                            .example = "2048"},
                           {1, std::int64_t{1} << 30U},
                           ORRERY_AT(run.training.phases.back().gpus)));
}

void add_phases(std::vector<Key>& keys) {
  keys.push_back(list_key(
      {.path = "training.phases",
       .note = "one phase, as the scenario says",
       .meaning = "Parts of the run that differ in batch, sequence length, nodes or layout, "
                  "in order. What a phase does not state is as in the scenario. The step "
                  "simulator times each of them. A change of nodes or of the layout is a "
                  "planned restart.",
       .example = "[{until: 252M tokens, global: 1024}, {name: full batch}]"},
      ORRERY_AT(run.training.phases), [](Draft& draft) {
        std::vector<PhaseSpec>& phases = draft.run.training.phases;
        phases.back().name = "phase " + std::to_string(phases.size());
      }));
  keys.push_back(text_key({.path = "training.phases[].name",
                           .note = "its number",
                           .meaning = "What reports call the phase.",
                           .example = "long context"},
                          ORRERY_AT(run.training.phases.back().name)));
  keys.push_back(progress_key(
      {.path = "training.phases[].until",
       .note = "the end of the run; in the last phase only",
       .meaning = "Progress at which the phase ends, counted from the start of the run: steps, "
                  "tokens, or the time that the steps alone take.",
       .example = "252M tokens"},
      ORRERY_AT(run.training.phases.back().until)));
  add_phase_shapes(keys);
  keys.push_back(
      value_key<kind::Time>({.path = "training.phases[].step_time",
                             .note = "computed by the step simulator",
                             .meaning = "Time of one step in the phase, where it was measured.",
                             .example = "47.6s"},
                            kPositiveSpan, ORRERY_AT(run.training.phases.back().step_time)));
  keys.push_back(value_key<kind::Time>(
      {.path = "training.phases[].restart",
       .fallback = "0",
       .meaning = "Planned stop before the first step of the phase, after a save: a change of "
                  "nodes or of the layout.",
       .example = "47min"},
      kSpan, ORRERY_AT(run.training.phases.back().change)));
}

void add_batch_ramp(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "training.batch_ramp",
       .aliases = {"rampup_batch_size"},
       .note = "batch.global from the first step on",
       .meaning = "A batch that rises in equal steps to batch.global, as with Megatron's "
                  "--rampup-batch-size; not together with training.phases.",
       .example = "{start: 192, increment: 16, samples: 9765625}"},
      ORRERY_AT(run.training.batch_ramp)));
  keys.push_back(count_key({.path = "training.batch_ramp.start",
                            .meaning = "Sequences of the first steps.",
                            .example = "192",
                            .required = true},
                           {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.batch_ramp->start)));
  keys.push_back(count_key({.path = "training.batch_ramp.increment",
                            .meaning = "Sequences by which the batch rises each time.",
                            .example = "16",
                            .required = true},
                           {1, kMostSequencesOfRamp},
                           ORRERY_AT(run.training.batch_ramp->increment)));
  keys.push_back(count_key({.path = "training.batch_ramp.samples",
                            .meaning = "Sequences over which it rises, in equal shares.",
                            .example = "9765625",
                            .required = true},
                           {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.batch_ramp->samples)));
}

void read_discard(const yaml::Value& value, const std::string& path, Reading& reading) {
  if (yaml::is_word(value, "all")) {
    last_rework(reading.draft).discard = run::DiscardAll{};
  } else if (const auto progress = read_progress(value, path, reading.diagnostics)) {
    last_rework(reading.draft).discard = *progress;
  }
}

void add_rework(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "training.rework",
                           .note = "nothing is thrown away",
                           .meaning = "Training that is thrown away on purpose and done again: a "
                                      "loss spike, wrong data, a bug found late. In order.",
                           .example = "[{name: wrong seeds, at: 1T tokens, discard: all}]"},
                          ORRERY_AT(run.training.rework), [](Draft& draft) {
                            std::vector<ReworkSpec>& rework = draft.run.training.rework;
                            rework.back().name = "rework " + std::to_string(rework.size());
                          }));
  keys.push_back(text_key({.path = "training.rework[].name",
                           .note = "its number",
                           .meaning = "What reports call it.",
                           .example = "wrong seeds"},
                          ORRERY_AT(run.training.rework.back().name)));
  keys.push_back(
      progress_key({.path = "training.rework[].at",
                    .meaning = "Progress at which it is decided, reached for the first time.",
                    .example = "1T tokens",
                    .required = true},
                   ORRERY_AT(run.training.rework.back().at)));
  Key discard = key_of({.path = "training.rework[].discard",
                        .fallback = "all",
                        .meaning = "How much of the training before it is thrown away.",
                        .example = "32000 steps"});
  discard.forms = progress_forms();
  discard.forms.insert(discard.forms.begin(), words_form({"all"}));
  discard.read = read_discard;
  discard.print = [](Draft& draft) -> std::optional<std::string> {
    const auto* progress = std::get_if<Progress>(&draft.run.training.rework.back().discard);
    return progress != nullptr ? show_progress(*progress) : "all";
  };
  keys.push_back(std::move(discard));
  keys.push_back(value_key<kind::Time>({.path = "training.rework[].stall",
                                        .fallback = "0",
                                        .meaning = "Time until training goes on.",
                                        .example = "1d"},
                                       kSpan, ORRERY_AT(run.training.rework.back().stall)));
}

void read_every(const yaml::Value& value, const std::string& path, Reading& reading) {
  const auto every = yaml::read_value<kind::StepsOrDuration>(value, path, reading.diagnostics);
  if (!every) {
    return;
  }
  const yaml::Steps* steps = std::get_if<yaml::Steps>(&*every);
  if (steps == nullptr || steps->count > kMostSteps) {
    yaml::report(reading.diagnostics, value.where, path,
                 yaml::display(value.text) + " is not a number of steps up to 2^53",
                 "a number of steps such as `1000 steps`");
    return;
  }
  reading.draft.run.evaluation->every_steps = steps->count;
}

void add_evaluation(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "evaluation",
                             .note = "never",
                             .meaning = "Regular pauses of training for an evaluation.",
                             .example = "{every: 1000 steps, duration: 12min}",
                             .idle = {kNoRun}},
                            ORRERY_AT(run.evaluation)));
  Key every = key_of({.path = "evaluation.every",
                      .meaning = "Steps between two evaluations.",
                      .example = "1000 steps",
                      .required = true});
  every.forms = {form_of<kind::StepsOrDuration>({})};
  every.forms.front().name = "a number of steps";
  every.forms.front().pattern = "^(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?[kMBT]? ?steps?$";
  every.read = read_every;
  every.print = [](Draft& draft) -> std::optional<std::string> {
    return kind::StepsOrDuration::format(yaml::Steps{draft.run.evaluation->every_steps});
  };
  keys.push_back(std::move(every));
  keys.push_back(value_key<kind::Time>({.path = "evaluation.duration",
                                        .meaning = "Time of one evaluation.",
                                        .example = "12min",
                                        .required = true},
                                       kSpan, ORRERY_AT(run.evaluation->duration)));
}

}  // namespace

std::vector<Key> training_keys() {
  std::vector<Key> keys;
  add_training(keys);
  add_batch_ramp(keys);
  add_phases(keys);
  add_rework(keys);
  add_evaluation(keys);
  return keys;
}

// Keys of `simulation`.

namespace {

// Simulated time holds 73 years between two events (run/run_plan.hpp).

void add_simulation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "simulation",
                              .note = "as its keys",
                              .meaning = "How often the run is drawn.",
                              .example = "{trials: 1000, seed: 1}",
                              .idle = {kNoRun}}));
  keys.push_back(count_key({.path = "simulation.trials",
                            .fallback = "1000",
                            .meaning = "Independent trials of the run.",
                            .example = "10k"},
                           {1, 1'000'000}, ORRERY_AT(run.simulation.trials)));
  keys.push_back(count_key({.path = "simulation.seed",
                            .fallback = "1",
                            .meaning = "Start of the random streams.",
                            .example = "7"},
                           yaml::at_least<std::int64_t>(0), ORRERY_AT(run.simulation.seed)));
  keys.push_back(
      value_key<kind::Time>({.path = "simulation.max_wall",
                             .note = "10 times the fault-free run and 30 d",
                             .meaning = "A trial that has not reached its target by then gives up.",
                             .example = "365d",
                             .idle = {ORRERY_WHEN(in_run(d) && d.run.training.duration,
                                                  "training.duration is the window")}},
                            kPositiveSpan, ORRERY_AT(run.simulation.max_wall)));
}

}  // namespace

std::vector<Key> run_keys() {
  std::vector<Key> keys;
  add_simulation(keys);
  return keys;
}

}  // namespace orrery::scenario
