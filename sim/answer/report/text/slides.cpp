#include "sim/answer/report/text/slides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t kMostCards = 6;
constexpr std::size_t kMostChanges = 8;
constexpr double kOnePoint = 1.0 / kPercent;
constexpr double kSmall = 0.005;  // of all: below it parts stand together

std::string capitalised(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text;
}

// A scenario without a name of its own is called after its file.
std::string name_of(const Evaluation& evaluation) {
  const ScenarioEcho& echo = evaluation.echo;
  return echo.name != std::filesystem::path(echo.file).stem().string()
             ? echo.name
             : fmt::format("{} on {} x {}", echo.model_name, format_integer(evaluation.step.gpus),
                           echo.gpu);
}

std::optional<SlideCard> card_of(const Evaluation& evaluation, MetricId id,
                                 const std::string& name) {
  const MetricValue* metric = evaluation.metrics.find(id);
  if (metric == nullptr) {
    return std::nullopt;
  }
  const Dimension dimension = info(id).dimension;
  const double value = typical(*metric);
  std::optional<MetricBand> band = metric_band(evaluation, id);
  if (metric->trials && metric->trials->count() > 1) {
    const run::Distribution& trials = *metric->trials;
    if (!band && trials.quantile(0.0) != trials.quantile(1.0)) {
      band = MetricBand{trials.quantile(kLowQuantile), trials.quantile(kHighQuantile)};
    }
  }
  SlideCard card{.name = name, .value = format_value(dimension, value)};
  if (band && value != 0.0 && dimension != Dimension::date) {
    card.low_text = format_value(dimension, band->low);
    card.high_text = format_value(dimension, band->high);
    if (card.low_text != card.high_text) {
      card.low = band->low / value - 1.0;
      card.high = band->high / value - 1.0;
    }
  }
  return card;
}

std::vector<SlideCard> cards_of(const Evaluation& evaluation) {
  const Utilisation used = headline_utilisation(evaluation);
  const bool window = evaluation.plan && !evaluation.plan->target_steps;
  const std::pair<MetricId, std::string> wanted[] = {
      {window ? MetricId::tokens_trained : MetricId::finish_time,
       window ? "Tokens trained" : "Done in"},
      {MetricId::cost, "Cost"},
      {MetricId::cost_per_million_tokens, "Cost per million tokens"},
      {MetricId::step_time, "Step"},
      {used.id, std::string(used.name)},
      {MetricId::goodput, "Goodput"},
      {MetricId::tokens_per_second, "Tokens per second"},
      {MetricId::peak_memory, "Peak memory of a GPU"},
      {MetricId::failures, "Failures"}};
  std::vector<SlideCard> cards;
  for (const auto& [id, name] : wanted) {
    if (auto card = card_of(evaluation, id, name); card && cards.size() < kMostCards) {
      cards.push_back(*std::move(card));
    }
  }
  return cards;
}

std::string layout_words(const ScenarioEcho& echo) {
  const layout::Layout& layout = echo.layout;
  std::vector<std::string> words;
  const auto add = [&words](std::string_view name, std::int64_t degree) {
    if (degree > 1) {
      words.push_back(fmt::format("{} {}", name, degree));
    }
  };
  add("tensor", layout.tensor);
  add("context", layout.context);
  add("expert", layout.expert);
  if (layout.pipeline > 1) {
    words.push_back(fmt::format("pipeline {}{}", layout.pipeline,
                                layout.virtual_stages > 1
                                    ? fmt::format(" with {} chunks a stage", layout.virtual_stages)
                                    : std::string()));
  }
  add("data", layout.data);
  words.push_back(fmt::format("batch {} in micro-batches of {}", format_integer(echo.global_batch),
                              layout.micro_batch));
  words.push_back(echo.precision);
  return capitalised(fmt::format("{}.", fmt::join(words, ", ")));
}

