// Which kernels of a step does the calibration profile know, and how well?

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sim/answer/evaluate/explain/explain_tables.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/simulate/operations/step_operations.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::evaluate {

namespace {

constexpr std::size_t kKernelsShown = 24;
constexpr std::size_t kReaches = 4;

struct KernelLine {
  cost::KernelPrediction prediction;
  double calls = 0.0;
  Seconds time;  // of all calls, in this stack
};

// What the measurements say of an operation, and how it is called there.
struct Known {
  std::string name;
  std::optional<cost::KernelPrediction> prediction;
};

struct Look {
  const cost::CostModel& costs;

  Known operator()(const model::GemmOp& op) const {
    return {to_text(cost::call_of(op)), cost::predict_gemm(op, costs.gpu())};
  }

  Known operator()(const model::AttentionOp& op) const {
    return {to_text(cost::call_of(op)),
            cost::measured_attention(op, costs.gpu(), costs.software())};
  }

  Known operator()(const model::ScanOp&) const {
    return {};  // none is measured
  }

  Known operator()(const model::MemoryOp& op) const {
    return {fmt::format("{} of {}", model::part_name(op.part, op.role),
                        format_bytes(op.read + op.written)),
            cost::measured_memory(op, costs.gpu(), costs.software())};
  }

  Known operator()(const model::CollectiveOp&) const { return {}; }
};

struct Account {
  std::map<std::string, KernelLine> lines;
  std::array<Seconds, kReaches> by_reach = {};
  Seconds unmeasured;
};

void add(Account& account, const cost::CostModel& costs, const cost::Placements& places,
         const model::Op& op, double count) {
  if (std::holds_alternative<model::CollectiveOp>(op)) {
    return;
  }
  const Seconds time = costs.operation(op, places).time * count;
  const Known known = std::visit(Look{costs}, op);
  if (!known.prediction) {
    account.unmeasured += time;
    return;
  }
  account.by_reach[static_cast<std::size_t>(known.prediction->reach)] += time;
  KernelLine& line = account.lines[known.name];
  line.prediction = *known.prediction;
  line.calls += count;
  line.time += time;
}

std::string summary(const Account& account, const hardware::CalibrationStamp& stamp) {
  Seconds all = account.unmeasured;
  for (const Seconds time : account.by_reach) {
    all += time;
  }
  const auto share = [all](Seconds time) {
    return all > Seconds{} ? kPercent * (time / all) : 0.0;
  };
  constexpr std::size_t kShortId = 12;
  std::string text = fmt::format("Kernels measured on {}, {}, profile {}\n  of their time",
                                 stamp.device, stamp.measured_at, stamp.id.substr(0, kShortId));
  for (std::size_t i = 0; i < kReaches; ++i) {
    text += fmt::format(" {:.1f} % {},", share(account.by_reach[i]),
                        to_string(static_cast<cost::Reach>(i)));
  }
  return text + fmt::format(" {:.1f} % not measured\n", share(account.unmeasured));
}

}  // namespace

std::string measured_kernel_table(const step::StepInput& input, const cost::CostModel& costs) {
  const auto& stamp = costs.gpu().calibration;
  if (!stamp) {
    return {};
  }
  Account account;
  const cost::Placements places = step::placements(input);
  for (std::size_t device = 0; device < input.layout.stages.size(); ++device) {
    for (const step::CountedPass& counted :
         step::device_passes(input, costs, static_cast<std::int64_t>(device))) {
      for (const model::PassOp& entry : counted.pass) {
        add(account, costs, places, entry.op, counted.count);
      }
    }
  }
  using Row = std::pair<std::string, KernelLine>;
  std::vector<Row> rows(account.lines.begin(), account.lines.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.second.time > b.second.time; });
  std::string text = summary(account, *stamp);
  text += fmt::format("  {:<64} {:<12} {:>6} {:>10}\n", "kernel", "prediction", "+-", "library");
  for (std::size_t i = 0; i < std::min(rows.size(), kKernelsShown); ++i) {
    const cost::KernelPrediction& prediction = rows[i].second.prediction;
    text += fmt::format("  {:<64} {:<12} {:>4.1f} % {:>10}\n", rows[i].first,
                        to_string(prediction.reach), kPercent * prediction.residual,
                        format_time(prediction.time));
  }
  return text;
}

}  // namespace orrery::evaluate
