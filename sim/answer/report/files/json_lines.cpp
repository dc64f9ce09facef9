#include "sim/answer/report/files/json_lines.hpp"

#include "sim/answer/report/files/json_report.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::report {

namespace {

// A line that starts with the scenario, then the given fields, then those of `rest`.
std::string table_line(const Evaluation& evaluation, const Json& fields, const Json& rest) {
  Json line = {{"scenario", evaluation.echo.name}};
  line.update(fields);
  line.update(rest);
  return json_line(line) + "\n";
}

Json arguments_of(const Trace& trace, const TraceSlice& slice) {
  Json arguments = Json::object();
  for (const TraceArgument& argument : trace.arguments_of(slice)) {
    Json& value = arguments[trace.name(argument.key)];
    if (argument.is_word) {
      value = trace.name(static_cast<NameId>(argument.value));
    } else {
      value = argument.value;
    }
  }
  return arguments;
}

}  // namespace

std::string metrics_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const auto& [name, metric] : json["metrics"].items()) {
    lines += table_line(evaluation, {{"metric", name}}, metric);
  }
  return lines;
}

std::string ledger_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const char* ledger : {"step", "run"}) {
    for (const Json& row : json[std::string(ledger) + "_ledger"]) {
      lines += table_line(evaluation, {{"ledger", ledger}}, row);
    }
  }
  return lines;
}

std::string memory_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const Json& stage : json["memory"]) {
    lines += table_line(evaluation, Json::object(), stage);
  }
  return lines;
}

std::string to_json_lines(const Trace& trace) {
  std::vector<std::string> paths;
  for (TrackId i = 0; i < trace.tracks.size(); ++i) {
    paths.push_back(trace.path_of(i));
  }
  std::string lines;
  for (const TraceSlice& slice : trace.slices) {
    lines += json_line({{"type", "slice"},
                        {"track", paths[slice.track]},
                        {"name", trace.name(slice.name)},
                        {"category", trace.name(slice.category)},
                        {"begin_ns", slice.begin.ns},
                        {"duration_ns", (slice.end - slice.begin).ns},
                        {"arguments", arguments_of(trace, slice)}}) +
             "\n";
  }
  for (const TraceMark& mark : trace.marks) {
    lines += json_line({{"type", "mark"},
                        {"track", paths[mark.track]},
                        {"name", trace.name(mark.name)},
                        {"at_ns", mark.at.ns}}) +
             "\n";
  }
  for (const TraceSample& sample : trace.samples) {
    lines += json_line({{"type", "sample"},
                        {"track", paths[sample.counter]},
                        {"unit", trace.tracks[sample.counter].unit},
                        {"at_ns", sample.at.ns},
                        {"value", sample.value}}) +
             "\n";
  }
  for (const TraceFlow& flow : trace.flows) {
    lines += json_line({{"type", "flow"},
                        {"name", trace.name(flow.name)},
                        {"slices", trace.slices_of(flow)}}) +
             "\n";
  }
  return lines;
}

}  // namespace orrery::report
