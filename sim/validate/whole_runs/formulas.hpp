#pragma once

// What a check of whole-runs/2 computes, by the name of its formula and the inputs it states.
//
// formula         | inputs                                           | answer
// ----------------|--------------------------------------------------|----------------------------
// fault_free_days | the run: steps, step_time; save_every, save;     | the run simulator without
//                 | evaluate_every, evaluation; ramp                 | failures, in d
// calendar_days   | the run, or fault_free; nodes, parameters;       | with failures, recovery and
//                 | failures (a preset), or restarts and             | repair (calendar_case.hpp),
//                 | machines_per_day; spares; named_losses           | in d
// calendar_share  | the same                                         | fault-free time / calendar
// lost_days       | the run and calendar                             | calendar - fault-free, in d
// days_on         | time, count                                      | time / count, in d
// step_time       | wall, steps                                      | wall / steps, in s
// mfu             | flops, time, count, peak                         | flops / (time count peak)
// cost            | time, count, price                               | time count price, in $
// recovery_events | active, window, mean_recovery                    | (1 - active) window / mean
// lognormal_sigma | mean, median                                     | of the law that has both
// ettr            | nodes, node_failures, save, restart              | Meta's, at Young's interval
// young_interval  | save, mtbf                                       | in s
// save_interval   | every, batch_tokens, tokens, gpu_time, gpus      | time of so many steps, in s
// waste           | save, mtbf, interval                             | first order, at the interval
//                 |                                                  | or Young's
// gpu_hours       | tokens, rate (tokens/s of a GPU)                 | tokens / rate, in h
// goodput_refused | hours (what published hours contain)             | whether no goodput follows
//
// `count` is 1 where it is absent. Internal to validate/.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/yaml/reader.hpp"
#include "sim/validate/data_sets.hpp"

namespace orrery::validate {

struct FormulaAnswer {
  double value = 0.0;  // in the unit of the formula
  std::vector<std::string> notes = {};
};

struct Formula {
  std::string_view name;
  std::string_view unit;  // "d", "s", "h", "USD", "1"; "match": 1 is yes
  // Nothing after a problem in `inputs` or when the run's rules refuse the case.
  std::optional<FormulaAnswer> (*answer)(yaml::MappingReader& inputs, const DataSet& data);
};

[[nodiscard]] std::span<const Formula> formulas();

}  // namespace orrery::validate
