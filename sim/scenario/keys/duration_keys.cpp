// Keys of durations, which may be laws, and of the stages of a recovery.

#include <fmt/format.h>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"

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

void add_time(Rows& keys, std::string_view path, std::string_view name, std::string_view meaning,
              std::optional<Seconds> DurationDraft::*member) {
  keys.value<kind::Time>(fmt::format("{}.{}", path, name), meaning, "30min", kSpan,
                         member_of(ORRERY_AT(duration), member))
      .folded = true;
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

void Rows::duration(std::string_view path, std::string_view meaning, std::string_view example,
                    const Lens<run::Duration>& lens, KeyNotes notes) {
  const auto& store = lens.set;
  Key& key = value<kind::Time>(
      path, meaning, example, kSpan,
      [store](Draft& draft, const Seconds& value) { store(draft, run::fixed(value)); },
      std::move(notes));
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
  add_time(*this, path, "mean",
           "Exponential law: its mean; beside a median: that of a lognormal law.",
           &DurationDraft::mean);
  add_time(*this, path, "median", "Lognormal law: its median.", &DurationDraft::median);
  value<kind::Number>(fmt::format("{}.sigma", path),
                      "Lognormal law: standard deviation of the logarithm.", "1.5",
                      yaml::between(0.0, 10.0), ORRERY_AT(duration.sigma))
      .folded = true;
  add_time(*this, path, "low", "Uniform law: the shortest.", &DurationDraft::low);
  add_time(*this, path, "high", "Uniform law: the longest.", &DurationDraft::high);
  Key& values = add(fmt::format("{}.values", path),
                    "Empirical law: measured times, each as likely.", "[3min, 4min, 2h]");
  values.forms = {form_of<kind::Time>(kSpan)};
  values.forms.front().list = true;
  values.read = read_values;
  values.folded = true;
}

void Rows::recovery(const std::string& path, std::string_view note,
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
    duration(fmt::format("{}.{}", path, run::kRecoveryStageNames[index]), row.meaning, row.example,
             [ stages, index ](Draft & draft) -> auto& { return stages(draft)[index]; },
             {.note = std::string(note.empty() ? row.note : note)});
  }
}

// Keys of a life law and of the age at which components start.

namespace {

const yaml::Range<Seconds> kLife = {Seconds{}, days(kMega), true};

// The law that exactly these parameters make, or nothing.
std::optional<run::LifeLaw> law_of(const LifeDraft& draft) {
  const bool others = draft.shape || draft.sigma || draft.median;
  if (!draft.times.empty() && !draft.mean && !others) {
    return run::EmpiricalLaw{draft.times};
  }
  if (!draft.times.empty()) {
    return std::nullopt;
  }
  if (draft.mean && !others) {
    return run::ExponentialLaw{*draft.mean};
  }
  if (draft.mean && draft.shape && !draft.sigma && !draft.median) {
    return run::weibull_of_mean(*draft.shape, *draft.mean);
  }
  if (draft.sigma && !draft.shape && draft.mean.has_value() != draft.median.has_value()) {
    return draft.mean ? run::lognormal_of_mean(*draft.mean, *draft.sigma)
                      : run::LognormalLaw{*draft.median, *draft.sigma};
  }
  return std::nullopt;
}

// The law as `law_of` reads it.
std::string show_life(const run::LifeLaw& law) {
  const auto time = kind::Time::format;
  if (const auto* exponential = std::get_if<run::ExponentialLaw>(&law)) {
    return time(exponential->mean);
  }
  if (const auto* weibull = std::get_if<run::WeibullLaw>(&law)) {
    return fmt::format("{{mean: {}, shape: {}}}", time(run::mean(law)), weibull->shape);
  }
  if (const auto* lognormal = std::get_if<run::LognormalLaw>(&law)) {
    return fmt::format("{{median: {}, sigma: {}}}", time(lognormal->median), lognormal->sigma);
  }
  return fmt::format("{{times: {}}}", show_times(std::get<run::EmpiricalLaw>(law).values));
}

constexpr const char* kOtherLaws = "another law";

void add_time(Rows& keys, std::string_view path, std::string_view name, std::string_view meaning,
              std::optional<Seconds> LifeDraft::*member) {
  keys.value<kind::Time>(fmt::format("{}.{}", path, name), meaning, "400d", kLife,
                         member_of(ORRERY_AT(life), member), {.note = kOtherLaws});
}

void add_times(Rows& keys, std::string_view path) {
  Key& times = keys.add(fmt::format("{}.times", path), "Observed lives, drawn with replacement.",
                        "[30d, 95d, 400d]", {.note = kOtherLaws});
  times.forms = {form_of<kind::Time>(kLife)};
  times.forms.front().list = true;
  times.read = [](const yaml::Value& value, const std::string& where, Reading& reading) {
    if (value.kind != yaml::Value::Kind::sequence || value.items.empty()) {
      yaml::report(reading.diagnostics, value.where, where, "is no list of times",
                   "such as [30d, 95d, 400d]");
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const auto time = yaml::read_value<kind::Time>(
          value.items[i], fmt::format("{}[{}]", where, i), reading.diagnostics, kLife);
      if (!time) {
        return;
      }
      reading.draft.life.times.push_back(*time);
    }
  };
}

}  // namespace

