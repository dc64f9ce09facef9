#include <fmt/core.h>

#include <algorithm>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "sim/answer/report/text/text_sections.hpp"
#include "sim/answer/report/text/verdict.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t kMostLinks = 5;
constexpr std::size_t kNetworkLabelWidth = 30;
constexpr std::size_t kNetworkTimeWidth = 8;

template <std::size_t N>
Seconds sum_of(const std::array<Seconds, N>& times) {
  Seconds sum;
  for (const Seconds time : times) {
    sum += time;
  }
  return sum;
}

std::string_view culprit_name(std::size_t culprit) {
  return culprit < step::kTraffics ? step::kTrafficNames[culprit] : "the link's own rate";
}

// "data 97%, the link's own rate 3%"
template <std::size_t N, typename Name>
std::string shares_of(const std::array<Seconds, N>& times, Name name) {
  const Seconds all = sum_of(times);
  std::string text;
  for (std::size_t i = 0; i < N; ++i) {
    if (times[i] > Seconds{}) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(i), share_text(times[i] / all));
    }
  }
  return text;
}

std::string cost_of_sharing(const step::StepResult& step, const step::StepNetwork& network) {
  if (network.sharing <= SimTime{}) {
    return "cost the step nothing";
  }
  return fmt::format("cost the step {}, {} of it", format_time(to_seconds(network.sharing)),
                     share_text(to_seconds(network.sharing) / to_seconds(step.step_time)));
}

void add_links(TextPage& page, const step::StepNetwork& network) {
  const std::size_t shown = std::min(kMostLinks, network.links.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const step::SharedLink& link = network.links[i];
    const std::string alike = link.alike > 1 ? fmt::format(" (x{})", link.alike) : std::string();
    page.line(pad_right(fmt::format("{}{}", printable(link.name), alike), kNetworkLabelWidth) +
              pad_left(share_text(link.load), kNetworkTimeWidth) + " busy" +
              pad_left(format_time(link.total()), kNetworkTimeWidth) + " lost by " +
              shares_of(link.lost, [](std::size_t i) { return step::kTrafficNames[i]; }));
  }
  if (network.links.size() > shown) {
    page.line(page.paint(Ink::faint,
                         fmt::format("and {} links that cost less", network.links.size() - shown)));
  }
}

constexpr std::size_t kStepLabelWidth = 33;
constexpr std::size_t kStepShareWidth = 7;
constexpr std::size_t kTimeWidth = 10;
constexpr std::size_t kStepBarWidth = 34;
constexpr std::size_t kStepMostRows = 6;
constexpr std::size_t kStepBriefRows = 5;

// "tp8+sp pp16 vpp4 dp128 zero2": degrees of one are left out, apart from the three that all know.
std::string layout_tag(const layout::Layout& layout) {
  std::string tag = fmt::format("tp{}{}", layout.tensor, layout.sequence_parallel ? "+sp" : "");
  const auto add = [&tag](std::string_view name, std::int64_t degree, std::int64_t silent) {
    if (degree != silent) {
      tag += fmt::format(" {}{}", name, degree);
    }
  };
  add("cp", layout.context, 1);
  add("pp", layout.pipeline, 0);
  add("vpp", layout.virtual_stages, 1);
  add("ep", layout.expert, 1);
  add("etp", layout.expert_tensor, layout.expert > 1 ? layout.tensor : layout.expert_tensor);
  add("dp", layout.data, 0);
  switch (layout.sharding) {
    case layout::Sharding::none:
      return tag;
    case layout::Sharding::zero1:
      return tag + " zero1";
    case layout::Sharding::zero2:
      return tag + " zero2";
    case layout::Sharding::zero3:
      return tag + " zero3";
    case layout::Sharding::hsdp:
      return tag + fmt::format(" hsdp{}", layout.shard_group);
  }
  return tag;
}

std::string model_line(const ScenarioEcho& echo) {
  const auto count = [](std::int64_t n) { return format_count(static_cast<double>(n)); };
  std::string text =
      fmt::format("{}, {} parameters", printable(echo.model_name), count(echo.parameters.total));
  if (echo.parameters.active != echo.parameters.total) {
    text += fmt::format(" ({} active per token)", count(echo.parameters.active));
  }
  return text + fmt::format(", sequences of {} tokens{}",
                            format_integer(echo.model.sequence_length),
                            echo.model.reference ? ", a frozen reference model beside it" : "");
}

std::string layout_line(const ScenarioEcho& echo) {
  const layout::Layout& layout = echo.layout;
  std::string text = layout_tag(layout);
  if (layout.pipeline > 1) {
    text += fmt::format(", {}", echo.schedule);
  }
  return text + fmt::format(", batch {} = {} x {} micro-batches of {}",
                            format_integer(echo.global_batch), layout.data, layout.micro_batches,
                            layout.micro_batch);
}

std::optional<double> shown_value(const Evaluation& evaluation, MetricId id) {
  const MetricValue* metric = evaluation.metrics.find(id);
  return metric != nullptr ? std::optional(metric->value) : std::nullopt;
}

