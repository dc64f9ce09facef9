// Keys of durations, which may be laws, and of the stages of a recovery.

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/limits.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).

// The law that exactly these parameters make, or nothing.
std::optional<run::Duration> law_of(const DurationDraft& draft) {
  const bool lognormal = draft.median || draft.sigma;
  const bool uniform = draft.low || draft.high;
  const bool empirical = !draft.values.empty();
  if (draft.mean && !lognormal && !uniform && !empirical) {
    return run::ExponentialLaw{*draft.mean};
  }
  if (draft.median && draft.sigma && !draft.mean && !uniform && !empirical) {
    return run::LognormalLaw{*draft.median, *draft.sigma};
  }
  if (draft.median && draft.mean && !draft.sigma && !uniform && !empirical &&
      *draft.median > Seconds{} && *draft.mean >= *draft.median) {
    return run::lognormal_with_mean(*draft.median, *draft.mean);
  }
  if (draft.low && draft.high && !draft.mean && !lognormal && !empirical) {
    return run::UniformLaw{*draft.low, *draft.high};
  }
  if (empirical && !draft.mean && !lognormal && !uniform) {
    return run::EmpiricalLaw{draft.values};
  }
  return std::nullopt;
}

// The law as `law_of` reads it.
std::string show_duration(const run::Duration& duration) {
  const auto time = kind::Time::format;
  if (const auto* fixed = std::get_if<run::FixedLaw>(&duration)) {
    return time(fixed->value);
  }
  if (const auto* exponential = std::get_if<run::ExponentialLaw>(&duration)) {
    return fmt::format("{{mean: {}}}", time(exponential->mean));
  }
  if (const auto* lognormal = std::get_if<run::LognormalLaw>(&duration)) {
    return fmt::format("{{median: {}, sigma: {}}}", time(lognormal->median), lognormal->sigma);
  }
  if (const auto* uniform = std::get_if<run::UniformLaw>(&duration)) {
    return fmt::format("{{low: {}, high: {}}}", time(uniform->low), time(uniform->high));
  }
  return fmt::format("{{values: {}}}", show_times(std::get<run::EmpiricalLaw>(duration).values));
}

bool has_errors_below(const Diagnostics& diagnostics, const std::string& path) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::error && diagnostic.key.starts_with(path + ".")) {
      return true;
    }
  }
  return false;
}

Key law_key(const std::string& path, std::string_view name, std::string meaning,
            std::optional<Seconds> DurationDraft::*member) {
  Key key = value_key<kind::Time>(
      {.path = fmt::format("{}.{}", path, name), .meaning = std::move(meaning), .example = "30min"},
      kSpan, [member](Draft & draft) -> auto& { return draft.duration.*member; });
  key.folded = true;
  return key;
}

void read_values(const yaml::Value& value, const std::string& path, Reading& reading) {
  if (value.kind != yaml::Value::Kind::sequence || value.items.empty()) {
    yaml::report(reading.diagnostics, value.where, path, "is no list of times",
                 "a list such as [3min, 4min, 2h]");
    return;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto time = yaml::read_value<kind::Time>(
        value.items[i], path + "[" + std::to_string(i) + "]", reading.diagnostics, kSpan);
    if (time) {
      reading.draft.duration.values.push_back(*time);
    }
  }
}

}  // namespace

void add_duration_keys(std::vector<Key>& keys, KeyText text, const Lens<run::Duration>& lens) {
  const std::string path = text.path;
  const auto& store = lens.set;
  Key key = value_key<kind::Time>(
      std::move(text), kSpan,
      [store](Draft& draft, const Seconds& value) { store(draft, run::fixed(value)); });
  key.print = lens.printed(show_duration);
  key.mapping = true;
  key.begin = [](const yaml::Value&, Reading& reading) { reading.draft.duration = {}; };
  key.end = [store](const yaml::Value& value, const std::string& where, Reading& reading) {
    const std::optional<run::Duration> law = law_of(reading.draft.duration);
    if (has_errors_below(reading.diagnostics, where)) {
      return;
    }
    if (!law) {
      yaml::report(reading.diagnostics, value.where, where, "does not name one law",
                   "a time, {mean}, {median, sigma}, {median, mean} with mean above median, {low, "
                   "high} or {values}");
      return;
    }
    if (const auto problem = run::problem_of(*law)) {
      yaml::report(reading.diagnostics, value.where, where, *problem);
      return;
    }
    store(reading.draft, *law);
  };
  keys.push_back(std::move(key));
  keys.push_back(law_key(path, "mean",
                         "Exponential law: its mean; beside a median: that of a lognormal law.",
                         &DurationDraft::mean));
  keys.push_back(law_key(path, "median", "Lognormal law: its median.", &DurationDraft::median));
  Key sigma =
      value_key<kind::Number>({.path = path + ".sigma",
                               .meaning = "Lognormal law: standard deviation of the logarithm.",
                               .example = "1.5"},
                              yaml::between(0.0, 10.0), ORRERY_AT(duration.sigma));
  sigma.folded = true;
  keys.push_back(std::move(sigma));
  keys.push_back(law_key(path, "low", "Uniform law: the shortest.", &DurationDraft::low));
  keys.push_back(law_key(path, "high", "Uniform law: the longest.", &DurationDraft::high));
  Key values = key_of({.path = path + ".values",
                       .meaning = "Empirical law: measured times, each as likely.",
                       .example = "[3min, 4min, 2h]"});
  values.forms = {form_of<kind::Time>(kSpan)};
  values.forms.front().list = true;
  values.read = read_values;
  values.folded = true;
  keys.push_back(std::move(values));
}

void add_recovery_keys(std::vector<Key>& keys, const std::string& path, std::string_view note,
                       const std::function<run::RecoveryStages&(Draft&)>& stages) {
  struct Stage {
    run::RecoveryStage stage;
    std::string_view note;
    std::string_view meaning;
    std::string_view example;
  };

  constexpr std::string_view kNone = "the preset's, else no time";
  const std::array<Stage, run::kRecoveryStageCount> rows = {{
      {run::RecoveryStage::detect, kNone, "Until the job is known to be dead.", "5min"},
      {run::RecoveryStage::diagnose, kNone, "Until the cause and the node are known.", "5min"},
      {run::RecoveryStage::reschedule, kNone,
       "Stop, clean up, place and launch on the new set of nodes.", "2min"},
      {run::RecoveryStage::communicator_init, kNone,
       "Rendezvous and creation of the communicators.", "30s"},
      {run::RecoveryStage::load,
       "the preset's, else the size of the checkpoint / checkpoint.storage.read",
       "Reading the checkpoint.", "2min"},
      {run::RecoveryStage::warm_up, kNone, "Slow first steps, data loader, compilation.", "1min"},
  }};
  for (const Stage& row : rows) {
    const std::size_t index = run::index_of(row.stage);
    add_duration_keys(
        keys,
        {.path = fmt::format("{}.{}", path, run::kRecoveryStageNames[index]),
         .note = std::string(note.empty() ? row.note : note),
         .meaning = std::string(row.meaning),
         .example = std::string(row.example)},
        [ stages, index ](Draft & draft) -> auto& { return stages(draft)[index]; });
  }
}

}  // namespace orrery::scenario
