#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/attention/attention_case.hpp"
#include "kernels/device/comparison.hpp"
#include "kernels/device/fill.hpp"
#include "kernels/device/random.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"
#include "kernels/reference/number_format.hpp"
#include "kernels/reference/operations.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

class OwnAttention final : public AttentionRunnable {
 public:
  OwnAttention(const AttentionShape& shape, const PrepareOptions& options, std::string reason)
      : AttentionRunnable(shape), reason_(std::move(reason)) {
    prepare_own_attention(shape);
    allocate(options, 0);
  }

  [[nodiscard]] std::string_view implementation() const override { return "own"; }

  [[nodiscard]] std::vector<Detail> details() const override {
    return {{"without_cudnn", reason_}};
  }

 private:
  void forward(const AttentionSet& set, Stream stream) override {
    own_attention_forward(shape(), set, stream);
  }

  void backward(const AttentionSet& set, Stream stream) override {
    own_attention_backward(shape(), set, stream);
  }

  std::string reason_;  // why cuDNN does not run it
};

std::unique_ptr<Runnable> make_own(const KernelCase& kernel, const PrepareOptions& options,
                                   std::string reason) {
  const AttentionShape shape = attention_shape(kernel);
  if (shape.formats.narrow()) {
    throw Unsupported(fmt::format("the own attention runs in bf16 and fp16, not {}; cuDNN: {}",
                                  to_string(kernel.precision), reason),
                      "not offered");
  }
  if (!own_attention_offers(shape)) {
    throw Unsupported(
        fmt::format("the own attention has head dimensions 64 and 64, 128 and 128, 192 and 128, "
                    "not {} and {}",
                    shape.dim_qk, shape.dim_v),
        "not offered");
  }
  return std::make_unique<OwnAttention>(shape, options, std::move(reason));
}

}  // namespace

std::unique_ptr<Runnable> make_attention(const KernelCase& kernel, const PrepareOptions& options) {
#if defined(ORRERY_CUDNN_ATTENTION)
  try {
    return make_cudnn_attention(kernel, options);
  } catch (const Unsupported& unsupported) {
    // What cuDNN does not offer the own kernels may; otherwise its reason stands.
    if (!own_attention_offers(attention_shape(kernel))) {
      throw;
    }
    return make_own(kernel, options, unsupported.what());
  }
#else
  return make_own(kernel, options, "not compiled in");
#endif
}

namespace {

constexpr std::uint64_t kSamples = 6;
constexpr Stored kPlain = {Element::fp32, 1.0};  // log_sum

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// All rows of one head of a tensor [sequence, row, head, dim].
struct HeadRows {
  std::vector<double> values;
  reference::RowsView view;
};

HeadRows head_rows(const DeviceBuffer& tensor, const Stored& stored, std::int64_t sequence,
                   std::int64_t head, std::int64_t heads, std::int64_t rows, std::int64_t dim,
                   Stream stream) {
  HeadRows result;
  const std::int64_t first = (sequence * rows * heads + head) * dim;
  result.values = read_rows(tensor.data(), stored, first, heads * dim, dim, rows, stream);
  result.view = {result.values, 0, size(dim), size(dim), size(rows)};
  return result;
}

// Which heads and rows are looked at: corners first, then pseudo-random ones.
struct Place {
  std::int64_t sequence;
  std::int64_t head;
  std::int64_t row;
};

std::int64_t draw(std::uint64_t index, std::int64_t bound) {
  constexpr std::uint64_t kSeed = 17;
  return integer_at(kSeed, index, static_cast<std::uint32_t>(bound));
}

Place place_of(std::uint64_t sample, std::int64_t sequences, std::int64_t heads,
               std::int64_t rows) {
  constexpr std::uint64_t kDraws = 4;
  const std::uint64_t first = sample * kDraws;
  const std::int64_t row = sample == 0 ? 0 : sample == 1 ? rows - 1 : draw(first + 2, rows);
  return {draw(first, sequences), draw(first + 1, heads), row};
}

void judge(Comparison& result, std::string_view name, const Place& place,
           const std::vector<double>& found, const std::vector<double>& expected,
           const reference::Tolerance& tolerance) {
  ORRERY_CHECK(found.size() == expected.size(), "results and reference have one width");
  const std::string what =
      fmt::format("{} of sequence {} head {} ", name, place.sequence, place.head);
  for (std::size_t i = 0; i < found.size(); ++i) {
    result.add(what, place.row, static_cast<std::int64_t>(i), found[i], expected[i], tolerance);
  }
}

// Queries of a head, keys and values of its group.
struct Head {
  HeadRows q;
  HeadRows k;
  HeadRows v;
};

Head head_at(const AttentionShape& shape, const AttentionSet& set, const Place& at, Stream stream) {
  const std::int64_t group = at.head / (shape.heads / shape.groups);
  const auto rows = [&](const DeviceBuffer& tensor, std::int64_t head, std::int64_t heads,
                        std::int64_t count, std::int64_t dim) {
    return head_rows(tensor, shape.formats.operand, at.sequence, head, heads, count, dim, stream);
  };
  return {rows(set.q, at.head, shape.heads, shape.queries, shape.dim_qk),
          rows(set.k, group, shape.groups, shape.keys, shape.dim_qk),
          rows(set.v, group, shape.groups, shape.keys, shape.dim_v)};
}

reference::AttentionHead head_of(const AttentionShape& shape, const HeadRows& q, const HeadRows& k,
                                 const HeadRows& v) {
  return {q.view, k.view, v.view, shape.causal, 1.0 / std::sqrt(static_cast<double>(shape.dim_qk))};
}

}  // namespace

