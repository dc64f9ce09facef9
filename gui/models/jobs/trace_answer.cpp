#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "gui/models/tables/comparison.hpp"
#include "gui/timeline/side_by_side.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

Cell time_cell(Seconds time) { return number(Dimension::time, in_seconds(time)); }

Table rows_table(const QString& title, const std::vector<evaluate::MeasuredRow>& rows,
                 const evaluate::MeasuredComparison& comparison, bool total) {
  Table table{
      title, {"one GPU, one step", "predicted", "measured", "difference", "of the step"}, {}};
  const Seconds whole = comparison.measured.step_time;
  const auto add = [&](std::string_view label, Seconds predicted, Seconds measured, Tone tone) {
    const Seconds difference = measured - predicted;
    const double change = in_seconds(difference);
    table.rows.push_back(
        {{.text = qt(label), .tone = tone},
         time_cell(predicted),
         time_cell(measured),
         {.text = change_shown(Dimension::time, change), .order = change, .tone = Tone::strong},
         number(Dimension::fraction, difference / whole)});
  };
  for (const evaluate::MeasuredRow& row : rows) {
    add(row.label, row.predicted, row.measured, Tone::plain);
  }
  if (total) {
    add("step", comparison.predicted_step, whole, Tone::strong);
  }
  return table;
}

// The measured step without anything to compare it with: one table by category, one by kernel.
Table measured_table(const QString& title, const std::function<QString(std::size_t)>& name_of,
                     std::span<const Seconds> times, Seconds step) {
  Table table{title, {"one GPU, one step", "measured", "share", ""}, {}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (const double share = times[i] / step; share > 0.0) {
      table.rows.push_back({{.text = name_of(i)},
                            time_cell(times[i]),
                            number(Dimension::fraction, share),
                            {.bar = share}});
    }
  }
  return table;
}

Table communication_table(const trace::MeasuredMean& mean) {
  Table table{"Communication", {"axis", "operation", "times", "busy", "hidden", "exposed"}, {}};
  for (const trace::OperationMean& one : mean.operations) {
    table.rows.push_back({{.text = qt(to_string(one.axis))},
                          {.text = qt(to_string(one.operation))},
                          {.text = qt(format_count(one.count)), .order = one.count},
                          time_cell(one.busy),
                          time_cell(one.hidden),
                          time_cell(one.busy - one.hidden)});
  }
  return table;
}

Table unknown_table(const trace::MeasuredTrace& measured) {
  Table table{"Unknown kernels", {"of all kernel time", "count", "time", "kernel"}, {}};
  for (const trace::UnknownKernel& kernel : measured.unknown) {
    table.rows.push_back(
        {number(Dimension::fraction, kernel.share),
         {.text = qt(format_integer(kernel.count)), .order = static_cast<double>(kernel.count)},
         time_cell(to_seconds(SimTime{kernel.time})),
         {.text = qt(kernel.name), .tip = qt(kernel.name)}});
  }
  return table;
}

Table steps_table(const trace::MeasuredTrace& measured) {
  Table table{"Steps", {"rank", "step", "length"}, {}};
  for (const trace::MeasuredRank& rank : measured.ranks) {
    for (const trace::MeasuredStep& one : rank.steps) {
      table.rows.push_back({{.text = qt(rank.label)},
                            {.text = qt(one.name)},
                            time_cell(to_seconds(SimTime{one.span.length()}))});
    }
  }
  return table;
}

Table notes_table(const TraceFiles& files, const TraceAnswer& answer) {
  Table table{"Notes", {"what these figures rest on"}, {}};
  const auto add = [&table](const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      table.rows.push_back({{.text = qt(note), .tip = qt(note)}});
    }
  };
  if (answer.comparison) {
    add(answer.comparison->notes);
  }
  add(answer.measured.notes);
  for (const timeline::ReadResult& file : files.files) {
    add(file.notes);
  }
  return table;
}

const timeline::Level* level_of(const OutcomePtr& prediction, std::string_view name) {
  if (!prediction) {
    return nullptr;
  }
  const auto found = std::ranges::find(prediction->levels, name, &timeline::Level::name);
  return found == prediction->levels.end() ? nullptr : &*found;
}

// The measured ranks, and below them this level of the prediction.
std::shared_ptr<const timeline::Store> ranks_beside(const TraceQuestion& question,
                                                    const trace::GpuTraces& traces,
                                                    const TraceAnswer& answer,
                                                    const timeline::Level* predicted,
                                                    trace::AxisFinder& axes) {
  timeline::SideBySide sides;
  for (const trace::MeasuredRank& rank : answer.measured.ranks) {
    for (const trace::MeasuredStep& one : rank.steps) {
      if (qt(one.name) == answer.drawn_step) {
        sides.add({"measured, " + rank.label,
                   traces[rank.trace],
                   rank.device,
                   {one.span.begin, one.span.end}},
                  axes);
        break;
      }
    }
  }
  if (predicted != nullptr) {
    sides.add({"predicted, " + question.prediction_title.toStdString(), predicted->store,
               predicted->store->range()});
  }
  return sides.build();
}

