// How does Python reach the simulator? Texts in, evaluations out: the key table reads what is set,
// the entry points of sim/ answer, and the reports that the commands print carry the figures.
//
// Work runs in a thread of its own without the interpreter's lock, while the caller's thread looks
// for Ctrl-C and calls the progress function a few times a second.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/build_info.hpp"
#include "sim/evaluate/catalog.hpp"
#include "sim/evaluate/evaluate.hpp"
#include "sim/evaluate/shipped_scenarios.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/training_log.hpp"
#include "sim/plan/make_plan.hpp"
#include "sim/plan/result/plan_report.hpp"
#include "sim/plan/result/winner_file.hpp"
#include "sim/plan/search/step_estimator.hpp"
#include "sim/report/files/difference.hpp"
#include "sim/report/files/json_report.hpp"
#include "sim/report/text/text_report.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/sweep/run_sweep.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace nb = nanobind;

namespace orrery::python {

namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

// Becomes orrery.ScenarioError.
struct Problems {
  Diagnostics diagnostics;
};

struct Progress {
  std::atomic<std::int64_t> done{0};
  std::atomic<std::int64_t> all{0};
};

// `work` in another thread. After Ctrl-C, or an exception of the progress function, it is asked to
// stop and waited for; then that exception is raised.
template <typename Work>
auto attended(const nb::object& callback, const Work& work) {
  using Result = decltype(work(std::stop_token(), std::declval<Progress&>()));
  std::stop_source stop;
  Progress progress;
  std::future<Result> result;
  {
    const nb::gil_scoped_release release;
    result = std::async(std::launch::async, [&] { return work(stop.get_token(), progress); });
  }
  constexpr std::chrono::milliseconds kLook{50};
  std::int64_t told = -1;
  const auto ready = [&result](std::chrono::milliseconds wait) {
    const nb::gil_scoped_release release;
    return result.wait_for(wait) == std::future_status::ready;
  };
  const auto give_up = [&]() {
    stop.request_stop();
    const nb::gil_scoped_release release;
    result.wait();
  };
  while (!ready(kLook)) {
    if (PyErr_CheckSignals() != 0) {
      nb::python_error raised;
      give_up();
      throw raised;
    }
    const std::int64_t done = progress.done;
    if (!callback.is_none() && done != told) {
      told = done;
      try {
        callback(done, progress.all.load());
      } catch (nb::python_error&) {
        give_up();
        throw;
      }
    }
  }
  if (!callback.is_none() && progress.all > 0) {
    callback(progress.done.load(), progress.all.load());
  }
  return result.get();
}

std::function<void(std::int64_t, std::int64_t)> recorder(Progress& progress) {
  return [&progress](std::int64_t done, std::int64_t all) {
    progress.done = done;
    progress.all = all;
  };
}

// A scenario file with keys replaced: what --set does.
class Scenario {
 public:
  static Scenario named(const std::string& word) {
    const evaluate::FoundScenario found = evaluate::find_scenario(word);
    if (!found.problem.empty()) {
      throw Error(ErrorKind::io, found.problem);
    }
    return of_text(read_file(found.path, kMostBytes), found.path.string());
  }

  static Scenario of_text(const std::string& text, const std::string& file) {
    Diagnostics diagnostics;
    auto base = scenario::ScenarioTemplate::from_text(text, file, diagnostics);
    if (!base) {
      throw Problems{diagnostics};
    }
    return {text, *std::move(base)};
  }

  void set(const std::string& key, const std::string& value) {
    Diagnostics diagnostics;
    const SourceLocation where{"set", 0, 0};
    const auto facts = scenario::find_key(key, where, diagnostics);
    scenario::KeyValue change{facts ? facts->path : key, value, where};
    if (facts) {
      base_.check(change, diagnostics);
    }
    if (diagnostics.has_errors()) {
      throw Problems{diagnostics};
    }
    std::erase_if(changes_, [&change](const auto& old) { return old.key == change.key; });
    changes_.push_back(std::move(change));
  }

  [[nodiscard]] std::optional<std::string> get(const std::string& key) const {
    Diagnostics diagnostics;
    if (!scenario::find_key(key, {file(), 0, 0}, diagnostics)) {
      throw Problems{diagnostics};
    }
    return scenario::value_of(read(diagnostics), key);
  }

