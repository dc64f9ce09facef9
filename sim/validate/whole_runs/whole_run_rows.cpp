// Rows of whole-runs/2: its checks, each by its formula, and 6 N D arithmetic: the figures that
// follow from the parameters, tokens, hours and device of a run, beside those that the file prints.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/yaml/reader.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/hours_spec.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/theory/time_law.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/run_case.hpp"

namespace orrery::validate {

namespace {

// What a check of whole-runs/2 computes, by the name of its formula and the inputs it states.
//
// formula         | inputs                                           | answer
// ----------------|--------------------------------------------------|----------------------------
// fault_free_days | the run: steps, step_time; save_every, save;     | the run simulator without
//                 | evaluate_every, evaluation; ramp                 | failures, in d
// calendar_days   | the run, or fault_free; nodes, parameters;       | with failures, recovery and
//                 | failures (a preset), or restarts and             | repair (run_case.hpp),
//                 | machines_per_day; spares; named_losses           | in d
// calendar_share  | the same                                         | fault-free time / calendar
// lost_days       | the run and calendar                             | calendar - fault-free, in d
// days_on         | time, count                                      | time / count, in d
// step_time       | wall, steps                                      | wall / steps, in s
// mfu             | flops, time, count, peak                         | flops / (time count peak)
// cost            | time, count, price                               | time count price, in $
// recovery_events | active, window, mean_recovery                    | (1 - active) window / mean
// lognormal_sigma | mean, median                                     | of the law that has both
// ettr            | nodes, node_failures, save, restart              | Meta's, at Young's interval
// young_interval  | save, mtbf                                       | in s
// save_interval   | every, batch_tokens, tokens, gpu_time, gpus      | time of so many steps, in s
// waste           | save, mtbf, interval                             | first order, at the interval
//                 |                                                  | or Young's
// gpu_hours       | tokens, rate (tokens/s of a GPU)                 | tokens / rate, in h
// goodput_refused | hours (what published hours contain)             | whether no goodput follows
//
// `count` is 1 where it is absent. Internal to validate/.

struct FormulaAnswer {
  double value = 0.0;  // in the unit of the formula
  std::vector<std::string> notes = {};
};

struct Formula {
  std::string_view name;
  std::string_view unit;  // "d", "s", "h", "USD", "1"; "match": 1 is yes
  // Nothing after a problem in `inputs` or when the run's rules refuse the case.
  std::optional<FormulaAnswer> (*answer)(yaml::MappingReader& inputs, const DataSet& data);
};

namespace kind = yaml::kind;
using Answer = std::optional<FormulaAnswer>;
using Inputs = yaml::MappingReader;

const auto kPositive = yaml::above(0.0);
const auto kSomeTime = yaml::above(Seconds{});
const auto kOneOrMore = yaml::at_least<std::int64_t>(1);

// --- runs through the simulator ----------------------------------------------------------------

// Steps of 30 s, fine beside hours between failures, where only their sum is stated.
void read_steps(Inputs& in, CalendarCase& run) {
  constexpr double kFine = 30.0;
  if (const auto all = in.optional<kind::Time>("fault_free", kSomeTime)) {
    run.step = seconds(kFine);
    run.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(*all / run.step));
    return;
  }
  run.steps = in.require<kind::Count>("steps", kOneOrMore).value_or(0);
  run.step = in.require<kind::Time>("step_time", kSomeTime).value_or(Seconds{});
}

CalendarCase read_run(Inputs& in) {
  CalendarCase run;
  read_steps(in, run);
  run.save_every = in.optional<kind::Count>("save_every", kOneOrMore).value_or(0);
  run.save = in.optional<kind::Time>("save").value_or(Seconds{});
  run.evaluate_every = in.optional<kind::Count>("evaluate_every", kOneOrMore).value_or(0);
  run.evaluation = in.optional<kind::Time>("evaluation").value_or(Seconds{});
  run.ramp = in.optional<kind::Time>("ramp").value_or(Seconds{});
  return run;
}

std::optional<Seconds> fault_free(const CalendarCase& run) {
  const auto times = run_case({.steps = run.steps,
                               .step = run.step,
                               .save_every = run.save_every,
                               .stall = run.save,
                               .restart = {},
                               .evaluate_every = run.evaluate_every,
                               .evaluation = run.evaluation});
  return times ? std::optional(times->wall + run.ramp) : std::nullopt;
}

Answer fault_free_days(Inputs& in, const DataSet& /*data*/) {
  const auto time = fault_free(read_run(in));
  return time ? Answer(FormulaAnswer{in_days(*time)}) : std::nullopt;
}

Answer lost_days(Inputs& in, const DataSet& /*data*/) {
  const auto calendar = in.require<kind::Time>("calendar", kSomeTime);
  const auto time = fault_free(read_run(in));
  return time && calendar ? Answer(FormulaAnswer{in_days(*calendar - *time)}) : std::nullopt;
}

std::optional<CalendarTimes> calendar(Inputs& in, const DataSet& data) {
  CalendarCase run = read_run(in);
  run.nodes = in.require<kind::Count>("nodes", kOneOrMore).value_or(0);
  run.parameters = in.require<kind::Number>("parameters", kPositive).value_or(0.0);
  run.spares = in.optional<kind::Count>("spares");
  run.restarts = in.optional<kind::Number>("restarts");
  run.machines_a_day = in.optional<kind::Number>("machines_per_day");
  run.failures = in.optional_text("failures").value_or("");
  run.named_losses = in.optional_list<kind::Time>("named_losses").value_or(std::vector<Seconds>());
  const scenario::PresetLibrary& presets = *data.profiles.presets();
  if (!run.restarts && !run.machines_a_day &&
      presets.find(scenario::PresetKind::failures, run.failures, in.diagnostics()) == nullptr) {
    in.error("failures", "names no preset of failures, and neither is a rate stated");
    return std::nullopt;
  }
  auto times = simulate_calendar(run, presets, data.threads);
  if (times) {
    times->notes.push_back(fmt::format("{:.1f} failures", times->failures));
  }
  return times;
}

Answer calendar_days(Inputs& in, const DataSet& data) {
  const auto times = calendar(in, data);
  return times ? Answer({in_days(times->calendar), times->notes}) : std::nullopt;
}

Answer calendar_share(Inputs& in, const DataSet& data) {
  const auto stated = in.has("fault_free") ? in.optional<kind::Time>("fault_free") : std::nullopt;
  const auto times = calendar(in, data);
  return times ? Answer({stated.value_or(times->fault_free) / times->calendar, times->notes})
               : std::nullopt;
}

// --- time, money, utilisation ------------------------------------------------------------------

std::optional<Seconds> read_time(Inputs& in) {
  const auto time = in.require<kind::Time>("time", kSomeTime);
  const auto count = in.optional<kind::Number>("count", kPositive);
  return time ? std::optional(count.value_or(1.0) * *time) : std::nullopt;
}

Answer days_on(Inputs& in, const DataSet& /*data*/) {
  const auto time = in.require<kind::Time>("time", kSomeTime);
  const auto count = in.require<kind::Number>("count", kPositive);
  return time && count ? Answer(FormulaAnswer{in_days(*time / *count)}) : std::nullopt;
}

Answer step_time(Inputs& in, const DataSet& /*data*/) {
  const auto wall = in.require<kind::Time>("wall", kSomeTime);
  const auto steps = in.require<kind::Number>("steps", kPositive);
  return wall && steps ? Answer(FormulaAnswer{in_seconds(*wall / *steps)}) : std::nullopt;
}

Answer mfu(Inputs& in, const DataSet& /*data*/) {
  const auto flops = in.require<kind::Number>("flops", kPositive);
  const auto peak = in.require<kind::FlopRate>("peak");
  const auto time = read_time(in);
  return flops && time && peak ? Answer(FormulaAnswer{flop(*flops) / (*time * *peak)})
                               : std::nullopt;
}

Answer cost(Inputs& in, const DataSet& /*data*/) {
  const auto price = in.require<kind::PriceRate>("price");
  const auto time = read_time(in);
  return price && time ? Answer(FormulaAnswer{in_dollars(*price * *time)}) : std::nullopt;
}

Answer gpu_hours(Inputs& in, const DataSet& /*data*/) {
  const auto trained = in.require<kind::Number>("tokens", kPositive);
  const auto rate = in.require<kind::Number>("rate", kPositive);
  return trained && rate
             ? Answer(FormulaAnswer{in_hours(tokens(*trained) / tokens_per_second(*rate))})
             : std::nullopt;
}

// The negative test: hours without losses tell no goodput.
Answer goodput_refused(Inputs& in, const DataSet& /*data*/) {
  using run::HoursKind;
  constexpr std::array<yaml::Choice<HoursKind>, 4> kKinds = {
      {{"billed", HoursKind::billed},
       {"productive", HoursKind::productive},
       {"throughput_derived", HoursKind::throughput_derived},
       {"unknown", HoursKind::unknown}}};
  const auto contents = in.require_choice("hours", kKinds);
  if (!contents) {
    return std::nullopt;
  }
  const auto goodput = run::goodput_from_hours(*contents, hours(1.0), hours(1.0));
  const auto* reason = std::get_if<std::string>(&goodput);
  return reason != nullptr ? FormulaAnswer{1.0, {*reason}} : FormulaAnswer{};
}

// --- recovery and checkpoints ------------------------------------------------------------------

Answer recovery_events(Inputs& in, const DataSet& /*data*/) {
  const auto active = in.require<kind::Fraction>("active");
  const auto window = in.require<kind::Time>("window", kSomeTime);
  const auto mean = in.require<kind::Time>("mean_recovery", kSomeTime);
  return active && window && mean ? Answer(FormulaAnswer{(1.0 - *active) * (*window / *mean)})
                                  : std::nullopt;
}

Answer lognormal_sigma(Inputs& in, const DataSet& /*data*/) {
  const auto mean = in.require<kind::Time>("mean", kSomeTime);
  const auto median = in.require<kind::Time>("median", kSomeTime);
  return mean && median ? Answer(FormulaAnswer{run::lognormal_sigma(*mean, *median)})
                        : std::nullopt;
}

Answer ettr(Inputs& in, const DataSet& /*data*/) {
  const auto nodes = in.require<kind::Number>("nodes", kPositive);
  const auto rate = in.require<kind::EventRate>("node_failures", yaml::above(PerSecond{}));
  const auto save = in.require<kind::Time>("save", kSomeTime);
  const auto restart = in.require<kind::Time>("restart");
  if (!nodes || !rate || !save || !restart) {
    return std::nullopt;
  }
  return FormulaAnswer{
      run::expected_ettr({.nodes = *nodes,
                          .node_rate = *rate,
                          .restart = *restart,
                          .interval = run::young_interval({*save, run::job_mtbf(*nodes, *rate)}),
                          .write = *save})};
}

std::optional<run::CheckpointCost> read_cost(Inputs& in) {
  const auto save = in.require<kind::Time>("save", kSomeTime);
  const auto mtbf = in.require<kind::Time>("mtbf", kSomeTime);
  return save && mtbf ? std::optional(run::CheckpointCost{*save, *mtbf}) : std::nullopt;
}

Answer young_interval(Inputs& in, const DataSet& /*data*/) {
  const auto cost = read_cost(in);
  return cost ? Answer(FormulaAnswer{in_seconds(run::young_interval(*cost))}) : std::nullopt;
}

Answer waste(Inputs& in, const DataSet& /*data*/) {
  const auto interval = in.optional<kind::Time>("interval", kSomeTime);
  const auto cost = read_cost(in);
  return cost ? Answer(FormulaAnswer{
                    run::first_order_waste(*cost, interval.value_or(run::young_interval(*cost)))})
              : std::nullopt;
}

Answer save_interval(Inputs& in, const DataSet& /*data*/) {
  const auto every = in.require<kind::Count>("every", kOneOrMore);
  const auto batch = in.require<kind::Number>("batch_tokens", kPositive);
  const auto trained = in.require<kind::Number>("tokens", kPositive);
  const auto time = in.require<kind::Time>("gpu_time", kSomeTime);
  const auto gpus = in.require<kind::Number>("gpus", kPositive);
  if (!every || !batch || !trained || !time || !gpus) {
    return std::nullopt;
  }
  const Seconds step = tokens(*batch) / (*gpus * (tokens(*trained) / *time));
  return FormulaAnswer{in_seconds(static_cast<double>(*every) * step)};
}

constexpr std::array<Formula, 16> kFormulas = {{{"fault_free_days", "d", fault_free_days},
                                                {"calendar_days", "d", calendar_days},
                                                {"calendar_share", "1", calendar_share},
                                                {"lost_days", "d", lost_days},
                                                {"days_on", "d", days_on},
                                                {"step_time", "s", step_time},
                                                {"mfu", "1", mfu},
                                                {"cost", "USD", cost},
                                                {"recovery_events", "1", recovery_events},
                                                {"lognormal_sigma", "1", lognormal_sigma},
                                                {"ettr", "1", ettr},
                                                {"young_interval", "s", young_interval},
                                                {"save_interval", "s", save_interval},
                                                {"waste", "1", waste},
                                                {"gpu_hours", "h", gpu_hours},
                                                {"goodput_refused", "match", goodput_refused}}};

std::span<const Formula> formulas() { return kFormulas; }

using yaml::Value;

// --- checks ------------------------------------------------------------------------------------

const Formula* formula_of(yaml::MappingReader& check) {
  std::vector<std::string_view> names;
  for (const Formula& formula : formulas()) {
    names.push_back(formula.name);
  }
  const Value* word = check.take_required("formula", "a name", names.front());
  const auto index = word == nullptr ? std::nullopt
                                     : yaml::read_word(*word, check.path_of("formula"), names,
                                                       check.diagnostics());
  return index ? &formulas()[*index] : nullptr;
}

// What is expected, in the unit of the formula.
std::optional<double> read_expected(yaml::MappingReader& check, std::string_view unit) {
  if (unit == "1") {
    return check.require<kind::Number>("expect");
  }
  if (unit == "USD") {
    const auto money = check.require<kind::Money>("expect");
    return money ? std::optional(in_dollars(*money)) : std::nullopt;
  }
  const auto time = check.require<kind::Time>("expect");
  if (!time) {
    return std::nullopt;
  }
  return unit == "d" ? in_days(*time) : unit == "h" ? in_hours(*time) : in_seconds(*time);
}

ValidationRow compared(ValidationRow row, FormulaAnswer answer, double expected, double tolerance) {
  row.predicted = answer.value;
  row.measured = expected;
  row.notes = std::move(answer.notes);
  row.within = std::abs(row.predicted - expected) <= tolerance * std::abs(expected);
  return row;
}

ValidationRow matched(ValidationRow row, FormulaAnswer answer) {
  row.quantity = "match";
  row.unit = "1";
  row.match = answer.value > 0.0;
  row.within = row.match;
  if (*row.match) {
    row.notes = std::move(answer.notes);
  } else {
    row.mismatches = {"the hours are taken for billed ones"};
  }
  return row;
}

std::optional<ValidationRow> check_row(const Value& value, const std::string& path,
                                       const DataSet& data) {
  yaml::MappingReader check(value, data.diagnostics, path);
  ValidationRow row{.id = check.require_text("id").value_or(""),
                    .group = check.require_text("group").value_or(""),
                    .quantity = "value"};
  for (const char* words : {"run", "note", "source"}) {
    check.allow(words);
  }
  const Formula* formula = formula_of(check);
  auto inputs = check.require_mapping("inputs");
  if (formula == nullptr || !inputs) {
    return std::nullopt;
  }
  row.unit = formula->unit;
  const bool matches = formula->unit == "match";
  const auto expected = matches ? std::optional(1.0) : read_expected(check, formula->unit);
  const auto tolerance = matches ? std::optional(0.0) : check.require<kind::Fraction>("tolerance");
  auto answer = formula->answer(*inputs, data);
  inputs->finish();
  check.finish();
  if (!answer) {
    row.skipped = "the inputs make no run that the simulator accepts";
    return row;
  }
  if (!expected || !tolerance) {
    return std::nullopt;
  }
  return matches ? matched(row, *std::move(answer))
                 : compared(row, *std::move(answer), *expected, *tolerance);
}

// --- 6 N D -------------------------------------------------------------------------------------

// The value under a dotted path; {value: ...} is opened on the way.
std::optional<double> number_at(const Value& run, std::string_view path) {
  const Value* value = &run;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = DataRow(*value).find(path.substr(0, dot));
    if (value == nullptr) {
      return std::nullopt;
    }
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  const Value* inner = DataRow(*value).find("value");
  value = inner != nullptr ? inner : value;
  return value->kind == Value::Kind::scalar ? yaml::parse_number(value->text).value : std::nullopt;
}

// Dense 16-bit peak by the name of the device.
std::optional<FlopPerSecond> peak_of(const Value& run, const Value& document) {
  const std::string device = DataRow(run).row("hardware").row("device").text("value");
  const auto peak = DataRow(document)
                        .row("meta")
                        .row("conventions")
                        .row("peaks_tflops_dense_16bit")
                        .number(device);
  return peak ? std::optional(teraflop_per_second(*peak)) : std::nullopt;
}

struct Derived {
  std::string_view name;
  std::string_view unit;
  double value;
};

std::vector<Derived> figures_of(const Value& run, const Value& document) {
  std::vector<Derived> figures;
  const auto active = number_at(run, "model.params_active");
  const auto parameters = active ? active : number_at(run, "model.params");
  const auto trained = number_at(run, "model.tokens");
  if (!parameters || !trained) {
    return figures;
  }
  const Flop flops = run::six_nd(*parameters, tokens(*trained));
  figures.push_back({"flops_6ND", "FLOP", in_flop(flops)});
  // The tokens are those of pre-training.
  const auto part = number_at(run, "device_hours_by_phase.pretraining");
  const auto printed = part ? part : number_at(run, "device_hours");
  if (!printed || *printed <= 0.0) {
    return figures;
  }
  const FlopPerSecond rate = flops / hours(*printed);
  const TokensPerSecond pace = tokens(*trained) / hours(*printed);
  figures.push_back({"avg_tflops_per_device_6ND", "TFLOP/s", in_teraflop_per_second(rate)});
  figures.push_back({"avg_tokens_per_s_per_device", "token/s", in_tokens_per_second(pace)});
  if (const auto peak = peak_of(run, document)) {
    figures.push_back({"whole_run_mfu_6ND_vs_16bit_peak", "1", rate / *peak});
    if (const auto steady = number_at(run, "steady.mfu")) {
      figures.push_back({"whole_run_over_steady_mfu", "1", rate / *peak / *steady});
    }
  }
  if (const auto steady = number_at(run, "steady.tokens_per_s_per_device")) {
    figures.push_back({"whole_run_over_steady_throughput", "1", pace / tokens_per_second(*steady)});
  }
  return figures;
}

// Half a unit of the last digit of a number as it is printed.
double rounding_of(const std::string& printed) {
  const std::size_t mantissa = std::min(printed.find_first_of("eE"), printed.size());
  const std::size_t dot = printed.find('.');
  const double digits = dot < mantissa ? static_cast<double>(mantissa - dot - 1) : 0.0;
  const std::string power = mantissa < printed.size() ? printed.substr(mantissa + 1) : "0";
  const std::size_t sign = power.starts_with('+') ? 1 : 0;
  const double exponent = yaml::parse_number(power.substr(sign)).value.value_or(0.0);
  constexpr double kHalf = 0.5;
  return kHalf * std::pow(10.0, exponent - digits);
}

void add_derived_rows(const DataRow& run, const Value& document, std::vector<ValidationRow>& rows) {
  constexpr double kTolerance = 1e-3;  // derived figures are printed to about four digits
  const DataRow derived = run.row("derived");
  for (const Derived& figure : figures_of(run.value(), document)) {
    const auto printed = derived.number(figure.name);
    if (!printed) {
      continue;
    }
    ValidationRow row{.id = fmt::format("{}/{}", run.text("id"), figure.name),
                      .group = std::string(figure.name),
                      .quantity = std::string(kDerivedFigure),
                      .unit = std::string(figure.unit),
                      .predicted = figure.value,
                      .measured = *printed,
                      .secondary = true};
    row.within = std::abs(row.relative_error()) <= kTolerance ||
                 std::abs(row.predicted - row.measured) <= rounding_of(derived.text(figure.name));
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<ValidationRow> whole_run_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  std::size_t index = 0;
  for (const DataRow& check : data_rows(data.document, "simulator_checks")) {
    const std::string path = fmt::format("simulator_checks[{}]", index++);
    if (auto row = check_row(check.value(), path, data)) {
      rows.push_back(*std::move(row));
    }
  }
  for (const DataRow& run : data_rows(data.document, "runs")) {
    add_derived_rows(run, data.document, rows);
  }
  return rows;
}

}  // namespace orrery::validate
