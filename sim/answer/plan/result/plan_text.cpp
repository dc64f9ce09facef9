#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::plan {

namespace {

using report::Dimension;
using report::Ink;
using report::TextPage;

void add_title(TextPage& page, const Plan& plan) {
  page.title(
      page.paint(Ink::strong, report::printable(fmt::format("{}: the plan with {}", plan.name,
                                                            best_words(plan.spec.objective)))));
  for (const std::string& note : plan.notes) {
    page.field("NOTE", page.paint(Ink::warning, report::printable(note)));
  }
}

void add_search(TextPage& page, const Plan& plan) {
  const std::vector<std::string> lines = search_lines(plan);
  page.section("SEARCH", report::printable(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    page.line(report::printable(lines[i]));
  }
}

void add_best(TextPage& page, const Plan& plan) {
  const Finalist& best = plan.finalists.front();
  page.section("BEST", page.paint(Ink::good, report::printable(fmt::format(
                                                 "{} GPUs: {}", format_integer(best.proposal.gpus),
                                                 best.proposal.words))));
  for (const std::string& line : figure_lines(best)) {
    page.line(line);
  }
  const std::string switches = switch_words(plan);
  if (!switches.empty()) {
    page.line(report::printable(switches));
  }
  const std::string current = current_words(plan);
  if (!current.empty()) {
    page.line(report::printable(current));
  }
}

void add_published(TextPage& page, const Plan& plan) {
  const std::vector<std::string> lines = published_lines(plan);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0) {
      page.section("PUBLISHED", report::printable(lines[i]));
    } else {
      page.line(report::printable(lines[i]));
    }
  }
}

void add_aside(TextPage& page, const Plan& plan) {
  const std::string words = aside_words(plan);
  if (!words.empty()) {
    page.section("ASIDE", "the step with one axis of the best plan changed:");
    page.line(report::printable(words));
  }
}

// Traits in which the plans of a table differ.
std::vector<std::size_t> telling_traits(const std::vector<const Proposal*>& proposals) {
  std::vector<std::size_t> telling;
  if (proposals.empty()) {
    return telling;
  }
  for (std::size_t i = 0; i < proposals.front()->traits.size(); ++i) {
    std::set<std::string> values;
    for (const Proposal* proposal : proposals) {
      values.insert(i < proposal->traits.size() ? proposal->traits[i].value : "");
    }
    if (values.size() > 1) {
      telling.push_back(i);
    }
  }
  return telling;
}

// "zero1, zero2" where both are alike.
std::string trait_text(const Proposal& proposal, std::size_t trait) {
  std::string text = proposal.traits[trait].value;
  for (const Variant& variant : proposal.alike) {
    if (variant.axis == proposal.traits[trait].name) {
      text += ", " + variant.value;
    }
  }
  return text;
}

std::size_t width_of(std::size_t trait, const std::vector<const Proposal*>& proposals) {
  std::size_t width = 0;
  for (const Proposal* proposal : proposals) {
    width = std::max(width, report::text_columns(trait_text(*proposal, trait)));
  }
  return width;
}

// The table of the plans as lines, and the traits that are too wide for the page: they stand below
// each row.
struct RankingLines {
  std::vector<std::string> lines;
  std::vector<std::size_t> below;
};

RankingLines ranking_lines(const report::Table& figures,
                           const std::vector<const Proposal*>& proposals, const TextPage& page) {
  std::vector<std::size_t> beside = telling_traits(proposals);
  RankingLines ranking;
  while (true) {
    report::Table table = figures;
    for (const std::size_t i : beside) {
      table.columns.push_back({{}, proposals.front()->traits[i].name});
      for (std::size_t row = 0; row < proposals.size(); ++row) {
        table.rows[row].emplace_back(trait_text(*proposals[row], i));
      }
    }
    ranking.lines = lines_of(report::to_text(table, page));
    const bool fits =
        std::all_of(ranking.lines.begin(), ranking.lines.end(), [](const std::string& line) {
          return report::text_columns(line) + report::kPageIndent <= report::kPageWidth;
        });
    if (fits || beside.empty()) {
      return ranking;
    }
    const auto widest =
        std::max_element(beside.begin(), beside.end(), [&](std::size_t a, std::size_t b) {
          return width_of(a, proposals) < width_of(b, proposals);
        });
    ranking.below.push_back(*widest);
    beside.erase(widest);
  }
}

