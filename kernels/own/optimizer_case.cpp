#include <algorithm>
#include <cmath>

#include "kernels/families.hpp"
#include "kernels/own/optimizer.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/reference/optimizer.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRuns = 16;
constexpr std::int64_t kRun = 1024;                      // neighbouring elements that are checked
constexpr std::int64_t kChunk = std::int64_t{16} << 20;  // elements read to the host at once
constexpr reference::AdamwSettings kSettings = {.step = 10.0};
constexpr float kStateDeviation = 0.01F;
constexpr float kSecondScale = 1e-4F;

// Elements [first, first + count) as numbers.
std::vector<double> read_run(const DeviceMatrix& matrix,
                             std::int64_t first,
                             std::int64_t count,
                             Stream stream) {
  const auto values = read_elements(matrix.buffer.data(), matrix.element, first, count, stream);
  return {values.begin(), values.end()};
}

template <typename G>
class GradientNormFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix gradient, partial, norm;
  };

  explicit GradientNormFamily(const KernelCase& kernel) : elements_(extent(kernel, "elements")) {
    GradientNorm<G> norm;
    norm.elements = elements_;
    blocks_ = gradient_norm_blocks(norm);
  }

  [[nodiscard]] std::int64_t set_bytes() const {
    return matrix_bytes(kElementOf<G>, 1, elements_) + matrix_bytes(Element::fp32, 1, blocks_) +
           matrix_bytes(Element::fp32, 1, 1);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    return {.gradient = random_matrix(kElementOf<G>, 1, elements_, seed, 0, stream),
            .partial = make_matrix(Element::fp32, 1, blocks_),
            .norm = make_matrix(Element::fp32, 1, 1)};
  }

  void launch(const Set& set, Stream stream) const {
    launch_gradient_norm(GradientNorm<G>{.gradient = set.gradient.template as<G>(),
                                         .partial = set.partial.template as<float>(),
                                         .norm = set.norm.template as<float>(),
                                         .elements = elements_},
                         blocks_,
                         stream);
  }

  // The whole gradient, in pieces.
  void check(const Set& set, Stream stream, Comparison& comparison) const {
    mark_unwritten(set.norm, stream);
    launch(set, stream);
    check_written(set.norm, "norm", stream, comparison);
    double squares = 0.0;
    for (std::int64_t first = 0; first < elements_; first += kChunk) {
      const double norm = reference::gradient_norm(
          read_run(set.gradient, first, std::min(kChunk, elements_ - first), stream));
      squares += norm * norm;
    }
    // Squares are positive: a sum that grows in one thread loses a little in every step.
    const double expected = std::sqrt(squares);
    const auto tolerance = reference::tolerance_of(
        reference::NumberFormat::fp32,
        {.terms = static_cast<double>(elements_ / blocks_ + 1), .magnitude = expected});
    comparison.add("norm", 0, 0, read_row(set.norm, 0, stream).front(), expected, tolerance);
  }

 private:
  std::int64_t elements_;
  int blocks_ = 0;
};

