#pragma once

// How large a model a budget of compute should train, and on how many tokens, by fitted laws.
//
//   C = 6 N D
//   L(N, D) = E + A / N^alpha + B / D^beta
//   N = G (C / 6)^a,  D = (C / 6) / N,  a = beta / (alpha + beta)
//   G = (alpha A / (beta B))^(1 / (alpha + beta))
//
// symbol | meaning                                                    | unit   | origin
// -------|------------------------------------------------------------|--------|--------------
// C      | compute of the model, forward and backward                 | FLOP   | scenario
// N, D   | parameters and tokens of the least loss for C              | -, tok | computed
// A ... E | constants of the fit                                      | -      | published
//
// A law speaks of the loss of dense models on their authors' data after one pass. Models that are
// to be served are trained on ten to a hundred times as many tokens as it says.
//
// Sources: Hoffmann et al. 2022 (arXiv 2203.15556), approach 3 as printed; Besiroglu et al. 2024
// (arXiv 2404.10102), which fits the same points again.

#include <array>
#include <string_view>

#include "sim/base/units.hpp"

namespace orrery::run {

// FLOP of a parameter and token, forward and backward.
inline constexpr double kFlopOfTraining = 6.0;

struct ScalingLaw {
  std::string_view name;
  double a_term = 0.0;  // A
  double b_term = 0.0;  // B
  double alpha = 0.0;
  double beta = 0.0;
};

inline constexpr std::array<ScalingLaw, 2> kScalingLaws = {
    {{"Besiroglu 2024", 482.01, 2085.43, 0.3478, 0.3658},
     {"Hoffmann 2022", 406.4, 410.7, 0.34, 0.28}}};

struct LawOptimum {
  double parameters = 0.0;
  double tokens = 0.0;
};

// 6 N D: training of so many parameters on so many tokens.
[[nodiscard]] constexpr Flop six_nd(double parameters, Tokens tokens) {
  return flop(kFlopOfTraining * parameters * in_tokens(tokens));
}

// Of a model with so many active parameters: C / (6 N), whole ones.
[[nodiscard]] Tokens tokens_for(Flop compute, double parameters);

[[nodiscard]] LawOptimum optimum(const ScalingLaw& law, Flop compute);

// 80 % of the refit's optima lie between, in parameters.
struct OptimumSpread {
  double low = 0.0;
  double high = 0.0;
};

[[nodiscard]] OptimumSpread optimum_spread(Flop compute);

// What a stated budget comes to for the model of the scenario.
struct BudgetAnswer {
  Flop compute;             // 6 N D of the tokens that are trained
  double parameters = 0.0;  // active ones: N
  double tokens = 0.0;      // D
};

}  // namespace orrery::run