std::vector<std::string> lines_of(const Evaluation& evaluation) {
  std::vector<std::string> lines;
  std::string first;
  if (const std::optional<Loss> loss = largest_loss(evaluation)) {
    first = fmt::format("Largest loss: {}, {} of the {}{}.", loss->label,
                        format_percent(loss->share), evaluation.run ? "GPU time" : "step",
                        loss->dollars ? ", " + format_money(*loss->dollars) : "");
  }
  if (evaluation.plan && !evaluation.plan->mtbf) {
    first += first.empty() ? "No failures are stated." : " No failures are stated.";
  } else if (const auto failures = card_of(evaluation, MetricId::failures, {})) {
    first += fmt::format(
        "{}Failures: {}{}.", first.empty() ? "" : " ", failures->value,
        failures->low ? fmt::format(" ({} to {})", failures->low_text, failures->high_text) : "");
  }
  if (!first.empty()) {
    lines.push_back(first);
  }
  lines.push_back(fmt::format("{} x {}. {}", format_integer(evaluation.step.gpus),
                              evaluation.echo.gpu, layout_words(evaluation.echo)));
  const auto& expected = evaluation.expectations;
  if (!expected.empty()) {
    const auto met = std::ranges::count_if(expected, [](const auto& one) { return one.passed(); });
    lines.push_back(fmt::format("{} of {} expectations are met.", met, expected.size()));
  }
  return lines;
}

// Rows of one ledger but one, the largest first; small ones together.
std::vector<SlidePart> losses_of(const std::vector<LedgerRow>& rows,
                                 const std::vector<std::string_view>& kept, double of,
                                 std::optional<Dollars> dollars) {
  std::vector<SlidePart> parts;
  SlidePart rest{.label = ""};
  std::int64_t small = 0;
  for (const LedgerRow& row : rows) {
    const double share = row.share * of;
    if (share <= 0.0 || std::ranges::find(kept, row.category) != kept.end()) {
      continue;
    }
    const auto cost = dollars ? std::optional(*dollars * row.share) : row.dollars;
    SlidePart part{
        .label = std::string(row.label), .category = row.category, .share = share, .dollars = cost};
    if (share >= kSmall) {
      parts.push_back(part);
      continue;
    }
    ++small;
    part.share += rest.share;
    if (rest.dollars && part.dollars) {
      *part.dollars += *rest.dollars;
    }
    if (small > 1) {
      part.label = fmt::format("{} smaller parts", small);
    }
    rest = part;
  }
  std::ranges::stable_sort(parts, std::ranges::greater{}, &SlidePart::share);
  if (small > 0) {
    parts.push_back(rest);
  }
  return parts;
}

std::vector<SlidePart> parts_of(const Evaluation& evaluation) {
  std::vector<SlidePart> parts;
  double left = 1.0;
  const auto total = [&parts, &left](std::string label, std::optional<Dollars> dollars) {
    parts.push_back({.label = std::move(label), .share = left, .dollars = dollars, .total = true});
  };
  const auto take = [&parts, &left](std::vector<SlidePart> losses) {
    for (SlidePart& part : losses) {
      left -= part.share;
      part.before = left;
      parts.push_back(std::move(part));
    }
  };
  std::optional<Dollars> training = training_cost(evaluation);
  if (evaluation.run) {
    const std::vector<LedgerRow> rows = run_ledger_rows(evaluation);
    std::optional<Dollars> paid = training ? std::optional(Dollars{}) : std::nullopt;
    for (const LedgerRow& row : rows) {
      if (paid && row.dollars) {
        *paid += *row.dollars;
      }
    }
    total(paid ? "paid" : "GPU time of the run", paid);
    take(losses_of(rows, {to_string(run::RunCategory::productive)}, 1.0, std::nullopt));
    total("training", training);
  } else {
    total("step", std::nullopt);
  }
  if (!evaluation.step.given) {
    const double of = left;
    take(losses_of(
        step_ledger_rows(evaluation),
        {to_string(step::StepCategory::compute), to_string(step::StepCategory::optimizer)}, of,
        training));
    total("computing", training && of > 0.0 ? std::optional(*training * (left / of)) : training);
  }
  return parts;
}

