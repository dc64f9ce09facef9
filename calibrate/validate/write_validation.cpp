#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "calibrate/validate/step_comparison.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view kStepLine = "{:<17}{:>9}{:>8}{:>8}{:>9}{:>9}{:>9}{:>8}{:>7}{:>8}{:>7}\n";

std::string signed_percent(const std::optional<double>& value) {
  return value ? fmt::format("{:+.1f}%", *value * kPercent) : "-";
}

std::string unsigned_percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}%", *value * kPercent) : "-";
}

std::string milliseconds_text(const std::optional<Seconds>& value) {
  return value ? fmt::format("{:.2f}", in_milliseconds(*value)) : "-";
}

std::string microseconds_text(const std::optional<Seconds>& value) {
  return value ? fmt::format("{:.1f}", in_microseconds(*value)) : "-";
}

std::string short_name(const StepShape& shape) {
  return fmt::format("{} {} x{}", shape.name,
                     shape.precision == kernels::Precision::bf16 ? "bf16" : "fp8", shape.layers);
}

double error_of(Seconds value, const ComparedStep& step) { return value / step.time() - 1.0; }

std::string steps_text(const StepValidation& validation) {
  std::string text =
      "\n" + fmt::format(kStepLine, "steps, ms", "measured", "p10", "p90", "launched", "kernels",
                         "profile", "model", "roof", "45% MFU", "burst");
  for (const ComparedStep& step : validation.steps) {
    const RecordedStep& measured = step.measured;
    text += fmt::format(
        kStepLine, short_name(measured.shape), milliseconds_text(step.time()),
        milliseconds_text(microseconds(measured.p10)),
        milliseconds_text(microseconds(measured.p90)),
        measured.launched_us ? milliseconds_text(microseconds(*measured.launched_us)) : "-",
        signed_percent(step.composition()), signed_percent(step.prediction()),
        signed_percent(step.simulation()), signed_percent(error_of(step.roofline, step)),
        signed_percent(error_of(step.fixed_mfu, step)), signed_percent(error_of(step.burst, step)));
  }
  for (const RecordedStep& step : validation.record.steps) {
    if (!step.status.empty()) {
      text += fmt::format("{:<17}not offered: {}\n", short_name(step.shape), step.status);
    }
  }
  return text +
         "  kernels: sum of kernels measured alone against the step (composition)\n"
         "  profile: sum of predicted kernels against the step; model: the whole simulator, with\n"
         "  a stack that adds nothing; then three rules of thumb\n";
}

std::string layers_text(const StepValidation& validation) {
  if (validation.layers.empty()) {
    return {};
  }
  std::string text =
      fmt::format("\n{:<19}{:>9}{:>10}{:>10}\n", "one layer, ms", "measured", "kernels", "profile");
  for (const ComparedLayer& layer : validation.layers) {
    const auto error = [&layer](const std::optional<Seconds>& value) {
      return value ? std::optional(*value / layer.measured - 1.0) : std::nullopt;
    };
    text += fmt::format("{:<19}{:>9}{:>10}{:>10}\n",
                        fmt::format("{} {}", layer.name,
                                    layer.precision == kernels::Precision::bf16 ? "bf16" : "fp8"),
                        milliseconds_text(layer.measured), signed_percent(error(layer.sum)),
                        signed_percent(error(layer.predicted)));
  }
  return text;
}

std::string kernel_line(const ComparedKernel& one) {
  std::string name = kernels::to_text(one.kernel);
  constexpr std::size_t kMost = 57;
  if (name.size() > kMost) {
    name = name.substr(0, kMost - 3) + "...";
  }
  return fmt::format("{:<58}{:>10}{:>10}{:>8}  {}\n", name, microseconds_text(one.measured),
                     one.predicted ? microseconds_text(one.predicted->time) : "-",
                     signed_percent(one.error()),
                     one.predicted ? cost::to_string(one.predicted->reach) : "unknown");
}

// Each case once, the largest errors first.
std::vector<ComparedKernel> all_kernels(const StepValidation& validation) {
  std::vector<ComparedKernel> all;
  for (const ComparedStep& step : validation.steps) {
    for (const ComparedKernel& one : step.kernels) {
      const bool known = std::ranges::any_of(
          all, [&one](const ComparedKernel& other) { return other.kernel == one.kernel; });
      if (!known) {
        all.push_back(one);
      }
    }
  }
  if (validation.transfer) {
    all.push_back(*validation.transfer);
  }
  std::ranges::stable_sort(all, [](const ComparedKernel& a, const ComparedKernel& b) {
    return std::abs(a.error().value_or(0.0)) > std::abs(b.error().value_or(0.0));
  });
  return all;
}