  // The warnings of the reader stay in `diagnostics`.
  [[nodiscard]] scenario::Scenario read(Diagnostics& diagnostics) const {
    auto read = base_.with(changes_, diagnostics);
    if (!read) {
      throw Problems{diagnostics};
    }
    return *std::move(read);
  }

  [[nodiscard]] const std::string& file() const {
    return base_.file();
  }

  // As a file would state it; nothing of what was set since.
  [[nodiscard]] const std::string& text() const {
    return text_;
  }

  [[nodiscard]] const hardware::ProfileSearch& search() const {
    return search_;
  }

  // The step alone, as `orrery run` says it; what layouts share is kept for the next one.
  [[nodiscard]] plan::Estimate estimate() {
    if (!estimator_) {
      estimator_ = std::make_shared<plan::StepEstimator>();
    }
    Diagnostics diagnostics;
    const scenario::Scenario scenario = read(diagnostics);
    const auto estimate = estimator_->estimate(scenario, changes_, search(), diagnostics);
    if (!estimate) {
      throw Problems{diagnostics};
    }
    return *estimate;
  }

  // The text with what was set in it, for what varies more keys.
  [[nodiscard]] scenario::ScenarioTemplate base_with_changes() const {
    if (changes_.empty()) {
      return base_;
    }
    Diagnostics diagnostics;
    const auto text = plan::with_changes(text_, changes_, diagnostics);
    auto base =
        text ? scenario::ScenarioTemplate::from_text(*text, file(), diagnostics) : std::nullopt;
    if (!base) {
      throw Problems{diagnostics};
    }
    return *std::move(base);
  }

 private:
  Scenario(std::string text, scenario::ScenarioTemplate base)
      : text_(std::move(text)),
        base_(std::move(base)),
        search_(evaluate::profile_search(base_.file(), {})) {}

  std::string text_;
  scenario::ScenarioTemplate base_;
  hardware::ProfileSearch search_;
  std::vector<scenario::KeyValue> changes_;
  std::shared_ptr<plan::StepEstimator> estimator_;  // used under the interpreter's lock
};

report::Evaluation run(const Scenario& asked,
                       int threads,
                       std::optional<std::int64_t> trials,
                       std::optional<std::uint64_t> seed,
                       const nb::object& callback) {
  return attended(callback, [&](const std::stop_token& stop, Progress& progress) {
    Diagnostics diagnostics;
    const scenario::Scenario scenario = asked.read(diagnostics);
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
    return *std::move(evaluation);
  });
}

using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

sweep::Sweep make_sweep(const Scenario& asked,
                        const Axes& axes,
                        const std::vector<std::string>& metrics,
                        bool zip,
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
      sweep::check_values(sweep, diagnostics);
    }
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  return sweep;
}

std::string run_sweep(const Scenario& asked,
                      const nb::list& vary,
                      const std::vector<std::string>& metrics,
                      bool zip,
                      int threads,
                      std::optional<std::int64_t> trials,
                      const nb::object& callback) {
  Axes axes;
  for (const nb::handle item : vary) {
    axes.emplace_back(nb::cast<std::string>(item[0]), nb::cast<std::vector<std::string>>(item[1]));
  }
  return attended(callback, [&](const std::stop_token& stop, Progress& progress) {
    const sweep::Sweep sweep = make_sweep(asked, axes, metrics, zip, trials);
    sweep::Team alone;
    const sweep::SweepOutcome outcome = sweep::run_sweep(
        sweep, alone, {.threads = threads, .stop = stop, .progress = recorder(progress)});
    if (!outcome.complete) {
      throw Error(ErrorKind::interrupted, "interrupted");
    }
    return sweep::to_json(sweep, outcome.results);
  });
}