// "recompute full, sharding zero1".
std::string below_words(const Proposal& proposal, const std::vector<std::size_t>& below) {
  std::vector<std::string> words;
  for (const std::size_t trait : below) {
    words.push_back(fmt::format("{} {}", proposal.traits[trait].name, trait_text(proposal, trait)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

void add_ranking(TextPage& page, const Plan& plan) {
  if (plan.finalists.size() < 2) {
    return;
  }
  report::Table table = report::table_of({"rank", ranked_head(plan), "behind"});
  std::vector<const Proposal*> proposals;
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Finalist& finalist = plan.finalists[i];
    table.rows.push_back({fmt::format("{}", i + 1), figure_words(plan, finalist.value),
                          behind_words(finalist, page.plus_minus())});
    proposals.push_back(&finalist.proposal);
  }
  const RankingLines ranking = ranking_lines(table, proposals, page);
  page.section("RANKING", ranking.lines.front());
  constexpr std::size_t kHanging = 6;
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    page.line(ranking.lines[i + 1]);
    const bool published = plan.published && plan.published->rank == i + 1;
    for (const std::string& words : {below_words(*proposals[i], ranking.below),
                                     std::string(published ? "the published layout" : ""),
                                     plan.finalists[i].reason, near_words(*proposals[i])}) {
      if (!words.empty()) {
        page.line(page.paint(Ink::faint, "    " + report::printable(words)), kHanging);
      }
    }
  }
}

void add_front(TextPage& page, const Front& front) {
  // Of equal points one stands for all, the winner if it is among them.
  std::vector<const FrontPoint*> on;
  for (const FrontPoint& point : front.points) {
    if (!point.on_front) {
      continue;
    }
    const bool again = !on.empty() && on.back()->x == point.x && on.back()->y == point.y;
    if (!again) {
      on.push_back(&point);
    } else if (point.winner) {
      on.back() = &point;
    }
  }
  constexpr std::size_t kMostShown = 8;
  const std::size_t stride = (on.size() + kMostShown - 1) / kMostShown;
  std::vector<const FrontPoint*> shown;
  for (std::size_t i = 0; i < on.size(); ++i) {
    if (i % stride == 0 || i + 1 == on.size() || on[i]->winner) {
      shown.push_back(on[i]);
    }
  }
  std::size_t wide_x = report::text_columns(front.x.title);
  std::size_t wide_y = report::text_columns(front.y.title);
  for (const FrontPoint* point : shown) {
    wide_x =
        std::max(wide_x, report::text_columns(report::format_value(front.x.dimension, point->x)));
    wide_y =
        std::max(wide_y, report::text_columns(report::format_value(front.y.dimension, point->y)));
  }
  page.section(
      "TRADE-OFF",
      page.paint(Ink::faint, fmt::format("{}  {}  {}", report::pad_left(front.x.title, wide_x),
                                         report::pad_left(front.y.title, wide_y),
                                         front.simulated ? "simulated plans that no other beats"
                                                         : "estimates that no other beats")));
  const std::size_t hanging = wide_x + wide_y + 4;
  for (const FrontPoint* point : shown) {
    page.line(
        fmt::format("{}  {}  {}{}",
                    report::pad_left(report::format_value(front.x.dimension, point->x), wide_x),
                    report::pad_left(report::format_value(front.y.dimension, point->y), wide_y),
                    point->winner ? "best: " : "", report::printable(point->proposal.words)),
        hanging);
  }
}

std::string remedy_text(const Neighbour::Remedy& remedy) {
  return fmt::format("; fits with {} {}: {}{}", remedy.change.name, remedy.change.value,
                     report::format_value(Dimension::time, remedy.step_time),
                     remedy.winner ? ", the plan above" : "");
}

void add_neighbours(TextPage& page, const Plan& plan) {
  if (plan.neighbours.empty()) {
    return;
  }
  page.section("NEARLY", plan.finalists.empty() ? "what is least short of memory:"
                                                : "faster, but too large:");
  constexpr std::size_t kHanging = 4;
  for (const Neighbour& neighbour : plan.neighbours) {
    const std::string gain =
        neighbour.gain > 0.0 ? fmt::format(" ({} faster)", format_percent(neighbour.gain)) : "";
    page.line(report::printable(
                  fmt::format("{}: step {}{}, short by {} on stage {}{}", neighbour.proposal.words,
                              report::format_value(Dimension::time, neighbour.step_time), gain,
                              format_bytes_binary(bytes(neighbour.short_by)), neighbour.stage,
                              neighbour.remedy ? remedy_text(*neighbour.remedy) : "")),
              kHanging);
  }
}

void add_stability(TextPage& page, const Plan& plan) {
  const Stability& stability = plan.stability;
  if (!stability.checked) {
    return;
  }
  const std::string firm = firm_words(plan);
  page.section("FIRM", stability.stable ? firm : page.paint(Ink::warning, firm));
  constexpr std::size_t kHanging = 4;
  constexpr std::size_t kMostRivals = 4;
  std::size_t named = 0;
  for (const Rival& rival : stability.rivals) {
    if (!rival.told_apart() && ++named <= kMostRivals) {
      page.line(report::printable(rival_words(rival)), kHanging);
    }
  }
  for (const Perturbation& one : stability.perturbations) {
    const std::string words = overtaking_words(one);
    if (!words.empty()) {
      page.line(report::printable(words), kHanging);
    }
  }
  const std::string tight = tight_memory_words(plan);
  if (!tight.empty()) {
    page.line(page.paint(Ink::warning, tight));
  }
}

}  // namespace

std::string to_text(const Plan& plan, report::TextStyle style) {
  TextPage page(style);
  add_title(page, plan);
  add_search(page, plan);
  if (!plan.finalists.empty()) {
    add_best(page, plan);
    add_published(page, plan);
    add_ranking(page, plan);
    for (const Front& front : plan.fronts) {
      add_front(page, front);
    }
  }
  add_aside(page, plan);
  add_neighbours(page, plan);
  add_stability(page, plan);
  return page.text();
}

}  // namespace orrery::plan
