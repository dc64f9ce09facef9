#pragma once

// Sentences about a plan, shared by the page of the terminal and the window.
//
// Names from scenarios appear in them unchanged: whoever prints to a terminal replaces control
// characters.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/result/plan.hpp"

namespace orrery::plan {

// What plans are ranked by, as a table heads it: "step_time", or of trials the "mean cost", which
// is not the median beside a spread.
[[nodiscard]] std::string ranked_head(const Plan& plan);

// The figure by which plans are ranked: "$104k", "64 GPUs".
[[nodiscard]] std::string figure_words(const Plan& plan, double value);

// "-" for the best, "tie", or how far behind: "+$1.2k ± $0.3k".
[[nodiscard]] std::string behind_words(const Finalist& finalist, std::string_view plus_minus);

// Place of a plan in the ranking, from 1; nothing where it is not ranked.
[[nodiscard]] std::optional<std::size_t> rank_of(const Plan& plan, const Proposal& proposal);

// Of any plan: "The best plan", "Rank 2: +$1.2k ± $0.3k against the best", "Not among the ranked
// plans".
[[nodiscard]] std::string standing_words(const Plan& plan, const Proposal& proposal,
                                         std::string_view plus_minus);

// "finish 46.2 d (45.1 d to 47.9 d in 8 of 10 trials)"; empty without the metric.
[[nodiscard]] std::string spread_words(const report::Evaluation& evaluation, report::MetricId id,
                                       std::string_view name);

// How many layouts were searched and what became of them; how many plans were simulated.
[[nodiscard]] std::vector<std::string> search_lines(const Plan& plan);

// Step, memory, finish and cost of a finalist, a line each group.
[[nodiscard]] std::vector<std::string> figure_lines(const Finalist& finalist);

// "with `overlap.tensor: true`, as recipes of this stack have it; without, the best layout
// takes 12.6 s a step"; empty where nothing is switched.
[[nodiscard]] std::string switch_words(const Plan& plan);

// "-11.5 s (-29.5%)": what the best plan takes off the scenario as it stands; empty where that does
// not fit or is no worse.
[[nodiscard]] std::string gain_words(const Plan& plan);

// The scenario as it stands beside the best plan; empty where it is no layout.
[[nodiscard]] std::string current_words(const Plan& plan);

// Whose layout it is, what it takes beside the plan and why it is or is not first; empty without
// one.
[[nodiscard]] std::vector<std::string> published_lines(const Plan& plan);

// "tp 1 +4.2 %, tp 4 does not fit, micro 2 +0.8 %": what one step aside on each axis loses.
[[nodiscard]] std::string aside_words(const Plan& plan);

// "and 5 like it: recompute {layers: 2} (+0.2 %), vpp 4 (+0.9 %)"; empty without any.
[[nodiscard]] std::string near_words(const Proposal& proposal);

// Whether the ranking holds when predictions are off; empty where that was not checked.
[[nodiscard]] std::string firm_words(const Plan& plan);

// "rank 2 is behind by 0.4% and differs in tensor: ...", of a rival too close to be told apart.
[[nodiscard]] std::string rival_words(const Rival& rival);

// "rate of matrix products is 3% higher: tensor 4, ... leads by 0.8%"; empty without an overtaker.
[[nodiscard]] std::string overtaking_words(const Perturbation& perturbation);

// A winner with less free memory than peaks are predicted to; empty for any other.
[[nodiscard]] std::string tight_memory_words(const Plan& plan);

}  // namespace orrery::plan