// The whole step with the passes of the prediction, and closer to it with its operations.
timeline::Levels drawn_beside(const TraceQuestion& question, const trace::GpuTraces& traces,
                              const TraceAnswer& answer, trace::AxisFinder& axes) {
  auto step = ranks_beside(question, traces, answer, level_of(question.prediction, "step"), axes);
  if (!step || step->slices().empty()) {
    return {};
  }
  const timeline::TimeRange whole = step->range();
  timeline::Levels levels = {{answer.drawn_step.toStdString(),
                              "step",
                              std::move(step),
                              {},
                              "a measured step, from the begin of its work"}};
  if (const timeline::Level* operations = level_of(question.prediction, "operations")) {
    const std::int64_t length = std::max<std::int64_t>(whole.end, 1);
    levels.push_back({operations->name, "",
                      ranks_beside(question, traces, answer, operations, axes),
                      timeline::Repetition({{{0, length}, 0}}, length),
                      "kernels of the measured step, operations of the predicted one",
                      timeline::longest_window(*operations)});
  }
  return levels;
}

}  // namespace

TraceFilesPtr read_trace_files(const QStringList& paths, const std::stop_token& stop,
                               const LatestTask::Report& report) {
  constexpr double kShown = 1000.0;
  auto out = std::make_shared<TraceFiles>();
  for (const QString& path : paths) {
    if (path.endsWith(".pftrace")) {
      out->problem =
          path + " is a file of Perfetto alone: export the trace as .json to open it here.";
      return out;
    }
    timeline::ReadOptions options;
    options.stop = stop;
    const auto done = static_cast<double>(out->files.size());
    const auto all = static_cast<double>(paths.size());
    options.progress = [&](double share) {
      if (report) {
        report(std::llround(kShown * (done + share) / all), static_cast<std::int64_t>(kShown));
      }
    };
    try {
      out->files.push_back(timeline::read_chrome_trace(path.toStdString(), options));
    } catch (const Error& error) {
      out->problem = qt(error.what());
      return out;
    }
    if (out->files.back().cancelled) {
      throw Error(ErrorKind::interrupted, "cancelled");
    }
    if (!out->files.back().problem.empty()) {
      out->problem = qt(out->files.back().problem);
      return out;
    }
  }
  return out;
}

TraceAnswerPtr trace_answer(const TraceQuestion& question) {
  auto answer = std::make_shared<TraceAnswer>();
  trace::GpuTraces traces;
  for (const timeline::ReadResult& file : question.files->files) {
    if (file.activities) {
      traces.push_back(file.activities);
    }
  }
  trace::MeasureOptions options;
  const report::Evaluation* evaluation =
      question.prediction ? question.prediction->evaluation.get() : nullptr;
  if (evaluation != nullptr) {
    options.degrees = evaluate::degrees_of(*evaluation);
  }
  answer->measured = trace::measure(traces, options);
  const auto mean = trace::mean_of(answer->measured, question.step);
  if (!mean) {
    answer->verdict = traces.empty() ? QString(
                                           "There is no work of a GPU in it (events of category "
                                           "kernel, gpu_memcpy or gpu_memset): the timeline "
                                           "shows all of it.")
                                     : QString("No such step is in it.");
    return answer;
  }
  if (evaluation != nullptr) {
    answer->comparison = evaluate::compare_measured(*evaluation, answer->measured, question.step);
  }
  std::vector<Table> tables;
  if (answer->comparison) {
    answer->verdict = qt(answer->comparison->verdict);
    const std::int64_t gpus = evaluation->step.gpus;
    const auto ranks = static_cast<std::int64_t>(answer->measured.ranks.size());
    const std::int64_t job = answer->measured.world_size.value_or(ranks);
    if (job != gpus) {
      answer->warning = QString(
                            "Ranks of the traced job: %1; GPUs of the prediction: %2. What they "
                            "differ by may come from their size.")
                            .arg(qt(format_integer(job)), qt(format_integer(gpus)));
    }
    tables.push_back(
        rows_table("Categories", answer->comparison->ledger, *answer->comparison, true));
    tables.push_back(
        rows_table("Kernels", answer->comparison->kernels, *answer->comparison, false));
  } else {
    answer->verdict = QString("The measured step takes %1, mean of %2.")
                          .arg(qt(format_time(mean->step_time)))
                          .arg(mean->steps);
    tables.push_back(measured_table(
        "Categories",
        [](std::size_t c) { return qt(report::label_of(static_cast<step::StepCategory>(c))); },
        mean->categories, mean->step_time));
    tables.push_back(measured_table(
        "Kernels", [](std::size_t w) { return qt(trace::kWorkNames[w]); }, mean->work,
        mean->step_time));
  }
  tables.push_back(communication_table(*mean));
  tables.push_back(unknown_table(answer->measured));
  tables.push_back(steps_table(answer->measured));
  tables.push_back(notes_table(*question.files, *answer));
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  answer->tables = std::move(tables);
  answer->drawn_step = qt(trace::median_step(answer->measured, question.step));
  trace::AxisFinder axes(options.degrees, options.groups);
  answer->beside = drawn_beside(question, traces, *answer, axes);
  return answer;
}

}  // namespace orrery::gui
