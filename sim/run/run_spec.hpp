#pragma once

// The run as the scenario states it: the specs that the run stage consumes.
//
// symbol       | meaning                                                    | unit    | origin
// -------------|------------------------------------------------------------|---------|---------
// spares       | nodes held ready beside those the job runs on              | nodes   | scenario
// repair_time  | from taking a node out until it is back in the pool        | s       | scenario
// gpu_hour     | price of one GPU over time                                 | $/s     | scenario
// step_time    | one optimizer step without any failure                     | ns      | step stage

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/prices/price_spec.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/duration.hpp"
#include "sim/run/training_spec.hpp"

namespace orrery::run {

struct SimulationSpec {
  std::int64_t trials = 1000;
  std::uint64_t seed = 1;
  std::optional<Seconds>
      max_wall;  // gives up there; default: 10 times the fault-free run + 30 days
};

struct RunSpec {
  TrainingSpec training;
  std::optional<EvaluationSpec> evaluation;
  FailureSpec failures;
  CheckpointSpec checkpoint;
  RecoverySpec recovery;
  CapacitySpec capacity;
  PriceSpec prices;
  SimulationSpec simulation;
};

// A step in one of the phases of the training.
struct PhaseStep {
  SimTime step_time;
  Tokens tokens_per_step;
  std::int64_t nodes = 1;
};

// What the step stage found, as plain numbers.
struct StepInput {
  SimTime step_time;
  Tokens tokens_per_step;
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;  // gpus = nodes * gpus_per_node
  double parameters = 0.0;         // total, for the size of a checkpoint
  std::int64_t data_parallel = 1;  // divides gpus
  double state_replicas = 1.0;     // copies of every part of the state among the GPUs
  Bytes replicated_bytes = {};     // per parameter: the part that every data-parallel rank holds
  std::optional<BytesPerSecond> node_network = {};  // of one node, all its NICs, one direction
  double node_watts = 0.0;                          // of the GPUs of a node at their limit
  std::vector<ElasticSize> sizes = {};  // with capacity.elastic: what the layout allows, ascending
  std::vector<PhaseStep> phases = {};   // one per training.phases; empty when it has none
};

}  // namespace orrery::run
