// Questions about nodes: how many spares.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;

constexpr std::string_view kSpares = "capacity.spares";
constexpr std::string_view kWait = "waiting_s_p99";

// Every number up to 4, then three values per factor of 2, up to a quarter of the job's nodes.
std::vector<std::string> counts_up_to(std::int64_t nodes) {
  constexpr std::int64_t kSmall = 4;
  constexpr std::int64_t kQuarter = 4;
  constexpr double kGrowth = 1.26;
  const std::int64_t most = std::max(2 * kSmall, nodes / kQuarter);
  std::vector<std::string> values;
  for (std::int64_t count = 0; count <= most;) {
    values.push_back(std::to_string(count));
    const auto grown = static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * kGrowth));
    count = count < kSmall ? count + 1 : std::max(count + 1, grown);
  }
  return values;
}

std::optional<Rows> rows_for(const Asking& asking, std::vector<std::string> counts) {
  auto axis = axis_of(kSpares, std::move(counts), {"--answer", 0, 0}, asking.diagnostics);
  if (!axis) {
    return std::nullopt;
  }
  return evaluate_rows(asking, {*std::move(axis)},
                       {"p50(waiting)", "p90(waiting)", "p99(waiting)", "goodput", "finish_time",
                        "tokens_trained", "cost", "cost_per_million_tokens"});
}

void append(Rows& rows, Rows more) {
  for (std::size_t i = 0; i < more.results.size(); ++i) {
    rows.sweep.points.push_back(std::move(more.sweep.points[i]));
    rows.results.push_back(std::move(more.results[i]));
  }
}

std::int64_t count_at(const Rows& rows, std::size_t point) {
  return std::stoll(rows.sweep.points[point].front());
}

// In ascending order of spares.
std::vector<std::size_t> order_of(const Rows& rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.results.size(); ++i) {
    order.push_back(i);
  }
  std::ranges::sort(order, [&rows](std::size_t a, std::size_t b) {
    return count_at(rows, a) < count_at(rows, b);
  });
  return order;
}

bool is_enough(const Rows& rows, std::size_t point, double longest) {
  const auto wait = rows.at(point, kWait);
  return wait && *wait <= longest && rows.results[point].status != Status::gave_up;
}

// The smallest count from which on all that were looked at are enough, and the largest before it.
struct Bracket {
  std::optional<std::int64_t> enough;
  std::int64_t too_few = -1;
};

Bracket bracket_of(const Rows& rows, double longest) {
  Bracket bracket;
  for (const std::size_t point : order_of(rows)) {
    if (!is_enough(rows, point, longest)) {
      bracket.enough.reset();
      bracket.too_few = count_at(rows, point);
    } else if (!bracket.enough) {
      bracket.enough = count_at(rows, point);
    }
  }
  return bracket;
}

// All counts between, as far as they are few: the answer is then exact.
bool refine(const Asking& asking, Rows& rows, const Bracket& bracket) {
  constexpr std::int64_t kMost = 64;
  if (!bracket.enough || *bracket.enough - bracket.too_few < 2 ||
      *bracket.enough - bracket.too_few > kMost) {
    return true;
  }
  std::vector<std::string> between;
  for (std::int64_t count = bracket.too_few + 1; count < *bracket.enough; ++count) {
    between.push_back(std::to_string(count));
  }
  auto more = rows_for(asking, std::move(between));
  if (more) {
    append(rows, *std::move(more));
  }
  return more.has_value();
}

std::optional<std::size_t> cheapest(const Rows& rows) {
  std::optional<std::size_t> best;
  for (const std::size_t point : order_of(rows)) {
    const auto cost = rows.at(point, "cost_per_million_tokens_usd");
    if (cost && (!best || *cost < *rows.at(*best, "cost_per_million_tokens_usd"))) {
      best = point;
    }
  }
  return best;
}

