#include "sim/answer/plan/fronts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace orrery::plan {

namespace {

using report::Dimension;

// What is shown beside the front, so that a scatter stays readable.
constexpr std::size_t kMostPoints = 512;

FrontAxis axis_of(std::string_view name) {
  struct Row {
    std::string_view name;
    std::string_view json_key;
    std::string_view title;
    Dimension dimension;
  };

  constexpr std::array<Row, kFrontFigures.size()> kRows = {{
      {"step_time", "step_time_s", "step", Dimension::time},
      {"finish_time", "finish_time_s", "finish", Dimension::time},
      {"cost", "cost_usd", "cost", Dimension::dollars},
      {"cost_per_token", "cost_per_million_tokens_usd", "per 1M tokens", Dimension::dollars},
      {"energy", "energy_kwh", "energy", Dimension::energy},
      {"gpus", "gpus", "GPUs", Dimension::count},
      {"peak_memory", "peak_memory_bytes", "peak memory", Dimension::bytes},
  }};
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [name](const Row& one) { return one.name == name; });
  return {std::string(row->name), std::string(row->json_key), std::string(row->title),
          row->dimension};
}

std::optional<double> figure_of(const PoolPoint& point, std::string_view name) {
  if (name == "step_time") {
    return point.step_time;
  }
  if (name == "finish_time") {
    return point.finish_time;
  }
  if (name == "cost") {
    return point.cost;
  }
  if (name == "cost_per_token") {
    return point.cost_per_token;
  }
  if (name == "energy") {
    return point.energy;
  }
  return name == "gpus" ? std::optional(static_cast<double>(point.proposal.gpus)) : std::nullopt;
}

bool same(const Proposal& a, const Proposal& b) { return a.tag == b.tag; }

Front simulated_front(const SimulatedPool& simulated, std::string_view x, std::string_view y,
                      const Proposal& winner) {
  Front front;
  front.x = axis_of(x);
  front.y = axis_of(y);
  for (const PoolPoint& point : simulated.points) {
    const auto at_x = figure_of(point, x);
    const auto at_y = figure_of(point, y);
    if (point.problem.empty() && at_x && at_y) {
      front.points.push_back({point.proposal, *at_x, *at_y, true, same(point.proposal, winner)});
    }
  }
  mark_front(front.points);
  return front;
}

// Of the winner's cluster, all that was kept.
Front estimated_front(const std::vector<ClusterSearch>& clusters, const Workbench& bench,
                      std::string_view x, std::string_view y, const Proposal& winner) {
  Front front;
  front.simulated = false;
  front.x = axis_of(x);
  front.y = axis_of(y);
  const auto figure = [&bench](const Ranked& ranked, std::string_view name) {
    if (name == "gpus") {
      return static_cast<double>(gpus_of(ranked.candidate, bench));
    }
    return name == "peak_memory" ? in_bytes(ranked.estimate.peak_memory)
                                 : in_seconds(to_seconds(ranked.estimate.step_time));
  };
  for (const ClusterSearch& cluster : clusters) {
    const bool own = cluster.gpu == winner.candidate.gpu && cluster.nodes == winner.candidate.nodes;
    for (const Ranked& ranked : cluster.found.best) {
      if (own || x == "gpus" || y == "gpus") {
        Proposal proposal = propose(ranked.candidate, bench);
        const bool first = ranked.candidate == winner.candidate;
        front.points.push_back(
            {std::move(proposal), figure(ranked, x), figure(ranked, y), true, first});
      }
    }
  }
  mark_front(front.points);
  return front;
}

// A front of one point trades nothing.
void add(std::vector<Front>& fronts, Front front) {
  const auto on = std::count_if(front.points.begin(), front.points.end(),
                                [](const FrontPoint& p) { return p.on_front; });
  if (on > 1) {
    fronts.push_back(std::move(front));
  }
}

