#include "sim/step/simulate/stages/documents.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

namespace {

// Moments of the pieces: sums over l^k, weighted by the density of documents.
struct Moments {
  std::array<double, 5> sum{};  // k = 0 ... 4

  void add(double length, double weight) {
    double power = weight;
    for (double& entry : sum) {
      entry += power;
      power *= length;
    }
  }
};

struct Lengths {
  Moments pieces;
  double documents = 0.0;
  double cut = 0.0;  // tokens that are left when each is cut to one sequence
};

void add_document(Lengths& lengths, double tokens, double whole, double weight) {
  const double full = std::floor(tokens / whole);
  const double rest = tokens - full * whole;
  lengths.pieces.add(whole, weight * full);
  if (rest > 0.0) {
    lengths.pieces.add(rest, weight);
  }
  lengths.documents += weight;
  lengths.cut += weight * std::min(tokens, whole);
}

// Documents of a lognormal by its normal variable z, in steps fine enough for every moment.
Lengths integrate(const DataSpec& data, double whole) {
  constexpr double kEnd = 8.0;
  constexpr int kSteps = 4000;
  const auto mean = static_cast<double>(*data.document_length);
  const double sigma = data.document_sigma;
  Lengths lengths;
  if (sigma <= 0.0) {
    add_document(lengths, mean, whole, 1.0);
    return lengths;
  }
  const double median = mean * std::exp(-0.5 * sigma * sigma);
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kEnd + 2.0 * kEnd * i / kSteps;
    add_document(lengths, median * std::exp(sigma * z), whole, std::exp(-0.5 * z * z));
  }
  return lengths;
}

}  // namespace

DocumentShape document_shape(const DataSpec& data, std::int64_t sequence_length) {
  const auto whole = static_cast<double>(sequence_length);
  DocumentShape shape;
  shape.length = whole;
  if (data.packing == Packing::packed || !data.document_length) {
    return shape;
  }
  const Lengths lengths = integrate(data, whole);
  if (data.packing == Packing::padded) {
    shape.useful = lengths.cut / lengths.documents / whole;
    return shape;
  }
  const std::array<double, 5>& sum = lengths.pieces.sum;
  const double first = sum[1] / sum[0];
  const double second = sum[2] / sum[0];
  shape.length = second / first;
  const double variance =
      sum[4] / sum[0] - 2.0 * shape.length * sum[3] / sum[0] + shape.length * shape.length * second;
  const double pieces = whole / first;
  shape.spread = std::sqrt(std::max(0.0, pieces * variance)) / (pieces * second);
  return shape;
}

MaskedAttention masked_attention(const StepInput& input, const cost::CostModel& costs) {
  MaskedAttention masked;
  if (input.spec.data.packing != Packing::masked ||
      costs.software().attention == hardware::AttentionImplementation::unfused) {
    return masked;
  }
  const DocumentShape shape = document_shape(input.spec.data, input.model.sequence_length);
  masked.length_share = shape.length / static_cast<double>(input.model.sequence_length);
  const std::int64_t lockstep = lockstep_replicas(input);
  const std::int64_t together = lockstep == input.layout.data ? 1 : input.layout.micro_batches;
  const auto sequences = static_cast<double>(input.layout.micro_batch * together);
  masked.imbalance = expected_maximum(input.layout.data) * shape.spread / std::sqrt(sequences);
  return masked;
}

}  // namespace orrery::step
