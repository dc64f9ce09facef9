// Keys of a life law and of the age at which components start.

#include <fmt/core.h>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/rules/rules.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

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

constexpr std::string_view kOtherLaws = "another law";

Key time_row(const std::string& path, std::string_view name, std::string meaning,
             std::optional<Seconds> LifeDraft::*member) {
  return value_key<kind::Time>(
      {.path = fmt::format("{}.{}", path, name),
       .note = std::string(kOtherLaws),
       .meaning = std::move(meaning),
       .example = "400d"},
      kLife, [member](Draft & draft) -> auto& { return draft.life.*member; });
}

Key number_row(const std::string& path, std::string_view name, std::string meaning,
               std::string example, yaml::Range<double> range,
               std::optional<double> LifeDraft::*member) {
  return value_key<kind::Number>(
      {.path = fmt::format("{}.{}", path, name),
       .note = std::string(kOtherLaws),
       .meaning = std::move(meaning),
       .example = std::move(example)},
      range, [member](Draft & draft) -> auto& { return draft.life.*member; });
}

Key times_row(const std::string& path) {
  Key times = key_of({.path = path + ".times",
                      .note = std::string(kOtherLaws),
                      .meaning = "Observed lives, drawn with replacement.",
                      .example = "[30d, 95d, 400d]"});
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
  return times;
}

}  // namespace

void add_life_keys(std::vector<Key>& keys, KeyText text, const Lens<run::LifeLaw>& lens) {
  const auto& store = lens.set;
  const std::string path = text.path;
  Key key = value_key<kind::Time>(
      std::move(text), kLife,
      [store](Draft& draft, const Seconds& value) { store(draft, run::ExponentialLaw{value}); });
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
  keys.push_back(std::move(key));
  keys.push_back(time_row(path, "mean", "Mean life; alone: exponential.", &LifeDraft::mean));
  keys.push_back(number_row(path, "shape", "Weibull law: below 1 early failures, above 1 wear.",
                            "0.8", yaml::between(0.05, 100.0), &LifeDraft::shape));
  keys.push_back(time_row(path, "median", "Lognormal law: its median.", &LifeDraft::median));
  keys.push_back(number_row(path, "sigma", "Lognormal law: standard deviation of the logarithm.",
                            "1.2", {0.0, 10.0, true}, &LifeDraft::sigma));
  keys.push_back(times_row(path));
}

Key age_key(KeyText text, const Lens<run::InitialAge>& lens) {
  Key key = key_of(std::move(text));
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
  return key;
}

}  // namespace orrery::scenario