std::vector<double> read_rows(const void* data, const Stored& stored, std::int64_t first,
                              std::int64_t stride, std::int64_t width, std::int64_t count,
                              Stream stream) {
  const std::vector<float> raw =
      read_rows(data, stored.element, first, stride, width, count, stream);
  std::vector<double> values(raw.begin(), raw.end());
  for (double& value : values) {
    value /= stored.scale;
  }
  return values;
}

Verification check_forward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  Comparison result;
  result.check_written(set.o.data(), shape.formats.operand.element, shape.output_elements(), "O",
                       stream);
  result.check_written(set.log_sum.data(), kPlain.element, shape.rows(), "log_sum", stream);
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const Place at = place_of(sample, shape.sequences, shape.heads, shape.queries);
    const Head head = head_at(shape, set, at, stream);
    const auto expected =
        reference::attention_row(head_of(shape, head.q, head.k, head.v), size(at.row));
    const std::int64_t output =
        ((at.sequence * shape.queries + at.row) * shape.heads + at.head) * shape.dim_v;
    judge(result, "O", at,
          read_rows(set.o.data(), shape.formats.operand, output, 0, shape.dim_v, 1, stream),
          expected.output, output_tolerance(shape.formats, expected.magnitude, shape.keys));
    const std::int64_t row = (at.sequence * shape.heads + at.head) * shape.queries + at.row;
    judge(result, "log_sum", at, read_rows(set.log_sum.data(), kPlain, row, 0, 1, 1, stream),
          {expected.log_sum}, log_sum_tolerance(shape.formats));
  }
  return result.result();
}

