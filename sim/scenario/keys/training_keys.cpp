// Keys of `training` and `evaluation`: how long the run lasts and what changes on its way.

#include <fmt/core.h>

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

void add_budget(Rows& keys) {
  Key& key =
      keys.add("training.budget",
               "What may be spent: compute, 6 x active parameters x tokens, or money, as long as "
               "it pays for the nodes. The answer says what scaling laws would train with it.",
               "1e25FLOP", {.note = "one of four"});
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
}

void add_training(Rows& keys) {
  keys.section(
      "training", "How long the run lasts: exactly one of duration, tokens, steps and budget.",
      "{tokens: 15.6T, start: 2026-11-01}", {.note = "only the step is asked for, no run"});
  keys.value<kind::Time>("training.duration",
                         "A window of wall-clock time; the answer is what was done in it.", "54d",
                         kPositiveSpan, ORRERY_AT(run.training.duration), {.note = "one of four"});
  keys.count("training.tokens", "Tokens to train on; the answer is when they are done.", "15.6T",
             yaml::at_least<std::int64_t>(1),
             {[](Draft& draft, const std::int64_t& value) {
                draft.run.training.tokens = tokens(static_cast<double>(value));
              },
              [](Draft& draft) -> std::optional<std::int64_t> {
                const std::optional<Tokens>& count = draft.run.training.tokens;
                return count ? std::optional(static_cast<std::int64_t>(in_tokens(*count)))
                             : std::nullopt;
              }},
             {.note = "one of four"});
  keys.count("training.steps", "Optimizer steps to do; the answer is when they are done.", "82072",
             {1, kMostSteps}, ORRERY_AT(run.training.steps),
             {.aliases = {"train_iters"}, .note = "one of four"});
  add_budget(keys);
  keys.value<kind::Date>("training.start",
                         "When the run starts (UTC); only printed dates depend on it.",
                         "2024-04-01T00:00Z", {},
                         {[](Draft& draft, const yaml::DateTime& value) {
                            draft.run.training.start = value.unix_seconds;
                          },
                          [](Draft& draft) -> std::optional<yaml::DateTime> {
                            const std::optional<std::int64_t>& start = draft.run.training.start;
                            return start ? std::optional(yaml::DateTime{*start}) : std::nullopt;
                          }},
                         {.note = "no dates, only durations"});
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

void progress_key(Rows& keys, std::string_view path, std::string_view meaning,
                  std::string_view example, Lens<Progress> lens, KeyNotes notes) {
  Key& key = keys.add(path, meaning, example, std::move(notes));
  key.forms = progress_forms();
  key.print = lens.printed(show_progress);
  key.read = [store = std::move(lens.set)](const yaml::Value& value, const std::string& path,
                                           Reading& reading) {
    if (const auto progress = read_progress(value, path, reading.diagnostics)) {
      store(reading.draft, *progress);
    }
  };
}

void add_phase_shapes(Rows& keys) {
  keys.count("training.phases[].global", "Sequences of one step in the phase.", "512",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().global_batch),
             {.note = "batch.global"});
  keys.count("training.phases[].micro", "Sequences of one micro-batch in the phase.", "1",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().micro_batch),
             {.note = "batch.micro"});
  keys.count("training.phases[].sequence_length", "Tokens of a sequence in the phase.", "131072",
             {1, std::int64_t{1} << 30U}, ORRERY_AT(run.training.phases.back().sequence_length),
             {.aliases = {"seq_len"}, .note = "model.sequence_length"});
  keys.count("training.phases[].context", "Degree of context parallelism in the phase.", "16",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().context),
             {.aliases = {"cp"}, .note = "layout.context"});
  keys.count("training.phases[].tensor", "Degree of tensor parallelism in the phase.", "4",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().tensor),
             {.aliases = {"tp"}, .note = "layout.tensor"});
  keys.count("training.phases[].pipeline", "Pipeline stages in the phase.", "16",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().pipeline),
             {.aliases = {"pp"}, .note = "layout.pipeline"});
  keys.count("training.phases[].virtual_stages", "Chunks of a pipeline device in the phase.", "2",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.phases.back().virtual_stages),
             {.aliases = {"vpp"}, .note = "layout.virtual_stages"});
  keys.count("training.phases[].nodes", "Nodes that train in the phase.", "256",
             {1, std::int64_t{1} << 30U}, ORRERY_AT(run.training.phases.back().nodes),
             {.note = "cluster.nodes"});
  keys.count("training.phases[].gpus", "The same in GPUs: whole nodes.", "2048",
             {1, std::int64_t{1} << 30U}, ORRERY_AT(run.training.phases.back().gpus),
             {.note = "as nodes"});
}