// Of the finalists.
Front step_against_memory(const Plan& plan) {
  using report::MetricId;
  Front front{axis_of("step_time"), axis_of("peak_memory"), {}, plan.simulated > 0};
  for (const Finalist& one : plan.finalists) {
    const auto* time = one.evaluation.metrics.find(MetricId::step_time);
    const auto* memory = one.evaluation.metrics.find(MetricId::peak_memory);
    if (time != nullptr && memory != nullptr) {
      front.points.push_back(
          {one.proposal, time->value, memory->value, false, &one == plan.finalists.data()});
    }
  }
  mark_front(front.points);
  return front;
}

bool varies(const Front& front, double FrontPoint::*figure) {
  constexpr double kVaries = 0.001;
  const auto [least, most] = std::ranges::minmax_element(
      front.points, {}, [figure](const FrontPoint& point) { return point.*figure; });
  return !front.points.empty() &&
         (*most).*figure - (*least).*figure >= kVaries * std::abs((*most).*figure);
}

bool is_estimated(std::string_view name) {
  return name == "step_time" || name == "gpus" || name == "peak_memory";
}

}  // namespace

void mark_front(std::vector<FrontPoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const FrontPoint& a, const FrontPoint& b) {
    return std::tuple(a.x, a.y) < std::tuple(b.x, b.y);
  });
  // Equal points share the front; ascending x needs strictly less y.
  double least = std::numeric_limits<double>::infinity();
  double at = std::numeric_limits<double>::infinity();
  for (FrontPoint& point : points) {
    point.on_front = point.y < least || (point.y == least && point.x == at);
    if (point.y < least) {
      least = point.y;
      at = point.x;
    }
  }
  std::size_t others = 0;
  std::erase_if(points, [&others](const FrontPoint& point) {
    return !point.on_front && !point.winner && ++others > kMostPoints;
  });
}

std::vector<Front> make_fronts(const SimulatedPool& simulated,
                               const std::vector<ClusterSearch>& clusters, const Workbench& bench,
                               const Proposal& winner, const std::vector<std::string>& asked) {
  std::vector<Front> fronts;
  if (asked.size() == 2) {
    const bool estimated = is_estimated(asked[0]) && is_estimated(asked[1]);
    fronts.push_back(estimated ? estimated_front(clusters, bench, asked[0], asked[1], winner)
                               : simulated_front(simulated, asked[0], asked[1], winner));
    return fronts;
  }
  add(fronts, simulated_front(simulated, "cost", "finish_time", winner));
  std::set<std::int64_t> sizes;
  for (const ClusterSearch& cluster : clusters) {
    sizes.insert(cluster.nodes);
  }
  if (sizes.size() > 1) {
    add(fronts, simulated_front(simulated, "gpus", "step_time", winner));
  }
  add(fronts, estimated_front(clusters, bench, "peak_memory", "step_time", winner));
  return fronts;
}

std::vector<Front> fronts_of(const Plan& plan) {
  std::vector<Front> fronts = plan.fronts;
  std::erase_if(fronts, [](const Front& front) {
    return !varies(front, &FrontPoint::x) || !varies(front, &FrontPoint::y);
  });
  if (fronts.empty() && !plan.finalists.empty()) {
    fronts.push_back(step_against_memory(plan));
  }
  // Where it stands now, though a plan may not be like this.
  const auto now = [&plan](const FrontAxis& axis) {
    const auto* info = report::find_metric(axis.name);
    return info != nullptr ? plan.current->evaluation.metrics.find(info->id) : nullptr;
  };
  for (Front& front : fronts) {
    const bool there =
        !plan.current || std::ranges::any_of(front.points, [&](const FrontPoint& point) {
          return same(point.proposal, plan.current->proposal);
        });
    const auto* x = there ? nullptr : now(front.x);
    const auto* y = there ? nullptr : now(front.y);
    if (x != nullptr && y != nullptr) {
      front.points.push_back({plan.current->proposal, x->value, y->value, false});
    }
  }
  return fronts;
}

}  // namespace orrery::plan
