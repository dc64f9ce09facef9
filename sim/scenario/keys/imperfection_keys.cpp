// Keys of `local_steps`, `variation` and `data`: what is not alike, and what is not there in time.

#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

namespace {

using step::Packing;
using yaml::between;
namespace kind = yaml::kind;

constexpr Idle kNoSpread = ORRERY_WHEN(!d.scenario.step.variation.drawn(), "no spread is stated");

void add_local_steps(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "local_steps",
       .note = "all replicas meet in every step",
       .meaning = "Islands of replicas that train alone and meet in an outer step (DiLoCo).",
       .example = "{every: 500, islands: 8, rate: 1Gbps}"}));
  keys.push_back(count_key({.path = "local_steps.every",
                            .meaning = "Inner steps between two outer ones.",
                            .example = "500",
                            .required = true},
                           {1, 1'000'000}, ORRERY_AT(scenario.step.local_steps.every)));
  keys.push_back(count_key({.path = "local_steps.islands",
                            .meaning = "Islands; they divide the replicas (layout.data).",
                            .example = "8",
                            .required = true},
                           {2, 65'536}, ORRERY_AT(scenario.step.local_steps.islands)));
  keys.push_back(value_key<kind::Bandwidth>(
      {.path = "local_steps.rate",
       .note = "the NICs of one island",
       .meaning = "What one island sends to the next, one direction.",
       .example = "1Gbps"},
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.local_steps.rate)));
  keys.push_back(value_key<kind::Time>(
      {.path = "local_steps.latency",
       .fallback = "0",
       .meaning = "One hop between islands; the ring takes 2 (islands - 1) of them.",
       .example = "80ms"},
      between(Seconds{}, hours(1.0)), ORRERY_AT(scenario.step.local_steps.latency)));
  keys.push_back(choice_key<double>(
      {.path = "local_steps.precision",
       .fallback = "fp32",
       .meaning = "Type of the parameters' differences on the wire.",
       .example = "int8"},
      {{"fp32", 32.0}, {"bf16", 16.0}, {"fp8", 8.0}, {"int8", 8.0}, {"int4", 4.0}},
      ORRERY_AT(scenario.step.local_steps.bits)));
  keys.push_back(flag_key({.path = "local_steps.overlap",
                           .fallback = "false",
                           .meaning = "The outer all-reduce streams beside the inner steps.",
                           .example = "true"},
                          ORRERY_AT(scenario.step.local_steps.overlap)));
}

void add_slow_gpus(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "variation.slow_gpus",
                           .note = "none",
                           .meaning = "GPUs that are slow, by place.",
                           .example = "[{node: 40, gpu: 1, factor: 1.25}]"},
                          ORRERY_AT(scenario.step.variation.slow_gpus)));
  keys.push_back(count_key({.path = "variation.slow_gpus[].node",
                            .meaning = "Number of the node, from 0.",
                            .example = "40",
                            .required = true},
                           {0, 1'000'000},
                           ORRERY_AT(scenario.step.variation.slow_gpus.back().node)));
  keys.push_back(count_key({.path = "variation.slow_gpus[].gpu",
                            .note = "all GPUs of the node",
                            .meaning = "Number of the GPU in the node, from 0.",
                            .example = "1"},
                           {0, 1024}, ORRERY_AT(scenario.step.variation.slow_gpus.back().gpu)));
  keys.push_back(value_key<kind::Number>(
      {.path = "variation.slow_gpus[].factor",
       .meaning = "How many times as long they compute.",
       .example = "1.25",
       .required = true},
      between(1.0, 100.0), ORRERY_AT(scenario.step.variation.slow_gpus.back().factor)));
}

