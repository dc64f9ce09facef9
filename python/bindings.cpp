// Python bindings of the simulator. Texts in, evaluations out: the key table reads what is set, the
// entry points of sim/ answer, and the reports that the commands print carry the figures.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "python/attended.hpp"
#include "python/scenario.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/answer/plan/change_error.hpp"
#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_report.hpp"
#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/answer/sweep/shard.hpp"
#include "sim/answer/sweep/sweep_report.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/frame/build_info.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::python {

namespace {

// Work beside the interpreter has a copy of the scenario, made under the interpreter's lock:
// another thread may set keys of the scenario meanwhile.

// An answer, and what it answers.
struct Answered {
  report::Evaluation evaluation;
  scenario::Scenario scenario;
  hardware::ProfileSearch search;
};

Answered run(Scenario asked, int threads, std::optional<std::int64_t> trials,
             std::optional<std::uint64_t> seed, const nb::object& callback) {
  return attended(callback, [&](const std::stop_token& stop, Progress& progress) {
    Diagnostics diagnostics;
    scenario::Scenario scenario = asked.read(diagnostics);
    auto evaluation = evaluate::evaluate(scenario,
                                         {.threads = threads,
                                          .trials = trials,
                                          .seed = seed,
                                          .levers = true,
                                          .search = asked.search(),
                                          .stop = stop,
                                          .progress = recorder(progress)},
                                         diagnostics);
    if (!evaluation) {
      throw Problems{diagnostics};
    }
    return Answered{*std::move(evaluation), std::move(scenario), asked.search()};
  });
}

using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

sweep::Sweep make_sweep(const Scenario& asked, const Axes& axes,
                        const std::vector<std::string>& metrics, bool zip,
                        std::optional<std::int64_t> trials) {
  Diagnostics diagnostics;
  sweep::Sweep sweep{.base = asked.base_with_changes(),
                     .axes = {},
                     .points = {},
                     .columns = {},
                     .trials = trials,
                     .search = asked.search()};
  const SourceLocation where{"sweep", 0, 0};
  for (const auto& [key, values] : axes) {
    auto axis = sweep::axis_of(key, values, where, diagnostics);
    if (axis) {
      sweep.axes.push_back(*std::move(axis));
    }
  }
  if (!diagnostics.has_errors()) {
    auto points = sweep::make_points(
        sweep.axes, {.mode = zip ? sweep::Mode::zip : sweep::Mode::grid}, diagnostics);
    auto columns = metrics.empty() ? std::optional(sweep::all_columns())
                                   : sweep::parse_columns(metrics, where, diagnostics);
    if (points && columns) {
      sweep.points = *std::move(points);
      sweep.columns = *std::move(columns);
      if (asked.keeps_data()) {
        sweep::keep("layout.data", sweep);
      }
      sweep::check_values(sweep, diagnostics);
    }
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  return sweep;
}

std::string run_sweep(Scenario asked, const nb::list& vary, const std::vector<std::string>& metrics,
                      bool zip, int threads, std::optional<std::int64_t> trials,
                      const nb::object& callback, std::size_t number, std::size_t of) {
  if (number < 1 || number > of) {
    throw Error(ErrorKind::io, "sweep: the parts are numbered from 1 on");
  }
  Axes axes;
  for (const nb::handle item : vary) {
    axes.emplace_back(nb::cast<std::string>(item[0]), nb::cast<std::vector<std::string>>(item[1]));
  }
  return attended(callback, [&](const std::stop_token& stop, Progress& progress) {
    const sweep::Sweep sweep =
        sweep::part_of(make_sweep(asked, axes, metrics, zip, trials), {number, of});
    sweep::Team alone;
    const sweep::SweepOutcome outcome = sweep::run_sweep(
        sweep, alone, {.threads = threads, .stop = stop, .progress = recorder(progress)});
    if (!outcome.complete) {
      throw Error(ErrorKind::interrupted, "interrupted");
    }
    return sweep::to_json(sweep, outcome.results);
  });
}

std::string run_plan(Scenario asked, const Settings& settings, int threads,
                     std::optional<std::int64_t> trials, const nb::object& callback) {
  return attended(callback, [&](const std::stop_token& stop, Progress& progress) {
    Diagnostics diagnostics;
    std::vector<scenario::KeyValue> changes;
    for (const auto& [key, value] : settings) {
      changes.push_back({key, value, {"plan", 0, 0}});
    }
    auto question = plan::question_of(asked.base_with_changes(), changes, diagnostics);
    if (!question) {
      throw Problems{diagnostics};
    }
    question->threads = threads;
    question->trials = trials;
    question->keeps_data = asked.keeps_data();
    question->search = asked.search();
    question->version = cli::program_version();
    question->stop = stop;
    question->progress = [&progress](plan::Stage, std::int64_t done, std::int64_t all) {
      progress.done = done;
      progress.all = all;
    };
    const auto plan = plan::make_plan(*question, diagnostics);
    if (!plan) {
      throw Problems{diagnostics};
    }
    return plan::to_json(*plan);
  });
}

import_config::LoggedSteps read_log(const std::string& name, const std::stop_token& stop) {
  Diagnostics diagnostics;
  const auto file = import_config::read_config_file(name, diagnostics, {std::nullopt, {}, stop});
  std::string why;
  const auto steps =
      file ? import_config::steps_of_log(*file, {}, diagnostics, &why) : std::nullopt;
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  if (!steps) {
    throw Error(ErrorKind::io, name + ": " + why);
  }
  return *steps;
}

// In the order of orrery.LoggedSteps.
nb::tuple logged_steps(const std::string& name) {
  const import_config::LoggedSteps steps = attended(
      nb::none(), [&](const std::stop_token& stop, Progress&) { return read_log(name, stop); });
  return nb::make_tuple(steps.count, in_seconds(steps.median), in_seconds(steps.tenth),
                        in_seconds(steps.ninetieth), steps.tflops, steps.tokens_per_second,
                        steps.slower ? std::optional(steps.slower->from) : std::nullopt);
}

Scenario imported(const std::vector<std::string>& names, const Settings& settings,
                  const std::vector<std::string>& profiles, const std::string& model_class,
                  const std::vector<std::string>& ignored, const std::string& pattern,
                  const std::string& failures) {
  return attended(nb::none(), [&](const std::stop_token& stop, Progress&) {
    return Scenario::imported({names, settings, profiles, model_class, ignored, pattern, failures},
                              stop);
  });
}

// Rows as (group, name, first, second, change, relative, within error).
nb::list compare(const Answered& a, const Answered& b) {
  nb::list rows;
  Diagnostics ignored;
  const report::Figures both[] = {report::figures_of(a.evaluation),
                                  report::figures_of(b.evaluation)};
  const std::optional<report::ChangeError> errors[] = {
      std::nullopt, plan::change_error({a.scenario, a.evaluation}, {b.scenario, b.evaluation},
                                       a.search, ignored)};
  for (const report::DifferenceRow& row : report::differences(both, errors)) {
    const report::Compared& second = row.values[1];
    rows.append(nb::make_tuple(std::string(row.group), std::string(row.name), row.values[0].value,
                               second.value, second.change, second.relative, second.within_error));
  }
  return rows;
}

// In the order of orrery.Estimate.
nb::tuple estimate_of(Scenario& scenario) {
  const plan::Estimate estimate = scenario.estimate();
  return nb::make_tuple(in_seconds(to_seconds(estimate.step_time)), estimate.tokens_per_second,
                        estimate.mfu, in_bytes(estimate.peak_memory), in_bytes(estimate.headroom),
                        estimate.verdict == plan::Verdict::fits);
}

nb::list rows_of(const Diagnostics& diagnostics) {
  nb::list rows;
  for (const Diagnostic& d : diagnostics.all()) {
    const char* severity = d.severity == Severity::error     ? "error"
                           : d.severity == Severity::warning ? "warning"
                                                             : "note";
    rows.append(nb::make_tuple(severity, d.where.file, d.where.line, d.where.column, d.key,
                               d.message, d.allowed, to_string(d)));
  }
  return rows;
}

void raise(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Problems& problems) {
    const nb::object type = nb::module_::import_("orrery").attr("ScenarioError");
    const nb::object error = type(rows_of(problems.diagnostics));
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (const Error& error) {
    const bool interrupted = error.kind() == ErrorKind::interrupted;
    PyErr_SetString(interrupted ? PyExc_KeyboardInterrupt : PyExc_OSError, error.what());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  nb::register_exception_translator(raise);
  m.def("version", [] { return std::string(cli::program_version()); });
  m.def("shipped", [] {
    std::vector<std::string> names;
    for (const evaluate::ShippedScenario& shipped : evaluate::shipped_scenarios()) {
      names.push_back(shipped.name);
    }
    return names;
  });
  nb::class_<Scenario>(m, "Scenario")
      .def_static("named", &Scenario::named)
      .def_static("of_text", &Scenario::of_text)
      .def_static("imported", &imported)
      .def("copy", [](const Scenario& scenario) { return Scenario(scenario); })
      .def("set", &Scenario::set)
      .def("keep", &Scenario::keep)
      .def("get", &Scenario::get)
      .def("estimate", &estimate_of)
      .def("check",
           [](const Scenario& scenario) {
             Diagnostics diagnostics;
             static_cast<void>(scenario.read(diagnostics));
             return rows_of(diagnostics);
           })
      .def_prop_ro("import_report", &Scenario::import_report)
      .def_prop_ro("changes", &Scenario::changes)
      .def_prop_ro("profiles", &Scenario::profiles)
      .def_prop_ro("text", &Scenario::text)
      .def_prop_ro("file", &Scenario::file);
  nb::class_<Answered>(m, "Evaluation")
      .def("json", [](const Answered& a) { return report::to_json(a.evaluation); })
      .def("text", [](const Answered& a) { return report::to_text(a.evaluation, {}); });
  m.def("run", &run, nb::arg("scenario"), nb::arg("threads"), nb::arg("trials").none(),
        nb::arg("seed").none(), nb::arg("progress").none());
  m.def("sweep", &run_sweep, nb::arg("scenario"), nb::arg("vary"), nb::arg("metrics"),
        nb::arg("zip"), nb::arg("threads"), nb::arg("trials").none(), nb::arg("progress").none(),
        nb::arg("number"), nb::arg("of"));
  m.def("plan", &run_plan, nb::arg("scenario"), nb::arg("settings"), nb::arg("threads"),
        nb::arg("trials").none(), nb::arg("progress").none());
  m.def("compare", &compare);
  m.def("logged_steps", &logged_steps);
}

}  // namespace orrery::python
