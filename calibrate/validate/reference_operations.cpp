// Each operation of a step on whole buffers, by the reference of a row or an element.

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/validate/reference_step.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::calibrate {

namespace {

namespace reference = kernels::reference;
using kernels::Role;

std::size_t axis(const kernels::KernelCase& kernel, std::size_t index) {
  return static_cast<std::size_t>(kernel.extents[index]);
}

bool is_backward(const Operands& operands) { return operands.kernel.role == Role::backward; }

Values row(Values values, std::size_t index, std::size_t width) {
  return values.subspan(index * width, width);
}

template <typename T>
std::vector<T> integers(Values values) {
  std::vector<T> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return static_cast<T>(value); });
  return result;
}

struct Extents {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

// D[i, j] (+)= sum over l of b(i, l) a(l, j).
void multiply(const reference::MatrixView& b, const reference::MatrixView& a,
              const Extents& extents, bool accumulate, Values d) {
  for (std::size_t i = 0; i < extents.m; ++i) {
    for (std::size_t j = 0; j < extents.n; ++j) {
      double& result = d[i * extents.n + j];
      const double sum = reference::product_element(b, a, i, j, extents.k).value;
      result = accumulate ? result + sum : sum;
    }
  }
}

// Operands of one product of `rows` rows, those of an expert at `first_row` of `all_rows`, with
// weights of expert `group` of `groups`.
struct Part {
  std::size_t rows = 0;
  std::size_t first_row = 0;
  std::size_t all_rows = 0;
  std::size_t group = 0;
  std::size_t groups = 1;
};

// The products of linear layers in 8 bits read transposed copies where wider ones read across.
void multiply_part(const Operands& operands, const Extents& extents, const Part& part) {
  const Role role = operands.kernel.role;
  const bool transposed = operands.kernel.precision != kernels::Precision::bf16;
  const Values first = operands.reads[0];
  const Values second = operands.reads[1];
  const Values d = operands.writes[0];
  if (role == Role::wgrad_accumulate) {
    // b = dY^T [m, rows], a = X [rows, n].
    reference::MatrixView b{first.subspan(part.first_row * extents.m), extents.m, 1};
    reference::MatrixView a{second.subspan(part.first_row * extents.n), extents.n, 1};
    b = b.transposed();
    if (transposed) {
      b = {first.subspan(part.first_row), part.all_rows, 1};
      a = reference::MatrixView{second.subspan(part.first_row), part.all_rows, 1}.transposed();
    }
    const Values result = row(d, part.group, extents.m * extents.n);
    multiply(b, a, {extents.m, extents.n, part.rows}, true, result);
    return;
  }
  const reference::MatrixView b{first.subspan(part.first_row * extents.k), extents.k, 1};
  reference::MatrixView a{row(second, part.group, extents.n * extents.k), extents.k, 1};
  a = a.transposed();  // fprop: weights [n, k]
  if (role == Role::dgrad && !transposed) {
    a = {row(second, part.group, extents.k * extents.n), extents.n, 1};  // weights [k, n]
  } else if (role == Role::dgrad) {
    // Transposed weights of all experts, [n, groups k].
    a = {second.subspan(part.group * extents.k), extents.k * part.groups, 1};
    a = a.transposed();
  }
  multiply(b, a, {part.rows, extents.n, extents.k}, false,
           d.subspan(part.first_row * extents.n, part.rows * extents.n));
}

reference::AttentionHead head_of(const Operands& operands, std::size_t sequence, std::size_t head) {
  const kernels::KernelCase& kernel = operands.kernel;
  const std::size_t heads = axis(kernel, 1);
  const std::size_t groups = axis(kernel, 2);
  const std::size_t tokens = axis(kernel, 3);
  const std::size_t dim = axis(kernel, 5);
  const std::size_t group = head / (heads / groups);
  const auto view = [&](Values values, std::size_t index, std::size_t all) {
    return reference::RowsView{.values = values,
                               .first = (sequence * tokens * all + index) * dim,
                               .stride = all * dim,
                               .width = dim,
                               .count = tokens};
  };
  return {.queries = view(operands.reads[0], head, heads),
          .keys = view(operands.reads[1], group, groups),
          .values = view(operands.reads[2], group, groups),
          .causal = true,
          .scale = 1.0 / std::sqrt(static_cast<double>(dim))};
}

void store(Values values, const reference::RowsView& like, std::size_t i, const auto& given) {
  std::copy(given.begin(), given.end(),
            values.begin() + static_cast<std::ptrdiff_t>(like.first + i * like.stride));
}

void add_to(Values values, const reference::RowsView& like, std::size_t i, const auto& given) {
  const Values target = values.subspan(like.first + i * like.stride, like.width);
  std::transform(target.begin(), target.end(), given.begin(), target.begin(), std::plus<>());
}

void attend_back(const Operands& operands, const reference::AttentionHead& head, Values log_sums) {
  reference::RowsView outputs = head.queries;
  outputs.values = operands.reads[3];
  reference::RowsView gradients = head.queries;
  gradients.values = operands.reads[5];
  for (std::size_t i = 0; i < head.queries.count; ++i) {
    store(operands.writes[0], head.queries, i,
          reference::query_gradient(head, i, gradients.row(i), outputs.row(i), log_sums[i]));
    const auto both = reference::key_value_gradient(head, i, gradients, outputs, log_sums);
    add_to(operands.writes[1], head.keys, i, both.key);
    add_to(operands.writes[2], head.values, i, both.value);
  }
}

}  // namespace