void add_phases(Rows& keys) {
  keys.list("training.phases",
            "Parts of the run that differ in batch, sequence length, nodes or layout, in order. "
            "What a phase does not state is as in the scenario. The step simulator times each of "
            "them. A change of nodes or of the layout is a planned restart.",
            "[{until: 252M tokens, global: 1024}, {name: full batch}]",
            ORRERY_AT(run.training.phases), {.note = "one phase, as the scenario says"},
            [](Draft& draft) {
              std::vector<PhaseSpec>& phases = draft.run.training.phases;
              phases.back().name = "phase " + std::to_string(phases.size());
            });
  keys.text("training.phases[].name", "What reports call the phase.", "long context",
            ORRERY_AT(run.training.phases.back().name), {.note = "its number"});
  progress_key(keys, "training.phases[].until",
               "Progress at which the phase ends, counted from the start of the run: steps, "
               "tokens, or the time that the steps alone take.",
               "252M tokens", ORRERY_AT(run.training.phases.back().until),
               {.note = "the end of the run; in the last phase only"});
  add_phase_shapes(keys);
  keys.value<kind::Time>("training.phases[].step_time",
                         "Time of one step in the phase, where it was measured.", "47.6s",
                         kPositiveSpan, ORRERY_AT(run.training.phases.back().step_time),
                         {.note = "computed by the step simulator"});
  keys.value<kind::Time>("training.phases[].restart",
                         "Planned stop before the first step of the phase, after a save: a change "
                         "of nodes or of the layout. Stated, it holds everything; else it is the "
                         "load of the checkpoint, split anew.",
                         "47min", kSpan, ORRERY_AT(run.training.phases.back().change),
                         {.note = "size of the checkpoint / checkpoint.storage.read and / "
                                  "checkpoint.reshard, where nodes or layout change; else 0"});
}

void add_batch_ramp(Rows& keys) {
  keys.part("training.batch_ramp",
            "A batch that rises in equal steps to batch.global, as with Megatron's "
            "--rampup-batch-size; not together with training.phases.",
            "{start: 192, increment: 16, samples: 9765625}", ORRERY_AT(run.training.batch_ramp),
            {.aliases = {"rampup_batch_size"}, .note = "batch.global from the first step on"});
  keys.count("training.batch_ramp.start", "Sequences of the first steps.", "192",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.batch_ramp->start),
             {.required = true});
  keys.count("training.batch_ramp.increment", "Sequences by which the batch rises each time.", "16",
             {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.batch_ramp->increment),
             {.required = true});
  keys.count("training.batch_ramp.samples", "Sequences over which it rises, in equal shares.",
             "9765625", {1, kMostSequencesOfRamp}, ORRERY_AT(run.training.batch_ramp->samples),
             {.required = true});
}

void read_discard(const yaml::Value& value, const std::string& path, Reading& reading) {
  if (yaml::is_word(value, "all")) {
    last_rework(reading.draft).discard = run::DiscardAll{};
  } else if (const auto progress = read_progress(value, path, reading.diagnostics)) {
    last_rework(reading.draft).discard = *progress;
  }
}

