#include "sim/answer/report/files/prometheus.hpp"

#include <fmt/format.h>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/printed_quantiles.hpp"

namespace orrery::report {

namespace {

std::string label_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      escaped += '\\';
    }
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string metrics_prometheus(const Evaluation& evaluation) {
  const std::string scenario = fmt::format("scenario=\"{}\"", label_text(evaluation.echo.name));
  std::string text;
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    const auto line = [&](std::string_view more, double number) {
      text += fmt::format("orrery_{}{{{}{}}} {}\n", metric.json_key, scenario, more, number);
    };
    text += fmt::format("# HELP orrery_{} {}\n# TYPE orrery_{} gauge\n", metric.json_key,
                        metric.meaning, metric.json_key);
    line("", value->value);
    if (value->trials) {
      for (const double quantile : {kLowQuantile, kMedian, kHighQuantile}) {
        line(fmt::format(",quantile=\"{}\"", quantile), value->trials->quantile(quantile));
      }
    }
    if (const auto band = metric_band(evaluation, metric.id)) {
      line(",band=\"low\"", band->low);
      line(",band=\"high\"", band->high);
    }
  }
  return text;
}

}  // namespace orrery::report