void reference_product(const Operands& operands) {
  const kernels::KernelCase& kernel = operands.kernel;
  const Extents extents{axis(kernel, 0), axis(kernel, 1), axis(kernel, 2)};
  const bool weight = kernel.role == Role::wgrad_accumulate;
  const std::size_t rows = weight ? extents.k : extents.m;
  multiply_part(operands, extents, {.rows = rows, .all_rows = rows});
}

void reference_grouped_product(const Operands& operands) {
  const kernels::KernelCase& kernel = operands.kernel;
  const Extents extents{axis(kernel, 1), axis(kernel, 2), axis(kernel, 3)};
  const std::vector<std::int64_t> rows = kernels::group_rows(kernel);
  Part part{.groups = rows.size()};
  for (const std::int64_t count : rows) {
    part.all_rows += static_cast<std::size_t>(count);
  }
  for (const std::int64_t count : rows) {
    part.rows = static_cast<std::size_t>(count);
    multiply_part(operands, extents, part);
    part.first_row += part.rows;
    ++part.group;
  }
}

void reference_attention(const Operands& operands) {
  const std::size_t heads = axis(operands.kernel, 1);
  const std::size_t tokens = axis(operands.kernel, 3);
  if (is_backward(operands)) {
    std::ranges::fill(operands.writes[1], 0.0);
    std::ranges::fill(operands.writes[2], 0.0);
  }
  for (std::size_t s = 0; s < axis(operands.kernel, 0); ++s) {
    for (std::size_t h = 0; h < heads; ++h) {
      const reference::AttentionHead head = head_of(operands, s, h);
      const std::size_t first = (s * heads + h) * tokens;
      if (is_backward(operands)) {
        attend_back(operands, head, operands.reads[4].subspan(first, tokens));
        continue;
      }
      for (std::size_t i = 0; i < tokens; ++i) {
        const reference::AttentionRow result = reference::attention_row(head, i);
        store(operands.writes[0], head.queries, i, result.output);
        operands.writes[1][first + i] = result.log_sum;
      }
    }
  }
}

// qkv [token, heads + 2 groups, dim] and its three parts, whichever way.
void reference_rotary(const Operands& operands) {
  const bool back = is_backward(operands);
  const std::size_t tokens = axis(operands.kernel, 0);
  const auto heads = static_cast<std::size_t>(operands.shape.heads);
  const auto groups = static_cast<std::size_t>(operands.shape.groups);
  const std::size_t dim = axis(operands.kernel, 2);
  const Values joined = back ? operands.writes[0] : operands.reads[0];
  const Values angles = back ? operands.reads[3] : operands.reads[1];
  const std::vector<Values>& parts = back ? operands.reads : operands.writes;
  const std::array<std::size_t, 3> widths = {heads, groups, groups};
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto position = t % static_cast<std::size_t>(operands.shape.sequence_length);
    const Values turns = row(angles, position, dim);
    std::size_t joined_head = t * (heads + 2 * groups);
    for (std::size_t part = 0; part < widths.size(); ++part) {
      for (std::size_t h = 0; h < widths[part]; ++h, ++joined_head) {
        const Values whole = row(joined, joined_head, dim);
        const Values piece = row(parts[part], t * widths[part] + h, dim);
        const Values& from = back ? piece : whole;
        const Values& to = back ? whole : piece;
        const bool turned = part < 2;  // values are not
        if (turned) {
          const auto y = reference::rotary(from, turns.first(dim / 2), turns.subspan(dim / 2),
                                           back ? reference::Turn::back : reference::Turn::forward);
          std::copy(y.begin(), y.end(), to.begin());
        } else {
          std::copy(from.begin(), from.end(), to.begin());
        }
      }
    }
  }
}

void reference_norm(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  const bool back = is_backward(operands);
  if (back) {
    std::ranges::fill(operands.writes[1], 0.0);
  }
  for (std::size_t i = 0; i < axis(operands.kernel, 0); ++i) {
    const Values x = row(operands.reads[0], i, columns);
    const Values y = row(operands.writes[0], i, columns);
    if (back) {
      const Values dy = row(operands.reads[2], i, columns);
      const auto dx = reference::norm_input_gradient(reference::NormKind::rms, x, operands.reads[1],
                                                     dy, kNormEpsilon);
      std::copy(dx.begin(), dx.end(), y.begin());
      reference::add_norm_weight_gradient(reference::NormKind::rms, x, dy, kNormEpsilon,
                                          operands.writes[1], {});
    } else {
      const auto result =
          reference::norm_row(reference::NormKind::rms, x, operands.reads[1], {}, kNormEpsilon);
      std::copy(result.output.begin(), result.output.end(), y.begin());
      operands.writes[1][i] = result.scale;
    }
  }
}

