// Attention in 8 bits, computed on the host as cuDNN's graphs describe it, against the reference:
// the tolerance passes the rounding and fails the mistakes that a wrong graph would make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/attention/attention_case.hpp"
#include "kernels/device/random.hpp"
#include "kernels/reference/number_format.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {
namespace {

constexpr std::size_t kRows = 160;
constexpr std::size_t kDim = 128;

using Values = std::vector<double>;

double stored(const Stored& as, double value) {
  return reference::rounded(as.element, value * as.scale) / as.scale;
}

Values random_values(const Stored& as, std::uint64_t seed) {
  Values values(kRows * kDim);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = stored(as, static_cast<double>(normal_at(seed, i)));
  }
  return values;
}

reference::RowsView view(const Values& values) { return {values, 0, kDim, kDim, kRows}; }

// One head with as many keys as queries.
struct Head {
  explicit Head(const AttentionFormats& with, bool is_causal, std::uint64_t seed)
      : formats(with),
        q(random_values(with.operand, 4 * seed + 1)),
        k(random_values(with.operand, 4 * seed + 2)),
        v(random_values(with.operand, 4 * seed + 3)),
        d_o(random_values(with.output_gradient, 4 * seed + 4)),
        causal(is_causal) {}

  [[nodiscard]] reference::AttentionHead head() const {
    return {view(q), view(k), view(v), causal, 1.0 / std::sqrt(static_cast<double>(kDim))};
  }

  AttentionFormats formats;
  Values q, k, v, d_o;
  bool causal;
};

// Results of an 8-bit kernel; each mistake is one that a graph with a wrong edge would make.
struct Mistakes {
  double probability_unscale = 1.0;  // times what it should be
  bool other_mask = false;
  double score_gradient_unscale = 1.0;
};

struct Results {
  Values o, log_sum, d_q, d_k, d_v;
};

Results narrow_attention(const Head& given, const Mistakes& mistakes = {}) {
  Results r{.o = Values(kRows * kDim),
            .log_sum = Values(kRows),
            .d_q = Values(kRows * kDim),
            .d_k = Values(kRows * kDim),
            .d_v = Values(kRows * kDim)};
  const reference::AttentionHead head = given.head();
  const AttentionFormats& formats = given.formats;
  const bool causal = given.causal != mistakes.other_mask;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t count = causal ? i + 1 : kRows;
    const auto dot = [](const Values& a, std::size_t x, const Values& b, std::size_t y) {
      double sum = 0.0;
      for (std::size_t c = 0; c < kDim; ++c) {
        sum += a[x * kDim + c] * b[y * kDim + c];
      }
      return sum;
    };
    Values p(count);
    double sum = 0.0;
    for (std::size_t j = 0; j < count; ++j) {
      p[j] = std::exp(head.scale * dot(given.q, i, given.k, j));
      sum += p[j];
    }
    r.log_sum[i] = std::log(sum);
    for (std::size_t j = 0; j < count; ++j) {
      p[j] /= sum;
      const double kept = stored(formats.probability, p[j]) * mistakes.probability_unscale;
      for (std::size_t c = 0; c < kDim; ++c) {
        r.o[i * kDim + c] += kept * given.v[j * kDim + c];
        r.d_v[j * kDim + c] += kept * given.d_o[i * kDim + c];
      }
    }
    for (std::size_t c = 0; c < kDim; ++c) {
      r.o[i * kDim + c] = stored(formats.operand, r.o[i * kDim + c]);
    }
    const double along = dot(given.d_o, i, r.o, i);
    for (std::size_t j = 0; j < count; ++j) {
      const double exact = head.scale * p[j] * (dot(given.d_o, i, given.v, j) - along);
      const double kept = stored(formats.score_gradient, exact) * mistakes.score_gradient_unscale;
      for (std::size_t c = 0; c < kDim; ++c) {
        r.d_q[i * kDim + c] += kept * given.k[j * kDim + c];
        r.d_k[j * kDim + c] += kept * given.q[i * kDim + c];
      }
    }
  }
  for (Values* gradient : {&r.d_q, &r.d_k, &r.d_v}) {
    for (double& value : *gradient) {
      value = stored(formats.gradient, value);
    }
  }
  return r;
}

double worst_of(const Values& found, std::size_t row, const Values& expected,
                const reference::Tolerance& tolerance) {
  double worst = 0.0;
  for (std::size_t c = 0; c < expected.size(); ++c) {
    worst = std::max(worst, reference::error_of(found[row * kDim + c], expected[c], tolerance));
  }
  return worst;
}

struct Worst {
  double o = 0.0;
  double log_sum = 0.0;
  double d_q = 0.0;
  double d_k = 0.0;
  double d_v = 0.0;
};