// Words for a key of the scenario.
std::string switch_words(const SwitchLever& lever) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {{
      {"overlap.data: true", "Hiding data communication"},
      {"overlap.pipeline: true", "Hiding pipeline messages"},
      {"overlap.tensor: true", "Hiding tensor communication"},
      {"layout.sequence_parallel: true", "Sequence parallelism"},
      {"recompute: none", "No recomputation"},
      {"recompute: selective", "Selective recomputation"},
  }};
  const std::string stated = fmt::format("{}: {}", lever.key, lever.value);
  for (const auto& [key, words] : kWords) {
    if (key == stated) {
      return std::string(words);
    }
  }
  std::string key = lever.key;
  std::ranges::replace(key, '.', ' ');
  std::ranges::replace(key, '_', ' ');
  return capitalised(fmt::format("{}: {}", key,
                                 lever.value == "true"    ? "on"
                                 : lever.value == "false" ? "off"
                                                          : lever.value));
}

std::vector<SlideChange> changes_of(const Evaluation& evaluation) {
  std::vector<SlideChange> changes;
  const bool priced = training_cost(evaluation).has_value();
  for (const Lever& lever : evaluation.levers) {
    const double saving = priced ? -in_dollars(lever.cost_delta) : -in_seconds(lever.finish_delta);
    SlideChange change{.change = capitalised(lever.change), .saving = saving};
    for (const SwitchLever& one : evaluation.switches) {
      if (lever.change == fmt::format("`{}: {}`", one.key, one.value)) {
        change.change = switch_words(one);
        change.possible = true;
      }
    }
    const std::string_view sign = saving < 0.0 ? "+" : "\u2212";
    if (priced) {
      change.saving_text = fmt::format("{}{}", sign, format_money(dollars(std::abs(saving))));
    }
    const Seconds earlier = -lever.finish_delta;
    constexpr double kNoticeable = 60.0;  // s
    change.time_text = in_seconds(earlier) > kNoticeable
                           ? format_time(earlier)
                           : (in_seconds(earlier) < -kNoticeable ? "\u2212" + format_time(-earlier)
                                                                 : std::string("same"));
    change.note = change.possible ? "a setting" : !lever.without.empty() ? "at most" : "";
    changes.push_back(std::move(change));
  }
  if (changes.empty()) {
    const Seconds now = to_seconds(evaluation.step.step_time);
    for (const SwitchLever& one : evaluation.switches) {
      changes.push_back({.change = switch_words(one),
                         .saving = in_seconds(now - one.step_time),
                         .time_text = format_time(now - one.step_time),
                         .note = "a setting",
                         .possible = true});
    }
    const auto add = [&](std::string change, double share, std::string note) {
      if (share > 0.0) {
        changes.push_back({.change = capitalised(std::move(change)),
                           .saving = in_seconds(share * now),
                           .time_text = format_time(share * now),
                           .note = std::move(note)});
      }
    };
    for (const StepSaving& one : step_savings(evaluation.step)) {
      add(std::string(one.change), one.share, "at most");
    }
    add("no gaps between kernels", evaluation.step.ledger.share(step::StepCategory::launch_gap),
        "at most");
    const MetricValue* mfu = evaluation.metrics.find(MetricId::mfu);
    add("one point of MFU more", mfu != nullptr ? kOnePoint / (mfu->value + kOnePoint) : 0.0, "");
  }
  std::ranges::stable_sort(changes, [](const SlideChange& a, const SlideChange& b) {
    return std::pair(a.possible, a.saving) > std::pair(b.possible, b.saving);
  });
  changes.resize(std::min(changes.size(), kMostChanges));
  return changes;
}

