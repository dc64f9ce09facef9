// The section BUDGET of the screen: what the compute of a run would train by fitted laws.

#include <fmt/core.h>

#include "sim/answer/report/text/text_sections.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

void add_budget(TextPage& page, const Evaluation& evaluation) {
  if (!evaluation.budget) {
    return;
  }
  const run::BudgetAnswer& budget = *evaluation.budget;
  page.section("BUDGET",
               fmt::format("{:.3g} FLOP: {} tokens for {} active parameters, {:.3g} tokens each",
                           in_flop(budget.compute), format_count(budget.tokens),
                           format_count(budget.parameters), budget.tokens / budget.parameters));
  for (const run::ScalingLaw& law : run::kScalingLaws) {
    const run::LawOptimum best = run::optimum(law, budget.compute);
    std::string line = fmt::format("{}: {} parameters on {} tokens, {:.3g} each", law.name,
                                   format_count(best.parameters), format_count(best.tokens),
                                   best.tokens / best.parameters);
    if (&law == run::kScalingLaws.begin()) {
      const run::OptimumSpread spread = run::optimum_spread(budget.compute);
      line += fmt::format("; 8 of 10 refits from {} to {} parameters", format_count(spread.low),
                          format_count(spread.high));
    }
    page.line(line);
  }
}

}  // namespace orrery::report
