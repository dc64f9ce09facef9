#include "sim/answer/report/utilisation_losses.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::report {

namespace {

using Kind = UtilisationRowKind;

std::optional<double> value_of(const Evaluation& evaluation, MetricId id) {
  const MetricValue* metric = evaluation.metrics.find(id);
  return metric != nullptr ? std::optional(metric->value) : std::nullopt;
}

class Waterfall {
 public:
  void total(std::string_view category, std::string_view label, double value) {
    rows_.push_back({Kind::total, category, label, 0.0, value, value});
    level_ = value;
  }

  // From here to `after`, whichever way that is.
  void step_to(std::string_view category, std::string_view label, double after) {
    const Kind kind = after > level_ ? Kind::gain : Kind::loss;
    rows_.push_back({kind, category, label, level_, after, std::abs(after - level_)});
    level_ = after;
  }

  void lose(std::string_view category, std::string_view label, double share) {
    if (share > 0.0) {
      step_to(category, label, level_ - share);
    }
  }

  [[nodiscard]] std::vector<UtilisationRow> take() { return std::move(rows_); }

 private:
  std::vector<UtilisationRow> rows_;
  double level_ = 0.0;
};

}  // namespace

std::vector<UtilisationRow> step_utilisation_rows(const Evaluation& evaluation) {
  const auto mfu = value_of(evaluation, MetricId::mfu);
  if (evaluation.step.given || !mfu) {
    return {};
  }
  const double computed = value_of(evaluation, MetricId::mfu_causal).value_or(*mfu);
  Waterfall fall;
  fall.total("peak", "dense peak of the GPUs", 1.0);
  for (const LedgerRow& row : step_ledger_rows(evaluation)) {
    if (row.category != to_string(step::StepCategory::compute)) {
      fall.lose(row.category, row.label, row.share);
    }
  }
  fall.step_to("kernels", "kernels slower than the peak", computed);
  if (*mfu != computed) {
    fall.step_to("mask", "masked attention that MFU counts", *mfu);
  }
  fall.total("mfu", "MFU of a step", *mfu);
  return fall.take();
}

std::vector<UtilisationRow> run_utilisation_rows(const Evaluation& evaluation) {
  const auto mfu = value_of(evaluation, MetricId::mfu);
  if (!evaluation.run || !mfu) {
    return {};
  }
  Waterfall fall;
  fall.total("mfu", "MFU of a step", *mfu);
  double productive = 0.0;
  for (const LedgerRow& row : run_ledger_rows(evaluation)) {
    if (row.category == to_string(run::RunCategory::productive)) {
      productive = row.share;
    } else {
      fall.lose(row.category, row.label, *mfu * row.share);
    }
  }
  fall.total("run", "MFU of the run, spares included", *mfu * productive);
  return fall.take();
}

}  // namespace orrery::report