std::string caution_of(const Evaluation& evaluation) {
  if (!evaluation.band) {
    return {};
  }
  const StepBand& band = *evaluation.band;
  std::string text = fmt::format("Steps like this one are predicted within {} on average.",
                                 format_percent(band.error, {.significant = 2}));
  if (!band.doubts.empty()) {
    const StepDoubt& doubt = band.doubts.front();
    text += fmt::format(" Measure first: {}; {} of it is {} of the step.", doubt.coefficient,
                        format_percent(doubt.error, {.significant = 2, .trim = true}),
                        format_percent(doubt.effect, {.significant = 2}));
  }
  return text;
}

std::string parts_title(const std::vector<SlidePart>& parts, const Evaluation& evaluation) {
  if (parts.size() < 2) {
    return "The scenario states its step time";
  }
  const SlidePart& all = parts.front();
  const SlidePart& last = parts.back();
  std::string text =
      all.dollars && last.dollars
          ? fmt::format("{} of {}", format_money(*last.dollars), format_money(*all.dollars))
          : fmt::format("{} of the {}", format_percent(last.share), all.label);
  text += last.label == "computing" ? " is computing" : " is training";
  if (const std::optional<Loss> loss = largest_loss(evaluation)) {
    text += fmt::format("; {} is the largest loss", loss->label);
  }
  return text;
}

// `run`: what changes save is of the run, not of a step.
std::string changes_title(const std::vector<SlideChange>& changes, bool run) {
  if (changes.empty() || changes.front().saving <= 0.0) {
    return "No single setting makes it faster";
  }
  const SlideChange& best = changes.front();
  const std::string worth = best.saving_text.empty() ? best.time_text + (run ? "" : " a step")
                                                     : format_money(dollars(best.saving));
  return best.possible
             ? fmt::format("{} saves {}; measure it before relying on it", best.change, worth)
             : fmt::format("{} would save {}", best.change, worth);
}

}  // namespace

Slides slides_of(const Evaluation& evaluation) {
  const Outcome outcome = outcome_of(evaluation);
  const bool run = evaluation.run.has_value();
  Slides slides;
  slides.name = name_of(evaluation);
  slides.standing = outcome.standing;
  slides.standing_text = outcome.brief;
  const std::size_t colon = outcome.reason.find(": ");
  slides.standing_why =
      colon == std::string::npos ? "" : capitalised(outcome.reason.substr(colon + 2)) + ".";
  slides.cards = cards_of(evaluation);
  slides.lines = lines_of(evaluation);
  slides.parts = parts_of(evaluation);
  slides.changes = changes_of(evaluation);
  slides.caution = caution_of(evaluation);
  const bool of_run = run && !evaluation.levers.empty();
  const bool bands =
      std::ranges::any_of(slides.cards, [](const SlideCard& card) { return card.low.has_value(); });
  slides.titles = {outcome.headline, parts_title(slides.parts, evaluation),
                   changes_title(slides.changes, of_run)};
  slides.subtitles = {
      bands ? "8 of 10 outcomes lie in the blue bands." : "",
      !slides.parts.empty() && slides.parts.front().dollars
          ? "From what is paid to what computes. Hatched is waiting."
      : run ? "From the GPU time of the run to what computes. Hatched is waiting."
            : "From the whole step to what computes. Hatched is waiting.",
      of_run
          ? "What each change saves for the same tokens. Solid: a setting that can be made today. "
            "Hatched: what a lever is worth."
          : "What each change saves a step. Solid: a setting that can be made today. Hatched: what "
            "a lever is worth."};
  slides.time_head = of_run ? "earlier" : "a step";
  constexpr std::size_t kShown = 8;
  slides.foot = fmt::format("Orrery, {} ({})",
                            evaluation.echo.file.substr(evaluation.echo.file.rfind('/') + 1),
                            evaluation.echo.sha256.substr(0, kShown));
  slides.trials = run && evaluation.run->trials > 1;
  if (run) {
    slides.foot +=
        fmt::format(", {} trial{}, seed {}", format_integer(evaluation.run->trials),
                    evaluation.run->trials == 1 ? "" : "s", evaluation.plan->simulation.seed);
  }
  return slides;
}

}  // namespace orrery::report
