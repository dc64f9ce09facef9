#include <array>
#include <utility>

#include "gui/models/tables/plan_tables.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

enum Kind : std::size_t { line, other, now, behind, tie, best, kinds };

struct Dress {
  const char* name;
  PlotMark mark;
  int hue;
};

constexpr std::array<Dress, kinds> kDress = {{{"no other beats both", PlotMark::disc, 7},
                                              {"not ranked", PlotMark::cross, 7},
                                              {"as it stands", PlotMark::square, 3},
                                              {"ranked", PlotMark::disc, 0},
                                              {"within error of the best", PlotMark::diamond, 1},
                                              {"best", PlotMark::star, 5}}};

struct Place {
  Kind kind = other;
  QString words;
};

Place place_of(const plan::Plan& plan, const plan::FrontPoint& point) {
  if (point.winner) {
    return {best, "the best plan"};
  }
  if (const auto rank = plan::rank_of(plan, point.proposal)) {
    const bool ties = plan.finalists[*rank - 1].standing == plan::Standing::tie;
    return {ties ? tie : behind,
            QString("rank %1%2").arg(*rank).arg(ties ? ", within error of the best" : "")};
  }
  if (plan.current && plan.current->proposal.tag == point.proposal.tag) {
    return {now, "the scenario as it stands"};
  }
  return {other, "not ranked"};
}

// Broken at commas, so that it has a place beside its point.
QString narrow(const QString& words) {
  constexpr qsizetype kWide = 42;
  QString text;
  qsizetype begin = 0;
  for (const QString& part : words.split(", ")) {
    if (!text.isEmpty()) {
      const bool next = text.size() - begin + part.size() > kWide;
      text += next ? ",\n" : ", ";
      begin = next ? text.size() : begin;
    }
    text += part;
  }
  return text;
}

QString words_of(const plan::Front& front, const plan::FrontPoint& point, const Place& place) {
  return QString("%1\n%2 %3, %4 %5\n%6")
      .arg(place.words, qt(front.x.title), shown(front.x.dimension, point.x), qt(front.y.title),
           shown(front.y.dimension, point.y),
           narrow(qt(format_integer(point.proposal.gpus) + " GPUs, " + point.proposal.words)));
}

QString capital(QString text) {
  text[0] = text[0].toUpper();
  return text;
}

}  // namespace

QString front_name(const plan::Front& front) {
  return qt(front.y.title) + " against " + qt(front.x.title);
}

Plot front_plot(const plan::Plan& plan, const plan::Front& front) {
  Plot plot{.name = front_name(front),
            .title = capital(front_name(front)) + (front.simulated
                                                       ? ": simulated plans, lower left is better"
                                                       : ": estimates, lower left is better"),
            .x = {.label = qt(front.x.title), .dimension = front.x.dimension},
            .y = {.label = qt(front.y.title), .dimension = front.y.dimension},
            .named = true};
  std::array<PlotSeries, kinds> series;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    series[kind].kind = kind == line ? PlotSeries::Kind::line : PlotSeries::Kind::points;
    series[kind].name = kDress[kind].name;
    series[kind].mark = kDress[kind].mark;
    series[kind].hue = kDress[kind].hue;
  }
  for (std::size_t i = 0; i < front.points.size(); ++i) {
    const plan::FrontPoint& point = front.points[i];
    const Place place = place_of(plan, point);
    const auto add = [&](Kind kind) {
      series[kind].x.push_back(point.x);
      series[kind].y.push_back(point.y);
      series[kind].names.push_back(words_of(front, point, place));
      series[kind].targets.push_back({.at = static_cast<std::int64_t>(i)});
    };
    add(place.kind);
    if (point.on_front) {
      add(line);
    }
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!series[kind].x.empty()) {
      plot.series.push_back(std::move(series[kind]));
    }
  }
  return plot;
}

std::optional<PlotPoint> point_of(const Plot& shown, const plan::Front& front,
                                  const std::string& tag) {
  for (std::size_t s = shown.series.size(); s-- > 0;) {
    const std::vector<PlotTarget>& targets = shown.series[s].targets;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (front.points[static_cast<std::size_t>(targets[i].at)].proposal.tag == tag) {
        return PlotPoint{s, i};
      }
    }
  }
  return std::nullopt;
}

}  // namespace orrery::gui
