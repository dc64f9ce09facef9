#pragma once

// The run as the scenario states it: the specs that the run stage consumes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

// Prices as the scenario states them: of nodes, energy, storage and people.
//
//   owned:  dollars per GPU and second = purchase ((1 - residual) / lifetime + maintenance / year)
//   energy: (busy GPU time * busy power + other GPU time * idle power) / GPUs per node * PUE
//   carbon: energy * intensity
//
// A price without a date is a number without a meaning: `as_of` is printed beside the cost. Energy
// is part of the cost only with a price of energy; rented nodes usually include it.

// From a time after the start of training, or from a date.
struct PriceChange {
  std::optional<Seconds> after;
  std::optional<std::int64_t> date;  // seconds since 1970-01-01T00:00Z
  DollarsPerSecond gpu_hour;
};

// Nodes that are paid for whether they are used or not.
struct ReservedSpec {
  std::int64_t nodes = 0;
  DollarsPerSecond gpu_hour;
  std::optional<Seconds> commitment;  // paid for until then, even when the run ends earlier
};

struct OwnedSpec {
  Dollars purchase;          // of one GPU with its share of host and network
  Seconds lifetime;          // over which it is written off, in a straight line
  double residual = 0.0;     // share of the purchase price left at the end
  double maintenance = 0.0;  // share of the purchase price per year
};

struct EnergySpec {
  std::optional<double> busy_watts;  // of a node; default: its GPUs at their limit
  std::optional<double> idle_watts;  // default: a third of busy
  double pue = 1.0;                  // power of the site / power of the machines
  std::optional<Dollars> per_kilowatt_hour;
  std::optional<double> kilograms_per_kilowatt_hour;
};

struct StoragePriceSpec {
  std::optional<Dollars> per_gigabyte_month;  // of the checkpoints that are kept, and of `data`
  Bytes data;
  std::optional<Dollars> per_gigabyte_out;
  Bytes out;  // leaves the provider in the course of the run
};

struct OperatorSpec {
  DollarsPerSecond per_hour;
  Seconds per_failure;  // work of people on one failure
};

struct PricePreset;

struct PriceSpec {
  std::shared_ptr<const PricePreset> preset;
  std::optional<DollarsPerSecond> gpu_hour;  // per GPU
  std::string as_of;                         // date of the price, as printed
  bool bill_spares = true;  // spares and nodes in repair cost as much as the others
  std::vector<PriceChange> changes;
  std::optional<DollarsPerSecond> spot_gpu_hour;
  std::optional<ReservedSpec> reserved;
  std::optional<OwnedSpec> owned;
  std::optional<EnergySpec> energy;
  std::optional<StoragePriceSpec> storage;
  std::optional<OperatorSpec> operators;
};

// Its gpu_hour, spot_gpu_hour and as_of hold where the scenario leaves them out.
struct PricePreset {
  std::string name;
  PriceSpec spec;
};

// The training as the scenario states it: targets, phases, rework, evaluations.
//
// Exactly one of duration, tokens, steps and budget is stated. What a phase does not state is as in
// the scenario, not as in the phase before. The last phase states no end. A batch ramp is that of
// Megatron's --rampup-batch-size: n = (batch - start) / increment rises, each after samples / n
// sequences; it becomes phases of its own (phases_of).

// How far training has come: optimizer steps, tokens, or time that the steps alone would take.
using Progress = std::variant<std::int64_t, Tokens, Seconds>;

struct PhaseSpec {
  std::string name;
  std::optional<Progress> until;             // when it ends; absent in the last phase only
  std::optional<std::int64_t> global_batch;  // sequences of one step
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> context;  // degree of context parallelism
  std::optional<std::int64_t> tensor;
  std::optional<std::int64_t> pipeline;
  std::optional<std::int64_t> virtual_stages;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus;  // the same in GPUs; not both
  std::optional<Seconds> step_time;  // replaces the one that the step stage computes
  // Planned restart before its first step; absent: what loading the checkpoint anew takes, where
  // nodes or layout change.
  std::optional<Seconds> change;
};

struct BatchRampSpec {
  std::int64_t start = 1;      // first batch, in sequences
  std::int64_t increment = 1;  // what each rise adds
  std::int64_t samples = 1;    // sequences over which it rises, in equal shares
};

struct DiscardAll {};

// Compute of the model, 6 N D, or money.
using Budget = std::variant<Flop, Dollars>;

struct ReworkSpec {
  std::string name;
  Progress at;
  std::variant<DiscardAll, Progress> discard;  // thrown away and trained again
  Seconds stall;                               // until training goes on
};

struct TrainingSpec {
  std::optional<Seconds> duration;  // wall-clock window; the answer is what was done in it
  std::optional<Tokens> tokens;     // target, as `steps`; the answer is when it is reached
  std::optional<std::int64_t> steps;
  std::optional<Budget> budget;
  std::optional<std::int64_t> start;  // seconds since 1970-01-01T00:00Z; only dates depend on it
  std::optional<BatchRampSpec> batch_ramp;
  std::vector<PhaseSpec> phases;  // empty: one phase, as the scenario says
  std::vector<ReworkSpec> rework;
};

// The phases of the run, those of a batch ramp included; empty for a run of one phase.
[[nodiscard]] std::vector<PhaseSpec> phases_of(const TrainingSpec& spec, std::int64_t global_batch,
                                               std::int64_t sequence_length);

struct EvaluationSpec {
  std::int64_t every_steps = 1;
  Seconds duration;
};

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
  bool reloads = false;  // its ranks hold other parts of the state than those of the phase before
};

// What the step stage found, as plain numbers.
struct StepInput {
  SimTime step_time;
  SimTime update = {};  // part of it in which the optimizer changes the weights
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