std::string formatted(const Evaluation& evaluation, MetricId id) {
  const std::optional<double> value = shown_value(evaluation, id);
  return value ? format_value(info(id).dimension, *value) : std::string();
}

void add_utilisation(TextPage& page, const Evaluation& evaluation, MetricId id, const char* name) {
  if (shown_value(evaluation, id)) {
    std::string text = fmt::format("{} {}", page.paint(Ink::strong, name),
                                   page.paint(Ink::strong, pad_left(formatted(evaluation, id), 6)));
    if (const auto band = metric_band(evaluation, id)) {
      text += fmt::format(" ({} to {})", format_percent(band->low), format_percent(band->high));
    }
    page.line(text + "  " + page.paint(Ink::faint, info(id).meaning), 13);
  }
}

// MFU and HFU in one line.
void add_brief_utilisation(TextPage& page, const Evaluation& evaluation) {
  std::string text;
  const Utilisation used = headline_utilisation(evaluation);
  for (const auto& [id, name] : {used, Utilisation{MetricId::hfu, "HFU"}}) {
    if (!shown_value(evaluation, id)) {
      continue;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        page.paint(Ink::strong, formatted(evaluation, id)));
    if (const auto band = metric_band(evaluation, id)) {
      text += fmt::format(" ({} to {})", format_percent(band->low), format_percent(band->high));
    }
  }
  if (text.empty()) {
    return;
  }
  const auto mfu = shown_value(evaluation, used.id);
  const auto hfu = shown_value(evaluation, MetricId::hfu);
  page.line(text + (mfu && hfu && *hfu < *mfu ? " without masked attention" : ""));
  if (used.id == MetricId::mfu_causal) {
    page.line(page.paint(
        Ink::faint, fmt::format("MFU by PaLM's convention: {}, with a half of the attention that "
                                "is masked and not computed",
                                formatted(evaluation, MetricId::mfu))));
  }
}

// One decimal from 1 GiB on, one digit below.
std::string gibibyte_text(Bytes value) {
  constexpr double kTen = 10.0;
  const double gib = in_gibibytes(value);
  const int digits = gib >= kTen ? 3 : (gib >= 1.0 ? 2 : 1);
  return format_number(gib, {.significant = digits, .trim = true});
}

void add_step_ledger(TextPage& page, const Evaluation& evaluation, std::size_t most) {
  const auto gpus = static_cast<double>(evaluation.step.gpus);
  std::vector<std::string> shares;
  std::vector<std::string> times;
  show_rows(step_ledger_rows(evaluation), most, [&](const LedgerRow& row) {
    shares.push_back(share_text(row.share));
    times.push_back(format_time(row.gpu_time / gpus));
    page.line(pad_right(row.label, kStepLabelWidth) + pad_left(shares.back(), kStepShareWidth) +
              pad_left(times.back(), kTimeWidth) + "  " + page.bar(row.share, kStepBarWidth));
  });
  const std::string share = rounding_text(Dimension::fraction, shares, "100.0%");
  const std::string time =
      rounding_text(Dimension::time, times, formatted(evaluation, MetricId::step_time));
  if (!share.empty() || !time.empty()) {
    page.line(page.paint(Ink::faint, pad_right("rounding", kStepLabelWidth) +
                                         pad_left(share, kStepShareWidth) +
                                         pad_left(time, kTimeWidth)));
  }
}

}  // namespace

void add_network(TextPage& page, const Evaluation& evaluation, Detail detail) {
  if (!evaluation.step.network) {
    return;
  }
  const step::StepNetwork& network = *evaluation.step.network;
  page.section("LINKS",
               fmt::format("{} flows, and links that they share {}", format_integer(network.flows),
                           cost_of_sharing(evaluation.step, network)),
               detail == Detail::full);
  if (network.links.empty()) {
    return;
  }
  if (detail == Detail::brief) {
    const step::SharedLink& worst = network.links.front();
    page.line(
        fmt::format("most at {}{}: {} busy, {} lost by {}", printable(worst.name),
                    worst.alike > 1 ? fmt::format(" (x{})", worst.alike) : "",
                    share_text(worst.load), format_time(worst.total()),
                    shares_of(worst.lost, [](std::size_t i) { return step::kTrafficNames[i]; })));
    return;
  }
  for (std::size_t victim = 0; victim < step::kTraffics; ++victim) {
    const Seconds lost = sum_of(network.lost[victim]);
    if (lost > Seconds{}) {
      page.line(pad_right(step::kTrafficNames[victim], kNetworkLabelWidth) +
                pad_left(format_time(lost), kNetworkTimeWidth) + " lost to " +
                shares_of(network.lost[victim], culprit_name));
    }
  }
  add_links(page, network);
  page.line(page.paint(
      Ink::faint, "time of flows on all pipeline stages, much of it hidden; xN: N links alike"));
}

