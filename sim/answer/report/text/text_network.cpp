#include <fmt/core.h>

#include <algorithm>

#include "sim/answer/report/text/text_sections.hpp"
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

}  // namespace orrery::report
