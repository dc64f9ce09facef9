#include "sim/answer/report/files/behaviour.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::report {

namespace {

std::string line_of(std::string_view name, double value) {
  return fmt::format("{} {:.9g}\n", name, value);
}

std::string ledger_text(std::string_view ledger, const std::vector<LedgerRow>& rows) {
  std::string text;
  for (const LedgerRow& row : rows) {
    text += line_of(fmt::format("{} {}", ledger, row.category), in_seconds(row.gpu_time));
  }
  return text;
}

}  // namespace

std::string behaviour_text(const Evaluation& evaluation) {
  constexpr std::array<double, 3> kQuantiles = {0.1, 0.5, 0.9};
  std::string text = fmt::format("fits {}\n", evaluation.feasible);
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    text += line_of(metric.json_key, value->value);
    if (value->trials) {
      for (const double q : kQuantiles) {
        text += line_of(fmt::format("{} {}", metric.json_key, q), value->trials->quantile(q));
      }
    }
  }
  text += ledger_text("step", step_ledger_rows(evaluation));
  text += ledger_text("run", run_ledger_rows(evaluation));
  for (std::size_t stage = 0; stage < evaluation.step.memory.size(); ++stage) {
    text +=
        line_of(fmt::format("memory {}", stage), in_bytes(evaluation.step.memory[stage].peak()));
  }
  return text;
}

std::string signature_of(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return sha256_hex(text).substr(0, kDigits);
}

}  // namespace orrery::report