void add_rework(Rows& keys) {
  keys.list("training.rework",
            "Training that is thrown away on purpose and done again: a loss spike, wrong data, a "
            "bug found late. In order.",
            "[{name: wrong seeds, at: 1T tokens, discard: all}]", ORRERY_AT(run.training.rework),
            {.note = "nothing is thrown away"}, [](Draft& draft) {
              std::vector<ReworkSpec>& rework = draft.run.training.rework;
              rework.back().name = "rework " + std::to_string(rework.size());
            });
  keys.text("training.rework[].name", "What reports call it.", "wrong seeds",
            ORRERY_AT(run.training.rework.back().name), {.note = "its number"});
  progress_key(keys, "training.rework[].at",
               "Progress at which it is decided, reached for the first time.", "1T tokens",
               ORRERY_AT(run.training.rework.back().at), {.required = true});
  Key& discard =
      keys.add("training.rework[].discard", "How much of the training before it is thrown away.",
               "32000 steps", {.fallback = "all"});
  discard.forms = progress_forms();
  discard.forms.insert(discard.forms.begin(), words_form({"all"}));
  discard.read = read_discard;
  discard.print = [](Draft& draft) -> std::optional<std::string> {
    const auto* progress = std::get_if<Progress>(&draft.run.training.rework.back().discard);
    return progress != nullptr ? show_progress(*progress) : "all";
  };
  keys.value<kind::Time>("training.rework[].stall", "Time until training goes on.", "1d", kSpan,
                         ORRERY_AT(run.training.rework.back().stall), {.fallback = "0"});
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

void add_evaluation(Rows& keys) {
  keys.part("evaluation", "Regular pauses of training for an evaluation.",
            "{every: 1000 steps, duration: 12min}", ORRERY_AT(run.evaluation),
            {.note = "never", .idle = {kNoRun}});
  Key& every = keys.add("evaluation.every", "Steps between two evaluations.", "1000 steps",
                        {.required = true});
  every.forms = {form_of<kind::StepsOrDuration>({})};
  every.forms.front().name = "a number of steps";
  every.forms.front().pattern = "^(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?[kMBT]? ?steps?$";
  every.read = read_every;
  every.print = [](Draft& draft) -> std::optional<std::string> {
    return kind::StepsOrDuration::format(yaml::Steps{draft.run.evaluation->every_steps});
  };
  keys.value<kind::Time>("evaluation.duration", "Time of one evaluation.", "12min", kSpan,
                         ORRERY_AT(run.evaluation->duration), {.required = true});
}

}  // namespace

void training_keys(Rows& keys) {
  add_training(keys);
  add_batch_ramp(keys);
  add_phases(keys);
  add_rework(keys);
  add_evaluation(keys);
}

// Keys of `simulation`.

namespace {

// Simulated time holds 73 years between two events (run/run_plan.hpp).

void add_simulation(Rows& keys) {
  keys.section("simulation", "How often the run is drawn.", "{trials: 1000, seed: 1}",
               {.note = "as its keys", .idle = {kNoRun}});
  keys.count("simulation.trials", "Independent trials of the run.", "10k", {1, 1'000'000},
             ORRERY_AT(run.simulation.trials), {.fallback = "1000"});
  keys.count("simulation.seed", "Start of the random streams.", "7",
             yaml::at_least<std::int64_t>(0), ORRERY_AT(run.simulation.seed), {.fallback = "1"});
  keys.value<kind::Time>("simulation.max_wall",
                         "A trial that has not reached its target by then gives up.", "365d",
                         kPositiveSpan, ORRERY_AT(run.simulation.max_wall),
                         {.note = "10 times the fault-free run and 30 d",
                          .idle = {ORRERY_WHEN(in_run(d) && d.run.training.duration,
                                               "training.duration is the window")}});
}

}  // namespace

void run_keys(Rows& keys) { add_simulation(keys); }

}  // namespace orrery::scenario