std::string run_plan(const Scenario& asked,
                     const std::vector<std::pair<std::string, std::string>>& settings,
                     int threads,
                     std::optional<std::int64_t> trials,
                     const nb::object& callback) {
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

// Files and logs of other programs as a scenario; what none of them says is an error.
Scenario imported(const std::vector<std::string>& names,
                  const std::vector<std::pair<std::string, std::string>>& settings) {
  Diagnostics diagnostics;
  std::vector<import_config::ConfigFile> files;
  for (const std::string& name : names) {
    if (auto file = import_config::read_config_file(name, diagnostics)) {
      files.push_back(*std::move(file));
    }
  }
  import_config::ImportOptions options;
  for (const auto& [key, value] : settings) {
    options.settings.push_back({key, value, "settings"});
  }
  import_config::ImportResult result;
  if (!diagnostics.has_errors()) {
    result = import_config::import_configs(files, options, diagnostics);
  }
  for (const import_config::AskedKey& asked : result.asked) {
    diagnostics.error(
        {}, asked.path, asked.why.empty() ? "stands in none of the files" : asked.why, asked.what);
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  return Scenario::of_text(result.scenario, names.front());
}

// In the order of orrery.LoggedSteps.
nb::tuple logged_steps(const std::string& name) {
  const std::string text = read_file(name, import_config::kMostLogBytes);
  const auto format = import_config::recognise(text);
  const auto steps = format ? import_config::steps_of_log(text, name, *format) : std::nullopt;
  if (!steps) {
    throw Error(ErrorKind::io, name + ": holds no time of a step");
  }
  return nb::make_tuple(steps->count,
                        in_seconds(steps->median),
                        in_seconds(steps->tenth),
                        in_seconds(steps->ninetieth),
                        steps->tflops);
}

// Rows as (group, name, first, second, change, relative).
nb::list compare(const report::Evaluation& a, const report::Evaluation& b) {
  nb::list rows;
  const report::Figures both[] = {report::figures_of(a), report::figures_of(b)};
  for (const report::DifferenceRow& row : report::differences(both)) {
    const report::Compared& second = row.values[1];
    rows.append(nb::make_tuple(std::string(row.group),
                               std::string(row.name),
                               row.values[0].value,
                               second.value,
                               second.change,
                               second.relative));
  }
  return rows;
}

// In the order of orrery.Estimate.
nb::tuple estimate_of(Scenario& scenario) {
  const plan::Estimate estimate = scenario.estimate();
  return nb::make_tuple(in_seconds(to_seconds(estimate.step_time)),
                        estimate.tokens_per_second,
                        estimate.mfu,
                        in_bytes(estimate.peak_memory),
                        in_bytes(estimate.headroom),
                        estimate.verdict == plan::Verdict::fits);
}

nb::list rows_of(const Diagnostics& diagnostics) {
  nb::list rows;
  for (const Diagnostic& d : diagnostics.all()) {
    const char* severity = d.severity == Severity::error     ? "error"
                           : d.severity == Severity::warning ? "warning"
                                                             : "note";
    rows.append(nb::make_tuple(severity,
                               d.where.file,
                               d.where.line,
                               d.where.column,
                               d.key,
                               d.message,
                               d.allowed,
                               to_string(d)));
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
      .def("get", &Scenario::get)
      .def("estimate", &estimate_of)
      .def("check",
           [](const Scenario& scenario) {
             Diagnostics diagnostics;
             static_cast<void>(scenario.read(diagnostics));
             return rows_of(diagnostics);
           })
      .def_prop_ro("text", &Scenario::text)
      .def_prop_ro("file", &Scenario::file);
  nb::class_<report::Evaluation>(m, "Evaluation")
      .def("json", [](const report::Evaluation& e) { return report::to_json(e); })
      .def("text", [](const report::Evaluation& e) { return report::to_text(e, {}); });
  m.def("run",
        &run,
        nb::arg("scenario"),
        nb::arg("threads"),
        nb::arg("trials").none(),
        nb::arg("seed").none(),
        nb::arg("progress").none());
  m.def("sweep",
        &run_sweep,
        nb::arg("scenario"),
        nb::arg("vary"),
        nb::arg("metrics"),
        nb::arg("zip"),
        nb::arg("threads"),
        nb::arg("trials").none(),
        nb::arg("progress").none());
  m.def("plan",
        &run_plan,
        nb::arg("scenario"),
        nb::arg("settings"),
        nb::arg("threads"),
        nb::arg("trials").none(),
        nb::arg("progress").none());
  m.def("compare", &compare);
  m.def("logged_steps", &logged_steps);
}

}  // namespace orrery::python