void reference_swiglu(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  for (std::size_t i = 0; i < axis(operands.kernel, 0); ++i) {
    const Values gate_up = row(operands.reads[0], i, 2 * columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const double gate = gate_up[j];
      const double up = gate_up[columns + j];
      if (is_backward(operands)) {
        const auto both = reference::swiglu_gradient(gate, up, operands.reads[1][i * columns + j]);
        operands.writes[0][2 * i * columns + j] = both.gate;
        operands.writes[0][(2 * i + 1) * columns + j] = both.up;
      } else {
        operands.writes[0][i * columns + j] = reference::swiglu(gate, up);
      }
    }
  }
}

void reference_permute(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  const std::size_t copies = axis(operands.kernel, 2);
  const auto places = integers<std::int32_t>(operands.reads[1]);
  for (std::size_t t = 0; t < axis(operands.kernel, 0); ++t) {
    const auto own = std::span(places).subspan(t * copies, copies);
    if (is_backward(operands)) {
      const auto sum = reference::combined_row(operands.reads[0], columns, own, {});
      std::copy(sum.values.begin(), sum.values.end(), row(operands.writes[0], t, columns).begin());
      continue;
    }
    const Values x = row(operands.reads[0], t, columns);
    for (const std::int32_t place : own) {
      std::copy(x.begin(), x.end(),
                row(operands.writes[0], static_cast<std::size_t>(place), columns).begin());
    }
  }
}

void reference_unpermute(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  const std::size_t copies = axis(operands.kernel, 2);
  const std::size_t back = is_backward(operands) ? 1 : 0;  // operands from here on
  const auto places = integers<std::int32_t>(operands.reads[back + 1]);
  const Values weights = operands.reads[back + 2];
  for (std::size_t t = 0; t < axis(operands.kernel, 0); ++t) {
    const auto own = std::span(places).subspan(t * copies, copies);
    const Values shares = row(weights, t, copies);
    if (back == 0) {
      const auto sum = reference::combined_row(operands.reads[0], columns, own, shares);
      std::copy(sum.values.begin(), sum.values.end(), row(operands.writes[0], t, columns).begin());
      continue;
    }
    const Values dx = row(operands.reads[0], t, columns);
    for (std::size_t c = 0; c < copies; ++c) {
      const auto place = static_cast<std::size_t>(own[c]);
      const Values dy = row(operands.writes[0], place, columns);
      std::transform(dx.begin(), dx.end(), dy.begin(), [&](double g) { return shares[c] * g; });
      operands.writes[1][t * copies + c] =
          reference::weight_gradient(row(operands.reads[1], place, columns), dx);
    }
  }
}

void reference_embedding(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  const auto ids = integers<std::int64_t>(operands.reads[1]);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const auto id = static_cast<std::size_t>(ids[t]);
    if (is_backward(operands)) {
      const Values sum = row(operands.writes[0], id, columns);
      const Values dy = row(operands.reads[0], t, columns);
      std::transform(sum.begin(), sum.end(), dy.begin(), sum.begin(), std::plus<>());
    } else {
      const Values from = row(operands.reads[0], id, columns);
      std::copy(from.begin(), from.end(), row(operands.writes[0], t, columns).begin());
    }
  }
}

void reference_cross_entropy(const Operands& operands) {
  const std::size_t columns = axis(operands.kernel, 1);
  const auto targets = integers<std::int64_t>(operands.reads[1]);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const Values logits = row(operands.reads[0], t, columns);
    const auto target = static_cast<std::size_t>(targets[t]);
    if (is_backward(operands)) {
      const double each = 1.0 / static_cast<double>(targets.size());
      const auto gradient = reference::cross_entropy_gradient(logits, target, each);
      std::copy(gradient.begin(), gradient.end(), row(operands.writes[0], t, columns).begin());
    } else {
      const reference::TokenLoss loss = reference::cross_entropy(logits, target);
      operands.writes[0][t] = loss.loss;
      operands.writes[1][t] = loss.log_sum;
    }
  }
}

void reference_cast(const Operands& operands) {
  const std::size_t rows = axis(operands.kernel, 0);
  const std::size_t columns = axis(operands.kernel, 1);
  std::copy(operands.reads[0].begin(), operands.reads[0].end(), operands.writes[0].begin());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      operands.writes[1][j * rows + i] = operands.reads[0][i * columns + j];
    }
  }
}

}  // namespace orrery::calibrate