// Every row, as attention.cpp compares some.
Worst judged(const Head& given, const Results& found) {
  Worst worst;
  const reference::AttentionHead head = given.head();
  const AttentionFormats& formats = given.formats;
  constexpr auto kTerms = static_cast<std::int64_t>(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto row = reference::attention_row(head, i);
    const auto forward = output_tolerance(formats, row.magnitude, kTerms);
    worst.o = std::max(worst.o, worst_of(found.o, i, row.output, forward));
    worst.log_sum = std::max(worst.log_sum, reference::error_of(found.log_sum[i], row.log_sum,
                                                                log_sum_tolerance(formats)));
    const auto d_k =
        reference::key_value_gradient(head, i, view(given.d_o), view(found.o), found.log_sum);
    const auto of_scores = [&](const Values& line) {
      return gradient_tolerance(formats, formats.score_gradient, line, kTerms);
    };
    worst.d_k = std::max(worst.d_k, worst_of(found.d_k, i, d_k.key, of_scores(d_k.key)));
    worst.d_v = std::max(
        worst.d_v, worst_of(found.d_v, i, d_k.value,
                            gradient_tolerance(formats, formats.probability, d_k.value, kTerms)));
    if (i < 2) {
      continue;  // the first query's dQ is rounding noise: attention.cpp passes over it
    }
    const std::span<const double> d_o(given.d_o.data() + i * kDim, kDim);
    const std::span<const double> o(found.o.data() + i * kDim, kDim);
    const auto d_q = reference::query_gradient(head, i, d_o, o, found.log_sum[i]);
    worst.d_q = std::max(worst.d_q, worst_of(found.d_q, i, d_q, of_scores(d_q)));
  }
  return worst;
}

TEST(AttentionFormats, TheToleranceOfEightBitsPassesTheirRounding) {
  for (const Element gradients : {Element::e5m2, Element::e4m3}) {
    const AttentionFormats formats = attention_formats(Precision::fp8_tensor, gradients);
    for (const bool causal : {true, false}) {
      const Head head(formats, causal, causal ? 1 : 2);
      const Worst worst = judged(head, narrow_attention(head));
      const std::string where = std::string(gradients == Element::e5m2 ? "e5m2" : "e4m3") +
                                (causal ? " causal" : " full");
      for (const double error : {worst.o, worst.log_sum, worst.d_q, worst.d_k, worst.d_v}) {
        EXPECT_LT(error, 1.0) << where << ": " << worst.o << " " << worst.d_q << " " << worst.d_k
                              << " " << worst.d_v;
      }
    }
  }
}

TEST(AttentionFormats, TheToleranceOfEightBitsFailsAWrongGraph) {
  const AttentionFormats formats = attention_formats(Precision::fp8_tensor);
  const Head head(formats, true, 3);
  constexpr double kPlain = 2.0;  // well beyond: no mistake may pass by chance
  const Worst mask = judged(head, narrow_attention(head, {.other_mask = true}));
  EXPECT_GT(mask.o, kPlain);
  EXPECT_GT(mask.log_sum, kPlain);
  EXPECT_GT(mask.d_q, kPlain);
  const Worst doubled = judged(head, narrow_attention(head, {.probability_unscale = 2.0}));
  EXPECT_GT(doubled.o, kPlain);
  EXPECT_GT(doubled.d_v, kPlain);
  const Worst unscaled =
      judged(head, narrow_attention(head, {.score_gradient_unscale = 1.0 / 2.0}));
  EXPECT_GT(unscaled.d_q, 1.0);
  EXPECT_GT(unscaled.d_k, 1.0);
  Head other = head;  // keys of another head
  other.k = random_values(formats.operand, 99);
  const Worst heads = judged(head, narrow_attention(other));
  EXPECT_GT(heads.o, kPlain);
}

// What is stored stays below the largest number of its format: nothing saturates.
TEST(AttentionFormats, EightBitScalesLeaveRoom) {
  for (const Element gradients : {Element::e5m2, Element::e4m3}) {
    const AttentionFormats formats = attention_formats(Precision::fp8_tensor, gradients);
    const auto room = [](const Stored& as, double most) {
      return reference::largest(as.element) / as.scale / most;
    };
    constexpr double kNormal = 6.0;  // N(0, 1) among 10^9 elements
    EXPECT_GE(room(formats.operand, kNormal), 1.0);
    EXPECT_GE(room(formats.probability, 1.0), 1.0);
    EXPECT_GE(room(formats.output_gradient, kNormal), 1.0);
    // p (1 - p) of the largest product of rows of 128, divided by sqrt(128).
    EXPECT_GE(room(formats.score_gradient, kNormal * 2.0), 1.0);
    EXPECT_GE(room(formats.gradient, kNormal * std::sqrt(64.0)), 1.0);
  }
}

TEST(AttentionFormats, SixteenBitsHaveNoScales) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const AttentionFormats formats = attention_formats(precision);
    EXPECT_FALSE(formats.narrow());
    for (const Stored& as : {formats.operand, formats.probability, formats.output_gradient,
                             formats.score_gradient, formats.gradient}) {
      EXPECT_EQ(as.scale, 1.0);
      EXPECT_EQ(bits_of(as.element), 16);
    }
  }
  EXPECT_THROW(static_cast<void>(attention_formats(Precision::mxfp8)), Unsupported);
}

TEST(AttentionFormats, EightBitSetsTakeHalfTheBytes) {
  const auto bytes = [](const std::string& precision, const std::string& role) {
    const auto parsed = parse_case("attention " + role + " " + precision +
                                   " sequences=1 heads=8 groups=2 queries=1024 keys=1024 "
                                   "dim_qk=128 dim_v=128 causal=1");
    return set_bytes(attention_shape(*parsed.kernel));
  };
  constexpr std::int64_t kRowBytes = std::int64_t{4} * 8 * 1024;  // one fp32 a query and head
  for (const std::string role : {"forward", "backward"}) {
    const std::int64_t rows = role == "forward" ? kRowBytes : 2 * kRowBytes;
    EXPECT_EQ(2 * (bytes("fp8_tensor", role) - rows), bytes("bf16", role) - rows) << role;
  }
}

}  // namespace
}  // namespace orrery::kernels
