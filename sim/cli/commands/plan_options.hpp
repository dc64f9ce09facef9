#pragma once

// The options of `orrery plan`, and the planning problem that they and the scenario define.

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/cli/frame/evaluating.hpp"

namespace orrery::cli {

struct PlanOptions {
  std::string file;
  std::string objective;
  std::vector<std::string> search;
  std::vector<std::string> fix;
  std::vector<std::string> clusters;
  std::optional<std::int64_t> finalists;
  std::optional<std::string> deadline;
  std::optional<std::string> done_by;
  std::optional<std::string> budget;
  std::optional<std::string> headroom;
  std::optional<std::string> time;
  std::optional<std::int64_t> gpus_at_most;
  std::optional<std::int64_t> most_changes;
  bool tensor_within_nvlink = false;
  bool any_stack = false;
  std::vector<std::string> pareto;
  EvaluationOptions evaluation;
  std::vector<std::string> outputs;
  std::string format;
  std::optional<std::string> journal;
  std::string colour = "auto";
  bool json = false;
  bool csv = false;
  bool resume = false;
};

inline constexpr std::size_t kMostPlanBytes = std::size_t{8} << 20U;

void add_goal_options(CLI::App& command, PlanOptions& options);

// Throws UsageError for options that do not go together.
void check_usage(const PlanOptions& options, const sweep::Team& team);
void check_cluster_usage(const PlanOptions& options, const plan::PlanSpec& spec,
                         const sweep::Team& team);

// Of several -o FILE the scenario and the report, each once.
[[nodiscard]] std::optional<std::string> chosen_output(const PlanOptions& options, bool scenario);

enum class PlanForm { text, csv, json };
[[nodiscard]] PlanForm form_of(const PlanOptions& options);

[[nodiscard]] std::optional<Seconds> plan_time(const PlanOptions& options);

// Those of the command line, else of the scenario; empty: its own cluster.
[[nodiscard]] std::vector<plan::ClusterChoice> chosen_clusters(const PlanOptions& options,
                                                               const plan::PlanSpec& spec);

// Of the scenario in `text`; nothing after an error.
[[nodiscard]] std::optional<plan::PlanQuestion> make_question(const PlanOptions& options,
                                                              const std::string& text,
                                                              Diagnostics& diagnostics);

}  // namespace orrery::cli
