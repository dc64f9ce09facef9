// Keys of `local_steps`, `variation` and `data`: what is not alike, and what is not there in time.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"
#include "sim/step/step_spec.hpp"

namespace orrery::scenario {

namespace {

using step::DataSpec;
using step::LocalStepsSpec;
using step::Packing;
using step::VariationSpec;
using yaml::between;
namespace kind = yaml::kind;

LocalStepsSpec& local_steps(Draft& draft) {
  return draft.scenario.step.local_steps;
}

DataSpec& data(Draft& draft) {
  return draft.scenario.step.data;
}

void add_local_steps(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "local_steps",
       .note = "all replicas meet in every step",
       .meaning = "Islands of replicas that train alone and meet in an outer step (DiLoCo).",
       .example = "{every: 500, islands: 8, rate: 1Gbps}"}));
  keys.push_back(value_key<kind::Count>(
      {.path = "local_steps.every",
       .meaning = "Inner steps between two outer ones.",
       .example = "500",
       .required = true},
      between<std::int64_t>(1, 1'000'000),
      [](Draft& draft, const std::int64_t& value) { local_steps(draft).every = value; }));
  keys.push_back(value_key<kind::Count>(
      {.path = "local_steps.islands",
       .meaning = "Islands; they divide the replicas (layout.data).",
       .example = "8",
       .required = true},
      between<std::int64_t>(2, 65'536),
      [](Draft& draft, const std::int64_t& value) { local_steps(draft).islands = value; }));
  keys.push_back(value_key<kind::Bandwidth>(
      {.path = "local_steps.rate",
       .note = "the NICs of one island",
       .meaning = "What one island sends to the next, one direction.",
       .example = "1Gbps"},
      yaml::above(bytes_per_second(0.0)),
      [](Draft& draft, const BytesPerSecond& value) { local_steps(draft).rate = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "local_steps.latency",
       .fallback = "0",
       .meaning = "One hop between islands; the ring takes 2 (islands - 1) of them.",
       .example = "80ms"},
      between(Seconds{}, hours(1.0)),
      [](Draft& draft, const Seconds& value) { local_steps(draft).latency = value; }));
  keys.push_back(choice_key<double>(
      {.path = "local_steps.precision",
       .fallback = "fp32",
       .meaning = "Type of the parameters' differences on the wire.",
       .example = "int8"},
      {{"fp32", 32.0}, {"bf16", 16.0}, {"fp8", 8.0}, {"int8", 8.0}, {"int4", 4.0}},
      [](Draft& draft, double value) { local_steps(draft).bits = value; }));
  keys.push_back(value_key<kind::Boolean>(
      {.path = "local_steps.overlap",
       .fallback = "false",
       .meaning = "The outer all-reduce streams beside the inner steps.",
       .example = "true"},
      {},
      [](Draft& draft, const bool& value) { local_steps(draft).overlap = value; }));
}

Key variation_number(KeyText text, yaml::Range<double> range, double VariationSpec::*field) {
  return value_key<kind::Number>(
      std::move(text), range, [field](Draft& draft, const double& value) {
        draft.scenario.step.variation.*field = value;
      });
}

Key variation_count(KeyText text,
                    const yaml::Range<std::int64_t>& range,
                    std::int64_t VariationSpec::*field) {
  return value_key<kind::Count>(
      std::move(text), range, [field](Draft& draft, const std::int64_t& value) {
        draft.scenario.step.variation.*field = value;
      });
}

void add_variation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "variation",
                              .note = "all GPUs of a type are alike",
                              .meaning = "How unequal GPUs are; groups wait for their slowest.",
                              .example = "{gpu_sigma: 0.02, draws: 100}"}));
  keys.push_back(variation_number({.path = "variation.gpu_sigma",
                                   .fallback = "0",
                                   .meaning = "Standard deviation of the compute time between "
                                              "GPUs, relative to its mean.",
                                   .example = "0.02"},
                                  between(0.0, 0.3),
                                  &VariationSpec::gpu_sigma));
  keys.push_back(
      variation_number({.path = "variation.node_sigma",
                        .fallback = "0",
                        .meaning = "The same between nodes; the GPUs of a node share it.",
                        .example = "0.01"},
                       between(0.0, 0.3),
                       &VariationSpec::node_sigma));
  keys.push_back(variation_number({.path = "variation.slow_share",
                                   .fallback = "0",
                                   .meaning = "Share of GPUs that are slow beyond the spread.",
                                   .example = "0.001"},
                                  between(0.0, 1.0),
                                  &VariationSpec::slow_share));
  keys.push_back(variation_number({.path = "variation.slow_factor",
                                   .fallback = "1.2",
                                   .meaning = "How many times as long those compute.",
                                   .example = "1.5"},
                                  between(1.0, 100.0),
                                  &VariationSpec::slow_factor));
  keys.push_back(variation_count({.path = "variation.draws",
                                  .fallback = "1",
                                  .meaning = "Sets of machines that are drawn; the step of the "
                                             "median one is shown, step_time has their quantiles.",
                                  .example = "100"},
                                 between<std::int64_t>(1, 10'000),
                                 &VariationSpec::draws));
  keys.push_back(variation_count({.path = "variation.seed",
                                  .fallback = "1",
                                  .meaning = "Start of their random streams.",
                                  .example = "7"},
                                 yaml::at_least<std::int64_t>(0),
                                 &VariationSpec::seed));
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
       .example = "2B"},
      yaml::above(bytes(0.0)),
      [](Draft& draft, const Bytes& value) { data(draft).bytes_per_token = value; }));
  keys.push_back(value_key<kind::Bandwidth>(
      {.path = "data.read_bandwidth",
       .note = "never short",
       .meaning = "What one node reads from storage.",
       .example = "1GB/s"},
      yaml::above(bytes_per_second(0.0)),
      [](Draft& draft, const BytesPerSecond& value) { data(draft).read_bandwidth = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "data.tokens_per_second",
       .note = "never short",
       .meaning = "What the loader processes of one node prepare.",
       .example = "500000"},
      yaml::above(0.0),
      [](Draft& draft, const double& value) { data(draft).tokens_per_second = value; }));
  keys.push_back(value_key<kind::Boolean>(
      {.path = "data.prefetch",
       .fallback = "true",
       .meaning = "The next batch is prepared while the step runs.",
       .example = "false"},
      {},
      [](Draft& draft, const bool& value) { data(draft).prefetch = value; }));
}

void add_documents(std::vector<Key>& keys) {
  keys.push_back(choice_key<Packing>(
      {.path = "data.packing",
       .fallback = "packed",
       .meaning = "packed: documents follow one another and attend across their borders; masked: "
                  "attention stays inside a document; padded: one document a sequence.",
       .example = "masked"},
      {{"packed", Packing::packed}, {"masked", Packing::masked}, {"padded", Packing::padded}},
      [](Draft& draft, Packing value) { data(draft).packing = value; }));
  keys.push_back(value_key<kind::Count>(
      {.path = "data.document_length",
       .note = "required by masked and padded",
       .meaning = "Mean length of a document, tokens; those longer than a sequence are cut.",
       .example = "1200"},
      between<std::int64_t>(1, std::int64_t{1} << 40U),
      [](Draft& draft, const std::int64_t& value) { data(draft).document_length = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "data.document_sigma",
       .fallback = "0",
       .meaning = "Deviation of the logarithm of a document's length; 0: all alike.",
       .example = "1.2"},
      between(0.0, 3.0),
      [](Draft& draft, const double& value) { data(draft).document_sigma = value; }));
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
