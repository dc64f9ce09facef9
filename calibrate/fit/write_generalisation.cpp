#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/fit/generalisation.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/validate/output/write_validation.hpp"

namespace orrery::fit {

namespace {

using validate::Statistics;

std::string cell(const std::optional<Statistics>& score) {
  return score ? percent_cell(score->mape) : "-";
}

// Mean over the stacks that have the score: every stack weighs the same.
class Mean {
 public:
  void add(const std::optional<Statistics>& score) {
    sum_ += score ? score->mape : 0.0;
    count_ += score ? 1.0 : 0.0;
  }

  [[nodiscard]] std::string text() const {
    return count_ > 0.0 ? fmt::format("**{}**", percent_cell(sum_ / count_)) : "-";
  }

 private:
  double sum_ = 0.0;
  double count_ = 0.0;
};

// A stack with several profiles has a line for each: the profile tells them apart.
const std::string& line_name(const Generalisation& result, const StackScore& stack) {
  const auto lines =
      std::count_if(result.stacks.begin(), result.stacks.end(),
                    [&stack](const StackScore& other) { return other.stack == stack.stack; });
  return lines > 1 ? stack.profile : stack.stack;
}

std::string stack_table(const Generalisation& result) {
  report::Table table = report::table_of({"stack", "n", "shipped", "refitted", "model out", "p90",
                                          "bias", "GPU out", "stack out", "at a bound"});
  Mean shipped;
  Mean refitted;
  Mean model_out;
  Mean gpu_out;
  Mean stack_out;
  for (const StackScore& stack : result.stacks) {
    shipped.add(stack.shipped);
    refitted.add(stack.refitted);
    model_out.add(stack.model_out);
    gpu_out.add(stack.gpu_out);
    stack_out.add(stack.stack_out);
    const bool counts = stack.model_out && stack.model_fold == LeaveOut::count;
    table.add(line_name(result, stack), stack.shipped.n, cell(stack.shipped), cell(stack.refitted),
              cell(stack.model_out) + (counts ? " (GPU counts)" : ""),
              stack.model_out ? percent_cell(stack.model_out->p90) : "-",
              stack.model_out ? signed_percent_cell(stack.model_out->bias) : "-",
              cell(stack.gpu_out), cell(stack.stack_out),
              fmt::format("{}", fmt::join(stack.at_bounds, ", ")));
  }
  return to_markdown(table) +
         fmt::format("| **mean over stacks** | | {} | {} | {} | | | {} | {} | |\n", shipped.text(),
                     refitted.text(), model_out.text(), gpu_out.text(), stack_out.text());
}

std::string gpu_table(const Generalisation& result) {
  report::Table table =
      report::table_of({"GPU never fitted", "n", "MAPE", "p90", "bias", "stacks"});
  for (const GpuScore& gpu : result.gpus) {
    table.add(gpu.gpu, gpu.gpu_out.n, percent_cell(gpu.gpu_out.mape), percent_cell(gpu.gpu_out.p90),
              signed_percent_cell(gpu.gpu_out.bias),
              fmt::format("{}", fmt::join(gpu.stacks, ", ")));
  }
  return to_markdown(table);
}

Json score_json(const std::optional<Statistics>& score) {
  return score ? json_of(*score) : Json(nullptr);
}

Json stack_json(const StackScore& stack) {
  return {{"stack", stack.stack},
          {"profile", stack.profile},
          {"model_fold", to_string(stack.model_fold)},
          {"shipped", score_json(stack.shipped)},
          {"refitted", score_json(stack.refitted)},
          {"model_out", score_json(stack.model_out)},
          {"gpu_out", score_json(stack.gpu_out)},
          {"stack_out", score_json(stack.stack_out)},
          {"at_bounds", stack.at_bounds}};
}

Json gpu_json(const GpuScore& gpu) {
  return {{"gpu", gpu.gpu}, {"stacks", gpu.stacks}, {"gpu_out", score_json(gpu.gpu_out)}};
}

Json row_json(const RowScore& score) {
  const Observation& row = *score.row;
  const auto predicted = [](double time) {
    return time > 0.0 ? std::optional(time) : std::nullopt;
  };
  return {{"id", row.id},
          {"stack", row.stack},
          {"profile", row.software},
          {"gpu", row.gpu},
          {"model", row.model},
          {"gpus", row.gpus},
          {"measured", row.measured},
          {"shipped", predicted(score.shipped)},
          {"model_out", predicted(score.model_out)},
          {"gpu_out", predicted(score.gpu_out)},
          {"stack_out", predicted(score.stack_out)}};
}

}  // namespace

std::string to_markdown(const Generalisation& result) {
  return stack_table(result) + "\n" + gpu_table(result);
}

std::string to_json(const Generalisation& result) {
  return json_text({{"schema", "orrery-generalisation/1"},
                    {"stacks", json_list(result.stacks, stack_json)},
                    {"gpus", json_list(result.gpus, gpu_json)},
                    {"rows", json_list(result.rows, row_json)}});
}

}  // namespace orrery::fit