void add_life_keys(Rows& keys, const std::string& path, std::string_view meaning,
                   std::string_view example, const Lens<run::LifeLaw>& lens, KeyNotes notes) {
  const auto& store = lens.set;
  Key& key = keys.value<kind::Time>(
      path, meaning, example, kLife,
      [store](Draft& draft, const Seconds& value) { store(draft, run::ExponentialLaw{value}); },
      std::move(notes));
  key.print = lens.printed(show_life);
  key.mapping = true;
  key.begin = [](const yaml::Value&, Reading& reading) { reading.draft.life = {}; };
  key.end = [store](const yaml::Value& value, const std::string& where, Reading& reading) {
    if (is_broken(reading.diagnostics, where)) {
      return;
    }
    const std::optional<run::LifeLaw> law = law_of(reading.draft.life);
    if (!law) {
      yaml::report(reading.diagnostics, value.where, where, "does not name one law",
                   "a mean time, {mean, shape}, {mean, sigma}, {median, sigma} or {times}");
      return;
    }
    store(reading.draft, *law);
  };
  add_time(keys, path, "mean", "Mean life; alone: exponential.", &LifeDraft::mean);
  keys.value<kind::Number>(path + ".shape", "Weibull law: below 1 early failures, above 1 wear.",
                           "0.8", yaml::between(0.05, 100.0), ORRERY_AT(life.shape),
                           {.note = kOtherLaws});
  add_time(keys, path, "median", "Lognormal law: its median.", &LifeDraft::median);
  keys.value<kind::Number>(path + ".sigma", "Lognormal law: standard deviation of the logarithm.",
                           "1.2", {0.0, 10.0, true}, ORRERY_AT(life.sigma), {.note = kOtherLaws});
  add_times(keys, path);
}

void age_key(Rows& keys, const std::string& path, std::string_view meaning,
             std::string_view example, const Lens<run::InitialAge>& lens, KeyNotes notes) {
  Key& key = keys.add(path, meaning, example, std::move(notes));
  const yaml::Range<Seconds> span = yaml::at_most(days(kMega));
  key.forms = {words_form({"stationary", "new"}), form_of<kind::Time>(span)};
  key.print = lens.printed([](const run::InitialAge& age) -> std::string {
    return age.kind == run::AgeKind::given        ? kind::Time::format(age.age)
           : age.kind == run::AgeKind::stationary ? "stationary"
                                                  : "new";
  });
  key.read = [store = lens.set, span](const yaml::Value& value, const std::string& path,
                                      Reading& reading) {
    if (yaml::is_word(value, "stationary")) {
      store(reading.draft, {run::AgeKind::stationary, Seconds{}});
    } else if (yaml::is_word(value, "new")) {
      store(reading.draft, {run::AgeKind::fresh, Seconds{}});
    } else if (const auto time =
                   yaml::read_value<kind::Time>(value, path, reading.diagnostics, span)) {
      store(reading.draft, {run::AgeKind::given, *time});
    }
  };
}

}  // namespace orrery::scenario
