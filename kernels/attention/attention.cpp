#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/attention/attention_case.hpp"
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

std::unique_ptr<Runnable> make_own_attention(const KernelCase& kernel,
                                             const PrepareOptions& options) {
  return make_own(kernel, options, "not asked");
}

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

void judge(Verification& result, std::string_view name, const Place& place,
           const std::vector<double>& found, const std::vector<double>& expected,
           const reference::Tolerance& tolerance) {
  ORRERY_CHECK(found.size() == expected.size(), "results and reference have one width");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = reference::error_of(found[i], expected[i], tolerance);
    ++result.compared;
    result.scale += expected[i] * expected[i];  // a sum until finished()
    if (error > result.worst_error) {
      result.worst_error = error;
      result.where = fmt::format("{} sequence {} head {} row {} [{}]: {}, expected {}", name,
                                 place.sequence, place.head, place.row, i, found[i], expected[i]);
    }
  }
}

Verification finished(Verification result) {
  result.passed = result.worst_error <= 1.0;
  result.scale =
      std::sqrt(result.scale / static_cast<double>(std::max<std::int64_t>(result.compared, 1)));
  return result;
}

std::string unwritten_in(const DeviceBuffer& output, std::string_view name, const Stored& stored,
                         std::int64_t count, Stream stream) {
  const auto bytes = static_cast<int>(bytes_of(stored.element, 1));
  const std::int64_t unwritten = count_unwritten(output.data(), bytes, count, stream);
  return unwritten == 0
             ? std::string()
             : fmt::format("{} of {} elements of {} were not written", unwritten, count, name);
}

reference::AttentionHead head_of(const AttentionShape& shape, const HeadRows& q, const HeadRows& k,
                                 const HeadRows& v) {
  return {q.view, k.view, v.view, shape.causal, 1.0 / std::sqrt(static_cast<double>(shape.dim_qk))};
}

}  // namespace

std::vector<double> read_rows(const void* data, const Stored& stored, std::int64_t first,
                              std::int64_t stride, std::int64_t width, std::int64_t count,
                              Stream stream) {
  const std::size_t bytes = size(bytes_of(stored.element, 1));
  std::vector<unsigned char> raw(size(width * count) * bytes);
  check(cudaMemcpy2DAsync(raw.data(), size(width) * bytes,
                          static_cast<const unsigned char*>(data) + size(first) * bytes,
                          size(std::max(stride, width)) * bytes,  // of one row: anything
                          size(width) * bytes, size(count), cudaMemcpyDeviceToHost, stream),
        "copy rows to the host");
  check(cudaStreamSynchronize(stream), "copy rows to the host");
  std::vector<double> values(size(width * count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    for (std::size_t b = 0; b < bytes; ++b) {
      word |= static_cast<std::uint32_t>(raw[i * bytes + b]) << (8U * b);
    }
    values[i] = static_cast<double>(decode(stored.element, word)) / stored.scale;
  }
  return values;
}

Verification check_forward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  Verification result;
  result.where = unwritten_in(set.o, "O", shape.formats.operand, shape.output_elements(), stream);
  if (result.where.empty()) {
    result.where = unwritten_in(set.log_sum, "log_sum", kPlain, shape.rows(), stream);
  }
  if (!result.where.empty()) {
    return result;
  }
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const Place at = place_of(sample, shape.sequences, shape.heads, shape.queries);
    const std::int64_t group = at.head / (shape.heads / shape.groups);
    const auto rows = [&](const DeviceBuffer& tensor, std::int64_t head, std::int64_t heads,
                          std::int64_t count, std::int64_t dim) {
      return head_rows(tensor, shape.formats.operand, at.sequence, head, heads, count, dim, stream);
    };
    const HeadRows q = rows(set.q, at.head, shape.heads, shape.queries, shape.dim_qk);
    const HeadRows k = rows(set.k, group, shape.groups, shape.keys, shape.dim_qk);
    const HeadRows v = rows(set.v, group, shape.groups, shape.keys, shape.dim_v);
    const auto expected = reference::attention_row(head_of(shape, q, k, v), size(at.row));
    const std::int64_t output =
        ((at.sequence * shape.queries + at.row) * shape.heads + at.head) * shape.dim_v;
    judge(result, "O", at,
          read_rows(set.o.data(), shape.formats.operand, output, 0, shape.dim_v, 1, stream),
          expected.output, output_tolerance(shape.formats, expected.magnitude, shape.keys));
    const std::int64_t row = (at.sequence * shape.heads + at.head) * shape.queries + at.row;
    judge(result, "log_sum", at, read_rows(set.log_sum.data(), kPlain, row, 0, 1, 1, stream),
          {expected.log_sum}, log_sum_tolerance(shape.formats));
  }
  return finished(result);
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
               Verification& result, Stream stream) {
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
                 Verification& result, Stream stream) {
  const std::int64_t group = at.head / (shape.heads / shape.groups);
  const auto rows = [&](const DeviceBuffer& tensor, std::int64_t head, std::int64_t heads,
                        std::int64_t count, std::int64_t dim) {
    return head_rows(tensor, shape.formats.operand, at.sequence, head, heads, count, dim, stream);
  };
  const HeadRows q = rows(set.q, at.head, shape.heads, shape.queries, shape.dim_qk);
  const HeadRows k = rows(set.k, group, shape.groups, shape.keys, shape.dim_qk);
  const HeadRows v = rows(set.v, group, shape.groups, shape.keys, shape.dim_v);
  const std::int64_t token = (at.sequence * shape.queries + at.row) * shape.heads + at.head;
  const auto line = [&](const DeviceBuffer& tensor, const Stored& stored, std::int64_t dim) {
    return read_rows(tensor.data(), stored, token * dim, 0, dim, 1, stream);
  };
  const std::int64_t row = (at.sequence * shape.heads + at.head) * shape.queries + at.row;
  const auto log_sum = read_rows(set.log_sum.data(), kPlain, row, 0, 1, 1, stream);
  const auto d_o = line(set.d_o, shape.formats.output_gradient, shape.dim_v);
  const auto o = line(set.o, shape.formats.operand, shape.dim_v);
  const auto expected =
      reference::query_gradient(head_of(shape, q, k, v), size(at.row), d_o, o, log_sum.front());
  judge(result, "dQ", at, line(set.d_q, shape.formats.gradient, shape.dim_qk), expected,
        gradient_tolerance(shape.formats, shape.formats.score_gradient, expected, shape.keys));
}

}  // namespace

Verification check_backward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  Verification result;
  result.where =
      unwritten_in(set.d_q, "dQ", shape.formats.gradient, shape.query_elements(), stream);
  if (result.where.empty()) {
    result.where =
        unwritten_in(set.d_k, "dK", shape.formats.gradient, shape.key_elements(), stream);
  }
  if (result.where.empty()) {
    result.where =
        unwritten_in(set.d_v, "dV", shape.formats.gradient, shape.value_elements(), stream);
  }
  if (!result.where.empty()) {
    return result;
  }
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const std::uint64_t late = sample + 2;  // no corners: the first query's dQ is rounding noise
    check_query(shape, set, place_of(late, shape.sequences, shape.heads, shape.queries), result,
                stream);
    check_key(shape, set, place_of(sample, shape.sequences, shape.groups, shape.keys), result,
              stream);
  }
  return finished(result);
}

}  // namespace orrery::kernels
