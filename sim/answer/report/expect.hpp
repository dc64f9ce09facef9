#pragma once

// Grammar and verdict of one `expect:` line: does the evaluation meet what the scenario asks for.
//
//   line     = term { "or" term }          term   = factor { "and" factor }
//   factor   = "not" factor | "(" line ")" | flag | operand cmp value
//   operand  = metric | p1(metric) ... p99(metric) | mean(metric) | probability(metric cmp value)
//   cmp      = >= | <= | > | < | == | !=
//   flag     = fits_memory
//
// A metric that varies over trials needs a quantile, a mean or a probability. Verdicts have three
// values: when the 95 % confidence interval of a stochastic operand straddles the bound the line is
// undecided, and undecided counts as failed unless `decide: point` judges the point estimate.
// `and`, `or`, `not` follow Kleene's three-valued logic. When trials gave up before their end, a
// metric of the run is undecided whatever `decide` says: its values stop at the horizon.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/answer/report/metrics.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::report {

enum class Comparison { at_least, at_most, above, below, equal, not_equal };

enum class OperandKind { plain, quantile, mean, probability };

struct Operand {
  OperandKind kind = OperandKind::plain;
  MetricId metric = MetricId::step_time;
  double quantile = 0.5;                    // of OperandKind::quantile
  Comparison inner = Comparison::at_least;  // of OperandKind::probability
  double inner_bound = 0.0;
};

struct ExpectNode {
  enum class Kind { all_of, any_of, negation, comparison, fits_memory };
  Kind kind = Kind::comparison;
  std::vector<ExpectNode> children;  // all_of, any_of, negation
  Operand operand;                   // comparison
  Comparison comparison = Comparison::at_least;
  double bound = 0.0;
};

struct ExpectError {
  std::size_t offset = 0;  // into the text
  std::string message;
  std::string allowed;
};

[[nodiscard]] std::variant<ExpectNode, ExpectError> parse_expectation(std::string_view text);

// One operand without a comparison: `p90(finish_time)`. A bare metric is taken as it is, its mean
// over the trials when it varies.
[[nodiscard]] std::variant<Operand, ExpectError> parse_operand(std::string_view text);

// As it is written in a line.
[[nodiscard]] std::string operand_text(const Operand& operand);

// Of what the operand is a number: a fraction for a probability, else that of the metric.
[[nodiscard]] Dimension dimension_of(const Operand& operand);

struct Estimate {
  double value = 0.0;
  run::Interval ci95;  // value twice where nothing varies
};

// Nothing when the scenario does not produce the metric.
[[nodiscard]] std::optional<Estimate> estimate(const Operand& operand, const MetricSet& metrics);

// True when the line mentions fits_memory, memory_headroom or peak_memory.
[[nodiscard]] bool mentions_memory(const ExpectNode& node);

enum class Verdict { pass, fail, undecided };

[[nodiscard]] constexpr std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"pass", "fail", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

struct ExpectationResult {
  std::string text;
  Verdict verdict = Verdict::fail;
  std::string detail;           // "mfu is 41.3%, needs at least 38.0%"
  std::optional<double> value;  // of the first comparison, base units
  SourceLocation where;

  [[nodiscard]] bool passed() const { return verdict == Verdict::pass; }
};

struct ExpectContext {
  const MetricSet& metrics;
  bool fits_memory = true;
  bool decide_point = false;
  std::int64_t gave_up = 0;  // trials that stopped before their end: no run metric can be judged
};

// Verdict, detail and value; text and where are the caller's.
[[nodiscard]] ExpectationResult judge_expectation(const ExpectNode& node,
                                                  const ExpectContext& context);

}  // namespace orrery::report