void add_variation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "variation",
                              .note = "all GPUs of a type are alike",
                              .meaning = "How unequal GPUs are; groups wait for their slowest.",
                              .example = "{gpu_sigma: 0.02, draws: 100}"}));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.gpu_sigma",
                               .fallback = "0",
                               .meaning = "Standard deviation of the compute time between "
                                          "GPUs, relative to its mean.",
                               .example = "0.02"},
                              between(0.0, 0.3), ORRERY_AT(scenario.step.variation.gpu_sigma)));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.node_sigma",
                               .fallback = "0",
                               .meaning = "The same between nodes; the GPUs of a node share it.",
                               .example = "0.01"},
                              between(0.0, 0.3), ORRERY_AT(scenario.step.variation.node_sigma)));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.slow_share",
                               .fallback = "0",
                               .meaning = "Share of GPUs that are slow beyond the spread.",
                               .example = "0.001"},
                              between(0.0, 1.0), ORRERY_AT(scenario.step.variation.slow_share)));
  keys.push_back(value_key<kind::Number>(
      {.path = "variation.slow_factor",
       .fallback = "1.2",
       .meaning = "How many times as long those compute.",
       .example = "1.5",
       .idle = {ORRERY_WHEN(d.scenario.step.variation.slow_share == 0.0, "slow_share is 0")}},
      between(1.0, 100.0), ORRERY_AT(scenario.step.variation.slow_factor)));
  add_slow_gpus(keys);
  keys.push_back(count_key({.path = "variation.draws",
                            .fallback = "1",
                            .meaning = "Sets of machines that are drawn; the step of the "
                                       "median one is shown, step_time has their quantiles.",
                            .example = "100",
                            .idle = {kNoSpread}},
                           {1, 10'000}, ORRERY_AT(scenario.step.variation.draws)));
  keys.push_back(count_key({.path = "variation.seed",
                            .fallback = "1",
                            .meaning = "Start of their random streams.",
                            .example = "7",
                            .idle = {kNoSpread}},
                           yaml::at_least<std::int64_t>(0),
                           ORRERY_AT(scenario.step.variation.seed)));
}

void add_supply(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "data",
                              .note = "input is always there, sequences are full",
                              .meaning = "What is read for a step, and how documents fill it.",
                              .example = "{bytes_per_token: 4B, read_bandwidth: 1GB/s}"}));
  keys.push_back(value_key<kind::Size>(
      {.path = "data.bytes_per_token",
       .fallback = "4B",
       .meaning = "Read from storage for one token: 2B or 4B of text, hundreds with images.",
       .example = "2B",
       .idle = {ORRERY_WHEN(!d.scenario.step.data.read_bandwidth, "there is no read_bandwidth")}},
      yaml::above(bytes(0.0)), ORRERY_AT(scenario.step.data.bytes_per_token)));
  keys.push_back(value_key<kind::Bandwidth>({.path = "data.read_bandwidth",
                                             .note = "never short",
                                             .meaning = "What one node reads from storage.",
                                             .example = "1GB/s"},
                                            yaml::above(bytes_per_second(0.0)),
                                            ORRERY_AT(scenario.step.data.read_bandwidth)));
  keys.push_back(
      value_key<kind::Number>({.path = "data.tokens_per_second",
                               .note = "never short",
                               .meaning = "What the loader processes of one node prepare.",
                               .example = "500000"},
                              yaml::above(0.0), ORRERY_AT(scenario.step.data.tokens_per_second)));
  keys.push_back(flag_key({.path = "data.prefetch",
                           .fallback = "true",
                           .meaning = "The next batch is prepared while the step runs.",
                           .example = "false",
                           .idle = {ORRERY_WHEN(!d.scenario.step.data.read_bandwidth &&
                                                    !d.scenario.step.data.tokens_per_second,
                                                "the input is never short")}},
                          ORRERY_AT(scenario.step.data.prefetch)));
}

void add_documents(std::vector<Key>& keys) {
  keys.push_back(choice_key<Packing>(
      {.path = "data.packing",
       .fallback = "packed",
       .meaning = "packed: documents follow one another and attend across their borders; masked: "
                  "attention stays inside a document; padded: one document a sequence.",
       .example = "masked"},
      {{"packed", Packing::packed}, {"masked", Packing::masked}, {"padded", Packing::padded}},
      ORRERY_AT(scenario.step.data.packing)));
  keys.push_back(count_key(
      {.path = "data.document_length",
       .note = "required by masked and padded",
       .meaning = "Mean length of a document, tokens; those longer than a sequence are cut.",
       .example = "1200",
       .idle = {ORRERY_WHEN(d.scenario.step.data.packing == Packing::packed,
                            "packed documents attend across their borders")}},
      {1, std::int64_t{1} << 40U}, ORRERY_AT(scenario.step.data.document_length)));
  keys.push_back(value_key<kind::Number>(
      {.path = "data.document_sigma",
       .fallback = "0",
       .meaning = "Deviation of the logarithm of a document's length; 0: all alike.",
       .example = "1.2",
       .idle = {ORRERY_WHEN(!d.scenario.step.data.document_length, "there is no document_length")}},
      between(0.0, 3.0), ORRERY_AT(scenario.step.data.document_sigma)));
}

}  // namespace

std::vector<Key> imperfection_keys() {
  std::vector<Key> keys;
  add_local_steps(keys);
  add_variation(keys);
  add_supply(keys);
  add_documents(keys);
  return keys;
}

}  // namespace orrery::scenario
