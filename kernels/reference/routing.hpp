#pragma once

// Reference for the movement of token rows: to their experts and back, and in and out of a table.
//
//   permute      y[place(t, c)] = x[t]              backward  dx[t] = sum over c of dy[place(t, c)]
//   unpermute    z[t] = sum over c of w(t, c) y[place(t, c)]
//                dy[place(t, c)] = w(t, c) dz[t]              dw(t, c) = dz[t] . y[place(t, c)]
//   embedding    y[t] = table[id(t)]       dtable[v] = given + sum over t with id(t) = v of dy[t]
//
// symbol      | meaning                                             | unit | origin
// ------------|-----------------------------------------------------|------|---------
// t, c        | token, and which of its copies (top-k)              | -    | -
// place(t, c) | row of the copy, in the order of the experts        | -    | router
// w(t, c)     | weight of the copy                                  | 1    | router

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery::kernels::reference {

// Sum of the rows `places` of y, each times its weight (empty: 1), and for each column the root of
// the sum of the squares of its terms.
struct CombinedRow {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

[[nodiscard]] CombinedRow combined_row(std::span<const double> y,
                                       std::size_t columns,
                                       std::span<const std::int32_t> places,
                                       std::span<const double> weights);

// dw of one copy.
[[nodiscard]] double weight_gradient(std::span<const double> row,
                                     std::span<const double> output_gradient);

// Row `id` of the table's gradient: `given` and the rows of its tokens.
[[nodiscard]] CombinedRow embedding_gradient_row(std::span<const std::int64_t> ids,
                                                 std::span<const double> gradient,
                                                 std::int64_t id,
                                                 std::span<const double> given);

// Tokens in the order of their experts: place of every copy. `experts` holds the expert of each
// copy, [token][copy]; copies of one expert keep the order of their tokens.
[[nodiscard]] std::vector<std::int32_t> places_by_expert(std::span<const std::int32_t> experts);

}  // namespace orrery::kernels::reference