std::string kernels_text(const StepValidation& validation, bool all) {
  constexpr std::size_t kWorst = 12;
  const std::vector<ComparedKernel> compared = all_kernels(validation);
  const std::size_t shown = all ? compared.size() : std::min(kWorst, compared.size());
  std::string text = fmt::format(
      "\n{:<58}{:>10}{:>10}{:>8}\n",
      fmt::format("kernels, us ({} of {}, largest errors first)", shown, compared.size()),
      "measured", "profile", "error");
  for (std::size_t i = 0; i < shown; ++i) {
    text += kernel_line(compared[i]);
  }
  return text;
}

std::string ledger_line(std::string_view what, Seconds all, const Ledger& spent,
                        std::string_view note) {
  return fmt::format("  {:<24}{:>9}{:>10}{:>10}{:>10}{:>10}{:>9}  {}\n", what,
                     milliseconds_text(all), milliseconds_text(spent.products),
                     milliseconds_text(spent.attention), milliseconds_text(spent.memory),
                     milliseconds_text(spent.optimizer), milliseconds_text(all - spent.sum()),
                     note);
}

// The predicted step beside PyTorch's, kind by kind.
std::string ledgers_text(const ComparedTorch& one) {
  std::string text =
      ledger_line(fmt::format("{} {}", short_name(one.measured.shape), one.measured.mode),
                  microseconds(one.measured.median_us), one.measured.ledger,
                  one.measured.sdpa_backend + " attention");
  if (one.predicted) {
    text += ledger_line("  profile", *one.predicted, one.ledger, signed_percent(one.error()));
  }
  if (one.own) {
    text += fmt::format("  {:<24}{:>9}\n", "  own step, measured", milliseconds_text(one.own));
  }
  return text;
}

std::string torch_text(const StepValidation& validation) {
  std::string text;
  if (!validation.torch.empty()) {
    text += fmt::format("\n{:<26}{:>9}{:>10}{:>10}{:>10}{:>10}{:>9}\n", "PyTorch steps, ms", "step",
                        "products", "attention", "memory", "optimizer", "gaps");
    for (const ComparedTorch& one : validation.torch) {
      text += ledgers_text(one);
    }
  }
  if (!validation.torch_kernels.empty()) {
    text += fmt::format("\n{:<72}{:>9}{:>9}{:>8}\n", "PyTorch's calls, us", "PyTorch", "own", "");
    for (const ComparedTorchKernel& one : validation.torch_kernels) {
      const TorchKernel& kernel = one.measured;
      text +=
          fmt::format("{:<72}{:>9.1f}{:>9}{:>8}  {}{}\n", kernels::to_text(kernel.kernel),
                      kernel.us, microseconds_text(one.own), signed_percent(one.error()),
                      kernel.call, kernel.sdpa_backend.empty() ? "" : " by " + kernel.sdpa_backend);
    }
  }
  return text;
}

// How far off the clock is that products are stated at: what the composition still lacks.
std::string clocks_text(const StepValidation& validation) {
  std::string text;
  for (const ComparedStep& step : validation.steps) {
    if (validation.beside.step_clock && step.measured.sm_clock) {
      text += fmt::format(
          "{:<30} clock {:.0f} MHz, the profile states {:.0f} ({:+.1f}%)\n",
          short_name(step.measured.shape), *step.measured.sm_clock, *validation.beside.step_clock,
          kPercent * (*validation.beside.step_clock / *step.measured.sm_clock - 1.0));
    }
  }
  return text;
}

std::string gates_text(const StepValidation& validation) {
  std::string text = fmt::format("\n{:<44}{:>8}{:>8}\n", "gates", "found", "limit");
  for (const Gate& gate : validation.gates) {
    text += fmt::format("{:<44}{:>8}{:>8}  {}\n", gate.name, unsigned_percent(gate.value),
                        unsigned_percent(gate.limit),
                        !gate.value     ? "open: nothing to judge"
                        : gate.failed() ? "FAILED"
                                        : "passed");
  }
  return text;
}

std::string checks_text(const StepValidation& validation) {
  std::string text;
  for (const RecordedCheck& entry : validation.record.checks) {
    const std::string name =
        fmt::format("check {}{}", short_name(entry.shape), entry.shape.experts ? " mixture" : "");
    text +=
        entry.status.empty()
            ? fmt::format("{:<30} loss {:.5f} (reference {:.5f}), gradients within {:.2g}: {}\n",
                          name, entry.check.loss, entry.check.reference_loss, entry.check.worst,
                          entry.check.passed ? "passed" : "FAILED at " + entry.check.where)
            : fmt::format("{:<30} not run: {}\n", name, entry.status);
  }
  for (const RecordedStep& step : validation.record.steps) {
    if (!step.status.empty()) {
      text += fmt::format("{:<30} not timed: {}\n", short_name(step.shape), step.status);
    }
  }
  for (const RecordedKernel& entry : validation.record.kernels) {
    if (entry.status.starts_with(kFailedStatus)) {
      text += fmt::format("{}: {}\n", kernels::to_text(entry.kernel), entry.status);
    }
  }
  return text;
}

