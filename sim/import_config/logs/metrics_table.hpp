#pragma once

// A table of metrics in CSV as a log: what Weights & Biases, MLflow and TensorBoard export.
// Internal to import_config/.
//
// column (behind the last slash or " - ", any case)            | is
// -------------------------------------------------------------|------------------------------
// step, _step, global_step, iteration, iter                    | the number of the step
// step_time, iteration_time, time_per_step, ... ; with _ms     | its time
// tokens_per_second, tokens_per_sec; _per_gpu, tps             | its rate
// tflops, tflops_per_gpu                                       | TFLOP/s of a GPU
// _timestamp, timestamp, wall time: seconds since 1970         | when it ended
//
// A table needs steps, and a time, a rate or dates. Rows without a number in a column are passed
// over. Every row becomes one line of the program `metrics-csv` of log-programs.yaml.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::import_config {

class MetricsTable {
 public:
  // From the first line of a text; nothing where its columns do not say how long a step takes.
  [[nodiscard]] static std::optional<MetricsTable> of(std::string_view text);

  // The whole lines of a part as lines of a log; what is left of it goes before the next part.
  [[nodiscard]] std::string add(std::string_view block);
  [[nodiscard]] std::string end();

 private:
  [[nodiscard]] std::string line_of(std::string_view row);

  std::vector<std::string_view> columns_;  // what each is; empty: not read
  std::string rest_;
  bool timed_ = false;  // a column says how long a step takes; else the dates of two rows do
  double date_ = -1.0;  // of the row before, in milliseconds, and its step
  double step_ = -1.0;
  bool header_ = true;  // comes next
};

}  // namespace orrery::import_config