namespace {

// dK and dV of one key, summed over the heads of its group.
reference::KeyValueGradient summed_gradient(const AttentionShape& shape, const AttentionSet& set,
                                            const Place& at, const HeadRows& k, const HeadRows& v,
                                            Stream stream) {
  const std::int64_t shared = shape.heads / shape.groups;
  reference::KeyValueGradient sum;
  sum.key.resize(size(shape.dim_qk));
  sum.value.resize(size(shape.dim_v));
  for (std::int64_t head = at.head * shared; head < (at.head + 1) * shared; ++head) {
    const auto rows = [&](const DeviceBuffer& tensor, const Stored& stored, std::int64_t dim) {
      return head_rows(tensor, stored, at.sequence, head, shape.heads, shape.queries, dim, stream);
    };
    const HeadRows q = rows(set.q, shape.formats.operand, shape.dim_qk);
    const HeadRows d_o = rows(set.d_o, shape.formats.output_gradient, shape.dim_v);
    const HeadRows o = rows(set.o, shape.formats.operand, shape.dim_v);
    const auto log_sums =
        read_rows(set.log_sum.data(), kPlain, (at.sequence * shape.heads + head) * shape.queries, 0,
                  shape.queries, 1, stream);
    const auto part = reference::key_value_gradient(head_of(shape, q, k, v), size(at.row), d_o.view,
                                                    o.view, log_sums);
    for (std::size_t i = 0; i < part.key.size(); ++i) {
      sum.key[i] += part.key[i];
    }
    for (std::size_t i = 0; i < part.value.size(); ++i) {
      sum.value[i] += part.value[i];
    }
  }
  return sum;
}

void check_key(const AttentionShape& shape, const AttentionSet& set,
               const Place& at,  // head is a group, row a key
               Comparison& result, Stream stream) {
  const auto rows = [&](const DeviceBuffer& tensor, std::int64_t dim) {
    return head_rows(tensor, shape.formats.operand, at.sequence, at.head, shape.groups, shape.keys,
                     dim, stream);
  };
  const HeadRows k = rows(set.k, shape.dim_qk);
  const HeadRows v = rows(set.v, shape.dim_v);
  const auto expected = summed_gradient(shape, set, at, k, v, stream);
  const std::int64_t row = (at.sequence * shape.keys + at.row) * shape.groups + at.head;
  const std::int64_t terms = shape.queries * (shape.heads / shape.groups);
  judge(result, "dK", at,
        read_rows(set.d_k.data(), shape.formats.gradient, row * shape.dim_qk, 0, shape.dim_qk, 1,
                  stream),
        expected.key,
        gradient_tolerance(shape.formats, shape.formats.score_gradient, expected.key, terms));
  judge(result, "dV", at,
        read_rows(set.d_v.data(), shape.formats.gradient, row * shape.dim_v, 0, shape.dim_v, 1,
                  stream),
        expected.value,
        gradient_tolerance(shape.formats, shape.formats.probability, expected.value, terms));
}

void check_query(const AttentionShape& shape, const AttentionSet& set, const Place& at,
                 Comparison& result, Stream stream) {
  const Head head = head_at(shape, set, at, stream);
  const std::int64_t token = (at.sequence * shape.queries + at.row) * shape.heads + at.head;
  const auto line = [&](const DeviceBuffer& tensor, const Stored& stored, std::int64_t dim) {
    return read_rows(tensor.data(), stored, token * dim, 0, dim, 1, stream);
  };
  const std::int64_t row = (at.sequence * shape.heads + at.head) * shape.queries + at.row;
  const auto log_sum = read_rows(set.log_sum.data(), kPlain, row, 0, 1, 1, stream);
  const auto d_o = line(set.d_o, shape.formats.output_gradient, shape.dim_v);
  const auto o = line(set.o, shape.formats.operand, shape.dim_v);
  const auto expected = reference::query_gradient(head_of(shape, head.q, head.k, head.v),
                                                  size(at.row), d_o, o, log_sum.front());
  judge(result, "dQ", at, line(set.d_q, shape.formats.gradient, shape.dim_qk), expected,
        gradient_tolerance(shape.formats, shape.formats.score_gradient, expected, shape.keys));
}

}  // namespace

Verification check_backward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  Comparison result;
  const auto written = [&](const DeviceBuffer& output, std::int64_t count, std::string_view name) {
    result.check_written(output.data(), shape.formats.gradient.element, count, name, stream);
  };
  written(set.d_q, shape.query_elements(), "dQ");
  written(set.d_k, shape.key_elements(), "dK");
  written(set.d_v, shape.value_elements(), "dV");
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const std::uint64_t late = sample + 2;  // no corners: the first query's dQ is rounding noise
    check_query(shape, set, place_of(late, shape.sequences, shape.heads, shape.queries), result,
                stream);
    check_key(shape, set, place_of(sample, shape.sequences, shape.groups, shape.keys), result,
              stream);
  }
  return result.result();
}

}  // namespace orrery::kernels
