#include "sim/answer/evaluate/doubts/step_evidence.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"

namespace orrery::evaluate {

std::vector<report::StepDoubt> step_doubts(const scenario::Scenario& scenario,
                                           const Resolved& resolved, int threads,
                                           const std::stop_token& stop) {
  constexpr std::size_t kMost = 2;
  const step::StepInput input = step_input(scenario, resolved);
  const hardware::SoftwareProfile& software = resolved.costs.software();
  step::StepSimulator simulator;
  const auto logarithm = [&](const hardware::StackKnob& knob, double factor) {
    hardware::SoftwareProfile moved = software;
    knob.move(moved, factor);
    const cost::CostModel costs(resolved.costs.gpu(), std::move(moved), scenario.cluster);
    const auto outcome = simulator.simulate(input, costs,
                                            {.timeline = false,
                                             .operations = false,
                                             .ledger = false,
                                             .threads = threads,
                                             .stop = stop});
    const auto* result = std::get_if<step::StepResult>(&outcome);
    return result == nullptr ? 0.0 : std::log(in_seconds(to_seconds(result->step_time)));
  };
  std::vector<report::StepDoubt> doubts;
  for (const hardware::StackKnob& knob : hardware::stack_knobs()) {
    const double error = knob.error(software);
    const double effect =
        std::abs(logarithm(knob, 1.0 + error) - logarithm(knob, 1.0 - error)) / 2.0;
    if (effect >= kMilli) {
      doubts.push_back({knob.name, knob.measured_by, error, effect});
    }
  }
  std::ranges::stable_sort(doubts,
                           [](const auto& a, const auto& b) { return a.effect > b.effect; });
  doubts.resize(std::min(doubts.size(), kMost));
  return doubts;
}

namespace {

constexpr std::string_view kEvidenceFile = "evidence/steps.csv";
constexpr std::string_view kColumns = "id,software,gpu,arch,model,experts,gpus,error";

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

// A line of the table; nothing where it is none.
std::optional<MeasuredStep> read_step(std::string_view line) {
  constexpr auto kCells = static_cast<std::size_t>(std::ranges::count(kColumns, ',')) + 1;
  std::array<std::string_view, kCells> cells;
  for (std::size_t i = 0; i + 1 < kCells; ++i) {
    const std::size_t comma = line.find(',');
    if (comma == 0 || comma == std::string_view::npos) {
      return std::nullopt;
    }
    cells[i] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  cells.back() = line;
  const auto [id, software, gpu, arch, model, experts, gpus, error] = cells;
  MeasuredStep step;
  step.id = id;
  step.kind = {.software = std::string(software),
               .gpu = std::string(gpu),
               .arch = std::string(arch),
               .model = std::string(model),
               .experts = experts == "1"};
  const bool known = (experts == "0" || experts == "1") && read_number(gpus, step.kind.gpus) &&
                     step.kind.gpus >= 1 && read_number(error, step.error) &&
                     std::isfinite(step.error);
  return known ? std::optional(std::move(step)) : std::nullopt;
}

std::vector<MeasuredStep> read_evidence(std::string_view text, const std::string& name,
                                        Diagnostics& diagnostics) {
  std::vector<MeasuredStep> steps;
  bool headed = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (!headed) {
      headed = line == kColumns;
    } else if (auto step = read_step(line)) {
      steps.push_back(*std::move(step));
      continue;
    }
    if (!headed || line != kColumns) {
      diagnostics.error({name, number, 1}, {}, "is no measured step", std::string(kColumns));
      return {};
    }
  }
  return steps;
}

// Mean errors of groups.
struct Groups {
  std::map<std::pair<std::string_view, std::string_view>, std::pair<double, double>> of;

  void add(const MeasuredStep& step) {
    auto& [sum, count] = of[{step.kind.model, step.kind.gpu}];
    sum += std::abs(step.error);
    count += 1.0;
  }

