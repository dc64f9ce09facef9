#pragma once

// Failures without a crash: silent corruption, slow nodes and links, loss spikes.
//
// symbol    | meaning                                                         | unit | origin
// ----------|-----------------------------------------------------------------|------|---------
// rate      | how often it begins: per node or per job                        | 1/s  | scenario
// slowdown  | step time while it lasts over the step time without it          | 1    | scenario, or
//           |                                                                 |      | from `fault`
// duration  | until it ends by itself                                         | s    | scenario
// detection | from the first wrong result until the job knows                 | s    | scenario
// repeats   | probability that a detection does not find the host             | 1    | scenario
// checks    | step time with determinism checks over the step time without    | 1    | scenario
//
// What the run does at each of them: run/run_plan.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/duration.hpp"

namespace orrery::run {

// A factor of at least 1 whose excess is lognormal: 1 + (median - 1) * exp(sigma * z).
struct FactorLaw {
  double median = 1.0;           // of several in `any`: their mean
  double sigma = 0.0;            // 0: always the median
  std::vector<double> any = {};  // where there are some, one of these, each as likely
};

// Links somewhere on the cluster that run at a share of their rate: NICs of a node, or the uplinks
// of a switch. What that makes of a step is the step stage's to say (evaluate/inputs/fault_steps).
struct LinkFault {
  std::optional<std::int64_t> nics;  // of one node; absent, without a tier: all of them
  std::string tier;                  // of the switch, where its uplinks are meant
  double share = 1.0;
};

// Exactly one of the rates is stated.
struct SlowdownSpec {
  std::string name;
  std::optional<PerSecond> node_rate;    // begins per node and time
  std::optional<PerSecond> job_rate;     // begins per time, whatever the size of the job
  FactorLaw slowdown = {.median = 0.0};  // 0: not stated
  std::optional<LinkFault> fault = {};   // in its place, of links
  Duration duration;
  std::optional<Seconds> evict_after;  // then the node is replaced through a restart
  RecoveryStages recovery;             // of that restart, where it differs from the job's
};

struct SilentSpec {
  std::optional<PerSecond> node_rate;  // first corruptions by a host
  std::optional<PerSecond> job_rate;
  Duration detection;
  double repeats = 0.0;   // the host stays in the job and corrupts again
  Duration repeat_after;  // from the restart until it does
  double checks = 1.0;    // factor of every step
  // Hosts evicted for nothing: per node and time, or for the job as a whole.
  std::optional<PerSecond> false_alarm_node_rate;
  std::optional<PerSecond> false_alarm_job_rate;
  RecoveryStages recovery;
};

// Exactly one of rate and every_steps is stated, and one of rewind_steps and skip_steps.
struct SpikeSpec {
  std::optional<PerSecond> rate;             // per time of training
  std::optional<std::int64_t> every_steps;   // mean number of steps between two
  std::optional<std::int64_t> rewind_steps;  // back to a checkpoint at least that far behind
  std::optional<std::int64_t> skip_steps;    // steps done in vain; training goes on
  RecoveryStages recovery;                   // of a rewind
};

}  // namespace orrery::run