Json kernel_json(const ComparedKernel& one) {
  return {{"name", one.name},
          {"case", kernels::to_text(one.kernel)},
          {"calls", one.calls},
          {"measured_s", one.measured},
          {"predicted_s", one.predicted ? Json(one.predicted->time) : Json(nullptr)},
          {"reach", one.predicted ? Json(cost::to_string(one.predicted->reach)) : Json(nullptr)},
          {"error", one.error()}};
}

Json ledger_json(const Ledger& ledger) {
  return {{"products", ledger.products},
          {"attention", ledger.attention},
          {"memory", ledger.memory},
          {"optimizer", ledger.optimizer}};
}

Json step_json(const ComparedStep& step) {
  return {{"shape", to_text(step.measured.shape)},
          {"measured_s", step.time()},
          {"p10_s", microseconds(step.measured.p10)},
          {"p90_s", microseconds(step.measured.p90)},
          {"count", step.measured.count},
          {"sm_clock_mhz", step.measured.sm_clock},
          {"kernels_sum_s", step.sum},
          {"predicted_s", step.predicted},
          {"composition_error", step.composition()},
          {"prediction_error", step.prediction()},
          {"simulated_s", step.simulated},
          {"simulation_error", step.simulation()},
          {"exact_share", step.exact_share},
          {"extrapolated_share", step.extrapolated_share},
          {"roofline_s", step.roofline},
          {"fixed_mfu_s", step.fixed_mfu},
          {"burst_s", step.burst},
          {"kernels", json_list(step.kernels, kernel_json)}};
}

Json layer_json(const ComparedLayer& layer) {
  return {{"name", layer.name},
          {"precision", kernels::to_string(layer.precision)},
          {"measured_s", layer.measured},
          {"kernels_sum_s", layer.sum},
          {"predicted_s", layer.predicted}};
}

Json torch_json(const ComparedTorch& one) {
  return {{"shape", to_text(one.measured.shape)},
          {"mode", one.measured.mode},
          {"measured_s", microseconds(one.measured.median_us)},
          {"predicted_s", one.predicted},
          {"ledger_s", ledger_json(one.ledger)},
          {"sdpa_backend", one.measured.sdpa_backend},
          {"error", one.error()},
          {"own_step_s", one.own}};
}

Json torch_kernel_json(const ComparedTorchKernel& one) {
  return {{"case", kernels::to_text(one.measured.kernel)},
          {"call", one.measured.call},
          {"measured_s", microseconds(one.measured.us)},
          {"own_s", one.own},
          {"error", one.error()}};
}

Json gate_json(const Gate& gate) {
  return {
      {"name", gate.name}, {"limit", gate.limit}, {"value", gate.value}, {"failed", gate.failed()}};
}

}  // namespace

std::string to_text(const StepValidation& validation, bool all) {
  constexpr std::size_t kIdDigits = 12;
  const bool laws = !validation.laws.empty();
  std::string text =
      fmt::format("validation of {} on {}, measured {}\n",
                  laws ? fmt::format("the laws of {}", validation.laws)
                       : fmt::format("profile {}", validation.profile.substr(0, kIdDigits)),
                  validation.record.gpu, validation.record.measured_at);
  if (!laws && validation.record.fingerprint != validation.profile) {
    text += "  with other libraries, driver or machine than the profile was measured with\n";
  }
  return text + checks_text(validation) + steps_text(validation) + clocks_text(validation) +
         layers_text(validation) + kernels_text(validation, all) + torch_text(validation) +
         gates_text(validation);
}

std::string to_json(const StepValidation& validation) {
  return json_text({{"schema", "orrery-hardware-validation/1"},
                    {"profile", validation.laws.empty() ? validation.profile : validation.laws},
                    {"gpu", validation.record.gpu},
                    {"measured_at", validation.record.measured_at},
                    {"step_clock_mhz", validation.beside.step_clock},
                    {"passed", passed(validation)},
                    {"steps", json_list(validation.steps, step_json)},
                    {"layers", json_list(validation.layers, layer_json)},
                    {"torch", json_list(validation.torch, torch_json)},
                    {"torch_kernels", json_list(validation.torch_kernels, torch_kernel_json)},
                    {"gates", json_list(validation.gates, gate_json)}});
}

}  // namespace orrery::calibrate
