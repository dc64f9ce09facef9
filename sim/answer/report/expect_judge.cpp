#include <fmt/core.h>

#include "sim/answer/report/expect.hpp"
#include "sim/base/percent.hpp"

namespace orrery::report {

namespace {

bool holds(Comparison comparison, double value, double bound) {
  switch (comparison) {
    case Comparison::at_least:
      return value >= bound;
    case Comparison::at_most:
      return value <= bound;
    case Comparison::above:
      return value > bound;
    case Comparison::below:
      return value < bound;
    case Comparison::equal:
      return value == bound;
    case Comparison::not_equal:
      return value != bound;
  }
  return false;
}

std::string_view words(Comparison comparison) {
  switch (comparison) {
    case Comparison::at_least:
      return "at least";
    case Comparison::at_most:
      return "at most";
    case Comparison::above:
      return "above";
    case Comparison::below:
      return "below";
    case Comparison::equal:
      return "exactly";
    case Comparison::not_equal:
      return "not";
  }
  return {};
}

Estimate exactly(double value) { return {value, {value, value}}; }

// Share of the trials for which the inner comparison holds.
Estimate probability(const run::Distribution& trials, const Operand& operand) {
  const std::int64_t hits = trials.count_if(
      [&operand](double x) { return holds(operand.inner, x, operand.inner_bound); });
  return {static_cast<double>(hits) / static_cast<double>(trials.count()),
          run::ci95_of_fraction(hits, trials.count())};
}

Estimate estimate_of(const MetricValue& metric, const Operand& operand) {
  if (!metric.trials) {
    const bool inner = holds(operand.inner, metric.value, operand.inner_bound);
    return exactly(operand.kind == OperandKind::probability ? (inner ? 1.0 : 0.0) : metric.value);
  }
  switch (operand.kind) {
    case OperandKind::plain:
      return exactly(metric.value);
    case OperandKind::quantile:
      return {metric.trials->quantile(operand.quantile),
              metric.trials->ci95_of_quantile(operand.quantile)};
    case OperandKind::mean:
      return {metric.value, metric.trials->ci95_of_mean()};
    case OperandKind::probability:
      return probability(*metric.trials, operand);
  }
  return {};
}

struct Judged {
  Verdict verdict = Verdict::fail;
  std::string detail;
  std::optional<double> value;
};

Judged judge_comparison(const ExpectNode& node, const ExpectContext& context) {
  const MetricValue* metric = context.metrics.find(node.operand.metric);
  const std::string name = operand_text(node.operand);
  if (metric == nullptr) {
    return {Verdict::fail, fmt::format("{} is not known: the scenario does not ask for it", name),
            std::nullopt};
  }
  if (context.gave_up > 0 && info(node.operand.metric).stochastic) {
    return {Verdict::undecided,
            fmt::format("{} cannot be judged: {} trials gave up before the run was done", name,
                        context.gave_up),
            std::nullopt};
  }
  const Estimate found = estimate_of(*metric, node.operand);
  const Dimension dimension = dimension_of(node.operand);
  const bool point = holds(node.comparison, found.value, node.bound);
  const bool low = holds(node.comparison, found.ci95.low, node.bound);
  const bool high = holds(node.comparison, found.ci95.high, node.bound);
  Judged judged;
  judged.value = found.value;
  judged.verdict = point ? Verdict::pass : Verdict::fail;
  judged.detail = fmt::format("{} is {}, {} {}", name, format_value(dimension, found.value),
                              words(node.comparison), format_value(dimension, node.bound));
  if (!context.decide_point && low != high) {
    judged.verdict = Verdict::undecided;
    judged.detail += fmt::format(
        " cannot be decided: 95 % interval {} to {}; more trials, or "
        "`decide: point`",
        format_value(dimension, found.ci95.low), format_value(dimension, found.ci95.high));
  } else {
    judged.detail += " is needed";
  }
  return judged;
}

Judged judge_node(const ExpectNode& node, const ExpectContext& context);

// Kleene: `dominant` decides alone (fail for and, pass for or), then undecided, then the rest.
Judged judge_chain(const ExpectNode& node, const ExpectContext& context, Verdict dominant) {
  Judged result;
  bool first = true;
  for (const ExpectNode& child : node.children) {
    Judged part = judge_node(child, context);
    const bool replaces =
        first || (result.verdict != dominant &&
                  (part.verdict == dominant || part.verdict == Verdict::undecided));
    if (replaces) {
      const std::optional<double> value = first ? part.value : result.value;
      result = std::move(part);
      result.value = value ? value : result.value;
    }
    first = false;
  }
  return result;
}

Judged judge_node(const ExpectNode& node, const ExpectContext& context) {
  switch (node.kind) {
    case ExpectNode::Kind::comparison:
      return judge_comparison(node, context);
    case ExpectNode::Kind::fits_memory:
      return {context.fits_memory ? Verdict::pass : Verdict::fail,
              context.fits_memory ? "it fits in memory" : "it does not fit in memory",
              context.fits_memory ? 1.0 : 0.0};
    case ExpectNode::Kind::all_of:
      return judge_chain(node, context, Verdict::fail);
    case ExpectNode::Kind::any_of:
      return judge_chain(node, context, Verdict::pass);
    case ExpectNode::Kind::negation: {
      Judged inner = judge_node(node.children.front(), context);
      if (inner.verdict != Verdict::undecided) {
        inner.verdict = inner.verdict == Verdict::pass ? Verdict::fail : Verdict::pass;
      }
      inner.detail = fmt::format("not ({})", inner.detail);
      return inner;
    }
  }
  return {};
}

}  // namespace

Dimension dimension_of(const Operand& operand) {
  return operand.kind == OperandKind::probability ? Dimension::fraction
                                                  : info(operand.metric).dimension;
}

std::string operand_text(const Operand& operand) {
  const MetricInfo& metric = info(operand.metric);
  switch (operand.kind) {
    case OperandKind::plain:
      return std::string(metric.name);
    case OperandKind::quantile: {
      return fmt::format("p{:.0f}({})", operand.quantile * kPercent, metric.name);
    }
    case OperandKind::mean:
      return fmt::format("mean({})", metric.name);
    case OperandKind::probability:
      return fmt::format("probability({} {} {})", metric.name, words(operand.inner),
                         format_value(metric.dimension, operand.inner_bound));
  }
  return {};
}

std::optional<Estimate> estimate(const Operand& operand, const MetricSet& metrics) {
  const MetricValue* metric = metrics.find(operand.metric);
  if (metric == nullptr) {
    return std::nullopt;
  }
  return estimate_of(*metric, operand);
}

ExpectationResult judge_expectation(const ExpectNode& node, const ExpectContext& context) {
  Judged judged = judge_node(node, context);
  ExpectationResult result;
  result.verdict = judged.verdict;
  result.detail = std::move(judged.detail);
  result.value = judged.value;
  return result;
}

}  // namespace orrery::report
