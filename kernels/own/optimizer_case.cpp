#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/device/fill.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRuns = 16;
constexpr std::int64_t kRun = 1024;                      // neighbouring elements that are checked
constexpr std::int64_t kChunk = std::int64_t{16} << 20;  // elements read to the host at once
constexpr reference::AdamwSettings kSettings = {.step = 10.0};
constexpr float kStateDeviation = 0.01F;
constexpr float kSecondScale = 1e-4F;

template <typename G>
class GradientNormCase final : public OwnCase {
 public:
  explicit GradientNormCase(const KernelCase& kernel) : elements_(extent(kernel, "elements")) {
    GradientNorm<G> norm;
    norm.elements = elements_;
    blocks_ = gradient_norm_blocks(norm);
    gradient_ = random(kElementOf<G>, 1, elements_);
    partial_ = room(Element::fp32, 1, blocks_);
    norm_ = output("norm", Element::fp32, 1, 1);
  }

 private:
  void enqueue(const Set& set, Stream stream) const override {
    launch_gradient_norm(GradientNorm<G>{.gradient = set.as<G>(gradient_),
                                         .partial = set.as<float>(partial_),
                                         .norm = set.as<float>(norm_),
                                         .elements = elements_},
                         blocks_, stream);
  }

  // The whole gradient, in pieces.
  void compare(Check& check) const override {
    check.call();
    double squares = 0.0;
    for (std::int64_t first = 0; first < elements_; first += kChunk) {
      const double norm = reference::gradient_norm(
          check.run(gradient_, first, std::min(kChunk, elements_ - first)));
      squares += norm * norm;
    }
    // Squares are positive: a sum that grows in one thread loses a little in every step.
    const double expected = std::sqrt(squares);
    check.expect_row(norm_, 0, std::array{expected},
                     reference::tolerance_of(Element::fp32,
                                             {.terms = static_cast<double>(elements_ / blocks_ + 1),
                                              .magnitude = expected}));
  }

  std::int64_t elements_;
  int blocks_ = 0;
  Operand gradient_, partial_, norm_;
};

template <typename G>
class AdamwCase final : public OwnCase {
 public:
  explicit AdamwCase(const KernelCase& kernel) : elements_(extent(kernel, "elements")) {
    gradient_ = random(kElementOf<G>, 1, elements_, kStateDeviation);
    weight_ = random(Element::fp32, 1, elements_);
    first_ = random(Element::fp32, 1, elements_, kStateDeviation);
    second_ = room(Element::fp32, 1, elements_);
    narrow_ = output("narrow weight", Element::bf16, 1, elements_);
  }

 private:
  // Second moments are not negative.
  void fill(Set& set, Stream stream) const override {
    const DeviceBuffer& second = set[second_].buffer;
    fill_uniform(second.data(), Element::fp32, second.bytes() / bytes_of(Element::fp32, 1),
                 {.seed = set.seed, .low = 0.0F, .high = kSecondScale}, stream);
  }

  void enqueue(const Set& set, Stream stream) const override {
    AdamwUpdate<G> update;
    update.gradient = set.as<G>(gradient_);
    update.weight = set.as<float>(weight_);
    update.first = set.as<float>(first_);
    update.second = set.as<float>(second_);
    update.narrow = set.as<__nv_bfloat16>(narrow_);
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

  void compare(Check& check) const override {
    const std::int64_t count = std::min(kRun, elements_);
    std::vector<std::array<std::vector<double>, 4>> before;
    const std::vector<std::int64_t> runs = sampled((elements_ - count) + 1, kSampledRuns);
    for (const std::int64_t at : runs) {
      before.push_back({check.run(weight_, at, count), check.run(first_, at, count),
                        check.run(second_, at, count), check.run(gradient_, at, count)});
    }
    check.call();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      compare_run(runs[run], before[run], check);
    }
  }

  // before: weight, first and second moment, gradient.
  void compare_run(std::int64_t at, const std::array<std::vector<double>, 4>& before,
                   Check& check) const {
    const auto count = static_cast<std::int64_t>(before[0].size());
    const auto weight = check.run(weight_, at, count);
    const auto first = check.run(first_, at, count);
    const auto second = check.run(second_, at, count);
    const auto narrow = check.run(narrow_, at, count);
    constexpr auto kFp32 = Element::fp32;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double g = before[3][i];
      const auto expected =
          reference::adamw(kSettings, {before[0][i], before[1][i], before[2][i]}, g);
      const auto add = [&](std::string_view what, double found, double wanted, Element format,
                           double magnitude) {
        constexpr double kTerms = 2.0;
        check.comparison.add(
            what, 0, at + static_cast<std::int64_t>(i), found, wanted,
            reference::tolerance_of(format, {.terms = kTerms, .magnitude = magnitude}));
      };
      const double size = std::abs(before[0][i]);
      add("weight", weight[i], expected.weight, kFp32, size);
      add("first", first[i], expected.first, kFp32, std::abs(before[1][i]) + std::abs(g));
      add("second", second[i], expected.second, kFp32, expected.second);
      add("narrow weight", narrow[i], expected.weight, Element::bf16, size);
    }
  }

  std::int64_t elements_;
  Operand gradient_, weight_, first_, second_, narrow_;
};

}  // namespace

std::unique_ptr<Runnable> make_optimizer(const KernelCase& kernel, const PrepareOptions& options) {
  const bool wide = kernel.precision == Precision::fp32;
  if (kernel.operation == Operation::gradient_norm) {
    return wide ? make_own<GradientNormCase<float>>(kernel, options)
                : make_own<GradientNormCase<__nv_bfloat16>>(kernel, options);
  }
  return wide ? make_own<AdamwCase<float>>(kernel, options)
              : make_own<AdamwCase<__nv_bfloat16>>(kernel, options);
}

}  // namespace orrery::kernels