  // `prior` and the groups, as if it were `weight` of them.
  [[nodiscard]] double pulled(double prior, double weight) const {
    double sum = weight * prior;
    for (const auto& [group, mean] : of) {
      sum += mean.first / mean.second;
    }
    return sum / (weight + static_cast<double>(of.size()));
  }
};

// How much two steps have in common: first stack, kind of model and GPU, last the number of GPUs.
double likeness(const StepKind& a, const StepKind& b) {
  const double doublings =
      std::abs(std::log2(static_cast<double>(a.gpus) / static_cast<double>(b.gpus)));
  return (a.software == b.software ? 64.0 : 0.0) + (a.experts == b.experts ? 32.0 : 0.0) +
         (a.gpu == b.gpu ? 16.0 : 0.0) + (a.arch == b.arch ? 8.0 : 0.0) +
         (a.model == b.model ? 16.0 : 0.0) - 0.1 * doublings;
}

std::vector<report::NearStep> nearest_steps(const std::vector<MeasuredStep>& evidence,
                                            const StepKind& kind, std::string_view own) {
  std::vector<std::pair<double, const MeasuredStep*>> ranked;
  for (const MeasuredStep& step : evidence) {
    if (step.id != own) {
      ranked.emplace_back(likeness(step.kind, kind), &step);
    }
  }
  constexpr std::size_t kNearest = 3;
  const std::size_t count = std::min(kNearest, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end(), [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second->id < b.second->id;
                    });
  std::vector<report::NearStep> nearest;
  for (std::size_t i = 0; i < count; ++i) {
    nearest.push_back({ranked[i].second->id, std::expm1(ranked[i].second->error)});
  }
  return nearest;
}

}  // namespace

StepKind kind_of(const scenario::Scenario& scenario, const Resolved& resolved) {
  const model::ModelSpec& model = scenario.model;
  std::string name = fmt::format("{}x{}", model.num_layers, model.hidden_size);
  if (model.moe) {
    name += fmt::format("x{}", model.moe->num_experts);
  }
  return {.software = resolved.costs.software().name,
          .gpu = resolved.costs.gpu().name,
          .arch = std::string(hardware::to_string(resolved.costs.gpu().arch)),
          .model = std::move(name),
          .experts = model.moe.has_value(),
          .gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node};
}

std::vector<MeasuredStep> load_evidence(const hardware::ProfileSearch& search,
                                        Diagnostics& diagnostics) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  for (const std::filesystem::path& directory : search.directories) {
    const std::filesystem::path file = directory / kEvidenceFile;
    if (std::filesystem::exists(file)) {
      return read_evidence(read_file(file, kMostBytes), file.string(), diagnostics);
    }
  }
  return {};
}

std::string to_csv(const std::vector<MeasuredStep>& steps) {
  std::string text = fmt::format(
      "# Measured steps and how far the prediction of each is off, as ln(predicted / measured):\n"
      "# what the band of a step time rests on (sim/answer/evaluate/doubts/step_evidence.hpp). "
      "Made by\n"
      "#   orrery validate --evidence FILES\n"
      "{}\n",
      kColumns);
  for (const MeasuredStep& step : steps) {
    text +=
        fmt::format("{},{},{},{},{},{:d},{},{:.4f}\n", step.id, step.kind.software, step.kind.gpu,
                    step.kind.arch, step.kind.model, step.kind.experts, step.kind.gpus, step.error);
  }
  return text;
}

PredictedStep predicted_step(const scenario::Scenario& scenario, const Resolved& resolved,
                             const step::StepResult& step) {
  PredictedStep predicted{.kind = kind_of(scenario, resolved),
                          .time = in_seconds(to_seconds(step.step_time))};
  const hardware::GemmRate* rate = resolved.costs.gpu().find_gemm(scenario.step.precision.compute);
  if (rate != nullptr) {
    const Flop flop = executed_flop_per_token(
        scenario, {resolved.recompute, resolved.costs.software().attention, resolved.modules},
        resolved.layout);
    const FlopPerSecond reached = rate->burst
                                      ? std::max(rate->burst->value(), rate->sustained.value())
                                      : rate->sustained.value();
    predicted.fastest = in_seconds(flop / reached) * in_tokens(tokens_per_step(scenario)) /
                        static_cast<double>(step.gpus);
  }
  return predicted;
}

double open_choice(Seconds one, Seconds other) {
  constexpr double kShare = 1.0 / 7.0;
  return 2.0 * kShare * (1.0 - kShare) * std::abs(std::log(one / other));
}

report::StepBand step_band(const std::vector<MeasuredStep>& evidence,
                           const PredictedStep& predicted, std::string_view own) {
  constexpr double kDenseDrift = 0.03;
  constexpr double kMixtureDrift = 0.06;
  const StepKind& kind = predicted.kind;
  constexpr double kNothingAlike = 0.10;
  constexpr double kArchWeight = 3.0;
  constexpr double kGpuWeight = 4.0;
  Groups other_gpus;
  Groups other_models;
  double sum = 0.0;
  double same = 0.0;
  bool known_stack = false;
  for (const MeasuredStep& step : evidence) {
    if (step.kind.software != kind.software || step.id == own) {
      continue;
    }
    known_stack = true;
    if (step.kind.experts != kind.experts || step.kind.arch != kind.arch) {
      continue;
    }
    if (step.kind.gpu != kind.gpu) {
      other_gpus.add(step);
    } else if (step.kind.model != kind.model) {
      other_models.add(step);
    } else {
      sum += std::abs(step.error);
      same += 1.0;
    }
  }
  const double of_arch = other_gpus.pulled(kNothingAlike, kArchWeight);
  const double of_gpu = other_models.pulled(of_arch, kGpuWeight);
  report::StepBand band;
  band.error = std::hypot((of_gpu + sum) / (1.0 + same), kind.experts ? kMixtureDrift : kDenseDrift,
                          predicted.open);
  band.novelty = same > 0.0                 ? report::Novelty::none
                 : !other_models.of.empty() ? report::Novelty::model
                 : known_stack              ? report::Novelty::gpu
                                            : report::Novelty::stack;
  constexpr double kFactor = 1.6;
  band.low = std::max(predicted.time * std::exp(-kFactor * band.error),
                      std::min(predicted.fastest, predicted.time));
  band.high = predicted.time * std::exp(kFactor * band.error);
  band.nearest = nearest_steps(evidence, kind, own);
  return band;
}

}  // namespace orrery::evaluate