template <typename G>
class AdamwFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix gradient, weight, first, second, narrow;
  };

  explicit AdamwFamily(const KernelCase& kernel) : elements_(extent(kernel, "elements")) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    return matrix_bytes(kElementOf<G>, 1, elements_) +
           3 * matrix_bytes(Element::fp32, 1, elements_) +
           matrix_bytes(Element::bf16, 1, elements_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set{
        .gradient = random_matrix(kElementOf<G>, 1, elements_, seed, 0, stream, kStateDeviation),
        .weight = random_matrix(Element::fp32, 1, elements_, seed, 1, stream),
        .first = random_matrix(Element::fp32, 1, elements_, seed, 2, stream, kStateDeviation),
        .second = make_matrix(Element::fp32, 1, elements_),
        .narrow = make_matrix(Element::bf16, 1, elements_)};
    // Second moments are not negative.
    const std::int64_t padded = set.second.buffer.bytes() / bytes_of(Element::fp32, 1);
    fill_uniform(set.second.buffer.data(),
                 Element::fp32,
                 padded,
                 {.seed = seed, .low = 0.0F, .high = kSecondScale},
                 stream);
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    AdamwUpdate<G> update;
    update.gradient = set.gradient.template as<G>();
    update.weight = set.weight.template as<float>();
    update.first = set.first.template as<float>();
    update.second = set.second.template as<float>();
    update.narrow = set.narrow.template as<__nv_bfloat16>();
    update.elements = elements_;
    update.rate = static_cast<float>(kSettings.rate);
    update.beta1 = static_cast<float>(kSettings.beta1);
    update.beta2 = static_cast<float>(kSettings.beta2);
    update.epsilon = static_cast<float>(kSettings.epsilon);
    update.decay = static_cast<float>(kSettings.decay);
    update.clip = static_cast<float>(kSettings.clip);
    update.first_correction =
        static_cast<float>(1.0 / (1.0 - std::pow(kSettings.beta1, kSettings.step)));
    update.second_correction =
        static_cast<float>(1.0 / (1.0 - std::pow(kSettings.beta2, kSettings.step)));
    launch_adamw(update, stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    const std::int64_t count = std::min(kRun, elements_);
    std::vector<std::vector<double>> before;
    const std::vector<std::int64_t> runs = sampled((elements_ - count) + 1, kSampledRuns);
    for (const std::int64_t first : runs) {
      for (const DeviceMatrix* matrix : {&set.weight, &set.first, &set.second, &set.gradient}) {
        before.push_back(read_run(*matrix, first, count, stream));
      }
    }
    mark_unwritten(set.narrow, stream);
    launch(set, stream);
    check_written(set.narrow, "narrow weight", stream, comparison);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      check_run(set, runs[run], {&before[4 * run], 4}, stream, comparison);
    }
  }

 private:
  void check_run(const Set& set,
                 std::int64_t at,
                 std::span<const std::vector<double>> before,
                 Stream stream,
                 Comparison& comparison) const {
    const auto count = static_cast<std::int64_t>(before[0].size());
    const auto weight = read_run(set.weight, at, count, stream);
    const auto first = read_run(set.first, at, count, stream);
    const auto second = read_run(set.second, at, count, stream);
    const auto narrow = read_run(set.narrow, at, count, stream);
    constexpr double kTerms = 2.0;
    const auto tolerance = [](reference::NumberFormat format, double magnitude) {
      return reference::tolerance_of(format, {.terms = kTerms, .magnitude = magnitude});
    };
    constexpr auto kFp32 = reference::NumberFormat::fp32;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double g = before[3][i];
      const auto expected =
          reference::adamw(kSettings, {before[0][i], before[1][i], before[2][i]}, g);
      const std::int64_t column = at + static_cast<std::int64_t>(i);
      const double size = std::abs(before[0][i]);
      comparison.add("weight", 0, column, weight[i], expected.weight, tolerance(kFp32, size));
      comparison.add("first",
                     0,
                     column,
                     first[i],
                     expected.first,
                     tolerance(kFp32, std::abs(before[1][i]) + std::abs(g)));
      comparison.add(
          "second", 0, column, second[i], expected.second, tolerance(kFp32, expected.second));
      comparison.add("narrow weight",
                     0,
                     column,
                     narrow[i],
                     expected.weight,
                     tolerance(reference::NumberFormat::bf16, size));
    }
  }

  std::int64_t elements_;
};

}  // namespace

std::unique_ptr<Runnable> make_optimizer(const KernelCase& kernel, const PrepareOptions& options) {
  const bool wide = kernel.precision == Precision::fp32;
  if (kernel.operation == Operation::gradient_norm) {
    return wide ? make_own<GradientNormFamily<float>>(kernel, options)
                : make_own<GradientNormFamily<__nv_bfloat16>>(kernel, options);
  }
  return wide ? make_own<AdamwFamily<float>>(kernel, options)
              : make_own<AdamwFamily<__nv_bfloat16>>(kernel, options);
}

}  // namespace orrery::kernels