void say(const Rows& rows, const Bracket& bracket, double longest, const std::string& wait,
         Answer& answer) {
  answer.facts = {{"longest_wait_s", longest},
                  {"spares", bracket.enough ? report::Cell(static_cast<double>(*bracket.enough))
                                            : report::Cell()}};
  answer.sentences.push_back(
      bracket.enough
          ? fmt::format("{} spare node{}: in 99 % of the trials the job then waits {} or less for "
                        "nodes, over the whole run.",
                        *bracket.enough, *bracket.enough == 1 ? "" : "s", wait)
          : fmt::format("No number of spares that was tried keeps the wait for nodes at {} or less "
                        "in 99 % of the trials.",
                        wait));
  if (const auto best = cheapest(rows)) {
    answer.facts.push_back({"cheapest_spares", static_cast<double>(count_at(rows, *best))});
    const std::int64_t count = count_at(rows, *best);
    answer.sentences.push_back(
        fmt::format("Cheapest per token: {} spare node{}.", count, count == 1 ? "" : "s"));
  }
}

}  // namespace

std::optional<Answer> enough_spares(const Asking& asking) {
  const auto base = evaluate_base(asking);
  if (!base) {
    return std::nullopt;
  }
  if (!base->plan->mtbf) {
    no_answer(asking, "failures", "nothing fails, so that nothing has to be replaced");
    return std::nullopt;
  }
  std::vector<std::string> counts = counts_up_to(base->echo.nodes);
  for (const Axis& axis : asking.question.sweep.axes) {
    counts = axis.key.path == kSpares ? axis.values : counts;
  }
  const std::string stated = asking.question.longest.value_or("1h");
  const auto wait = yaml::parse_time(stated);
  if (!wait.value) {
    no_answer(asking, {}, fmt::format("--longest: {} ({})", wait.message, wait.allowed));
    return std::nullopt;
  }
  const double longest = in_seconds(*wait.value);
  auto rows = rows_for(asking, std::move(counts));
  if (!rows) {
    return std::nullopt;
  }
  if (!refine(asking, *rows, bracket_of(*rows, longest))) {
    return std::nullopt;
  }
  const Bracket bracket = bracket_of(*rows, longest);
  Answer answer = begin_answer(asking);
  say(*rows, bracket, longest, stated, answer);
  const Seconds repair = run::mean_repair(*base->plan);
  answer.facts.push_back({"mean_repair_s", in_seconds(repair)});
  answer.sentences.push_back(fmt::format(
      "A node that failed is used again after {} on average ({}): the number of spares follows "
      "from "
      "that.",
      format_time(repair),
      states(asking, "capacity.repair_time") ? "capacity.repair_time"
                                             : "the failures' own repair; capacity.repair_time "
                                               "states another"));
  answer.columns = {{"spares", "spares", std::nullopt},
                    {"waiting_s_p50", "p50(wait)", Dimension::time},
                    {"waiting_s_p90", "p90(wait)", Dimension::time},
                    {"waiting_s_p99", "p99(wait)", Dimension::time},
                    {"goodput", "goodput", Dimension::fraction}};
  add_extent_columns(*rows, answer);
  answer.columns.push_back({"cost_usd", "cost", Dimension::dollars});
  answer.columns.push_back(
      {"cost_per_million_tokens_usd", "per million tokens", Dimension::dollars});
  answer.columns.push_back({"mark", "", std::nullopt});
  const auto best = cheapest(*rows);
  for (const std::size_t point : order_of(*rows)) {
    const std::int64_t count = count_at(*rows, point);
    std::vector<report::Cell> line = {static_cast<double>(count)};
    for (std::size_t i = 1; i + 1 < answer.columns.size(); ++i) {
      line.push_back(rows->cell(point, answer.columns[i].name));
    }
    std::string mark = bracket.enough == count ? "enough" : "";
    mark += best == point ? (mark.empty() ? "cheapest" : ", cheapest") : "";
    line.emplace_back(std::move(mark));
    answer.rows.push_back(std::move(line));
  }
  return answer;
}

}  // namespace orrery::sweep