void add_heading(TextPage& page, const Evaluation& evaluation) {
  const ScenarioEcho& echo = evaluation.echo;
  const auto field = [&page](std::string_view name, const std::string& text) {
    page.field(page.paint(Ink::faint, name), text);
  };
  page.title(page.paint(Ink::strong, printable(echo.name)));
  const Outcome outcome = outcome_of(evaluation);
  const Ink ink = outcome.standing == Standing::fine    ? Ink::good
                  : outcome.standing == Standing::tight ? Ink::warning
                                                        : Ink::bad;
  if (outcome.standing == Standing::bad || outcome.standing == Standing::impossible) {
    std::string reason = outcome.reason;
    if (!reason.empty() && reason.front() >= 'a' && reason.front() <= 'z') {
      reason.front() = static_cast<char>(reason.front() - 'a' + 'A');
    }
    page.title(page.paint(ink, reason));
    page.title(outcome.sentence);
  } else {
    const std::string end = outcome.brief.empty() ? "" : "; " + page.paint(ink, outcome.brief);
    page.title(outcome.sentence + end);
  }
  field("model", model_line(echo));
  field("machine", fmt::format("{} x {} in {} node{} of {}{}", format_integer(evaluation.step.gpus),
                               printable(echo.gpu), format_integer(echo.nodes),
                               echo.nodes == 1 ? "" : "s", echo.gpus_per_node,
                               echo.domain_gpus == echo.nvlink_domain
                                   ? std::string()
                                   : fmt::format(", {} of {} GPUs of each NVLink domain",
                                                 echo.domain_gpus, echo.nvlink_domain)));
  field("layout", layout_line(echo));
  const bool other = !echo.software_release.empty();
  const std::string version = fmt::format(
      "{}{}", other ? fmt::format(" {}", printable(echo.software_release)) : std::string(),
      echo.software_version.empty() ? std::string()
                                    : fmt::format(" ({}{})", other ? "coefficients of " : "",
                                                  printable(echo.software_version)));
  field("software", fmt::format("{}{}, precision {}", printable(echo.software), version,
                                printable(echo.precision)));
  for (const std::string& caveat : evaluation.caveats) {
    field("caution", page.paint(Ink::warning, printable(caveat)));
  }
  for (const std::string& assumption : evaluation.assumed) {
    field("assumed", printable(assumption));
  }
}

void add_memory(TextPage& page, const Evaluation& evaluation, Detail detail) {
  const std::vector<step::StageMemory>& memory = evaluation.step.memory;
  if (memory.empty()) {
    return;
  }
  const step::Feasibility& fit = evaluation.step.feasibility;
  const step::StageMemory& worst = memory[static_cast<std::size_t>(fit.worst_stage)];
  const std::string stage =
      memory.size() == 1 ? std::string() : fmt::format(" on pipeline stage {}", fit.worst_stage);
  const bool tight = fits_tightly(evaluation);
  page.section("MEMORY",
               fmt::format("{} {} of {} per GPU{}, {} {}{}",
                           !fit.fits ? page.paint(Ink::bad, "DOES NOT FIT:")
                           : tight   ? page.paint(Ink::warning, "fits tightly:")
                                     : page.paint(Ink::good, "fits:"),
                           format_bytes_binary(worst.peak()), format_bytes_binary(worst.limit),
                           stage, format_bytes_binary(fit.fits ? fit.headroom : -fit.headroom),
                           fit.fits ? "stay free" : "too much",
                           tight && detail == Detail::full
                               ? fmt::format("; peaks are good to {:.0f}%",
                                             kPercent * evaluation.echo.memory_error)
                               : ""),
               detail == Detail::full);
  for (const std::string& advice : evaluation.advice) {
    page.line(advice);
  }
  if (detail == Detail::brief) {
    return;
  }
  std::string terms;
  for (const MemoryTerm& term : memory_terms(worst)) {
    if (term.value > Bytes{}) {
      terms +=
          fmt::format("{}{} {}", terms.empty() ? "" : ", ", term.name, gibibyte_text(term.value));
    }
  }
  page.line(page.paint(Ink::faint, terms + " GiB"));
}

void add_step(TextPage& page, const Evaluation& evaluation, Detail detail) {
  std::string head = page.paint(Ink::strong, formatted(evaluation, MetricId::step_time));
  if (evaluation.step.given) {
    head += " as the scenario states it (not predicted)";
  }
  if (evaluation.band) {
    head += fmt::format(" ({} to {} in 8 of 10)", format_time(seconds(evaluation.band->low)),
                        format_time(seconds(evaluation.band->high)));
  }
  head += fmt::format(", {}, {} per GPU", formatted(evaluation, MetricId::tokens_per_second),
                      formatted(evaluation, MetricId::tokens_per_second_per_gpu));
  page.section("ONE STEP", head, detail == Detail::full);
  if (detail == Detail::brief) {
    add_brief_utilisation(page, evaluation);
    if (!evaluation.step.given) {
      add_step_ledger(page, evaluation, kStepBriefRows);
    }
    return;
  }
  add_utilisation(page, evaluation, MetricId::mfu, "MFU");
  add_utilisation(page, evaluation, MetricId::hfu, "HFU");
  if (headline_utilisation(evaluation).id == MetricId::mfu_causal) {
    add_utilisation(page, evaluation, MetricId::mfu_causal, "causal");
  }
  if (!evaluation.step.given) {
    add_step_ledger(page, evaluation, kStepMostRows);
  }
}

}  // namespace orrery::report
