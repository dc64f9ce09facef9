// A program of somebody else that asks the installed libraries how long a step takes.

#include <cstdio>
#include <string>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/scenario/load.hpp"

int main() {
  orrery::Diagnostics diagnostics;
  const auto scenario =
      orrery::scenario::load_file(std::string(SCENARIOS) + "/llama3-70b-64h100.yaml", diagnostics);
  if (!scenario) {
    std::fputs(to_string(diagnostics).c_str(), stderr);
    return 1;
  }
  const auto evaluation = orrery::evaluate::evaluate(*scenario, {}, diagnostics);
  const auto* step =
      evaluation ? evaluation->metrics.find(orrery::report::MetricId::step_time) : nullptr;
  if (step == nullptr) {
    std::fputs(to_string(diagnostics).c_str(), stderr);
    return 1;
  }
  std::printf("%.17g\n", step->value);
  return 0;
}
