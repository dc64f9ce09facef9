#include "sim/answer/report/text/details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {

namespace {

using step::Slice;
using step::StepCategory;

bool is_on(const Slice& slice, std::int64_t device) {
  return slice.task.device == device && step::occupies(slice.task);
}

// The tasks of a step by their ends.
class Causes {
 public:
  explicit Causes(const step::StepResult& step) : step_(step), by_end_(step.slices.size()) {
    for (std::size_t i = 0; i < by_end_.size(); ++i) {
      by_end_[i] = i;
    }
    std::ranges::sort(by_end_, [this](std::size_t a, std::size_t b) {
      return step_.slices[a].end < step_.slices[b].end;
    });
  }

  // Whose end or message let the slice begin; nothing where its device alone kept it.
  [[nodiscard]] std::optional<std::size_t> released_by(std::size_t slice) const {
    const Slice& waited = step_.slices[slice];
    const auto begin = std::lower_bound(
        by_end_.begin(), by_end_.end(), waited.start,
        [this](std::size_t i, SimTime time) { return step_.slices[i].end < time; });
    std::optional<std::size_t> own;     // computed on the same device until then
    std::optional<std::size_t> beside;  // communication of the device
    std::optional<std::size_t> other;   // what all devices wait for
    for (auto at = begin; at != by_end_.end() && step_.slices[*at].end == waited.start; ++at) {
      const Slice& ended = step_.slices[*at];
      if (ended.start >= waited.start || ended.task.device < 0) {
        continue;
      }
      if (is_on(ended, waited.task.device)) {
        own = *at;
      } else if (ended.task.device == waited.task.device) {
        beside = *at;
      } else {
        other = *at;
      }
    }
    if (own && step::occupies(waited.task)) {
      return std::nullopt;
    }
    for (const step::MessageRun& message : step_.operation_timeline->messages) {
      if (message.to == slice && message.end == waited.start) {
        return message.from;
      }
    }
    return beside ? beside : own ? own : other;
  }

 private:
  const step::StepResult& step_;
  std::vector<std::size_t> by_end_;
};

// Adds what of [begin, end) lies in the window.
void add(SimTime& sum, const TimeWindow& window, SimTime begin, SimTime end) {
  const SimTime from = std::max(begin, window.begin);
  const SimTime until = std::min(end, window.end);
  sum += std::max(until - from, SimTime{});
}

void add_task(const step::OperationTimeline& timeline, const Slice& slice, const step::TaskRun& run,
              const TimeWindow& window, step::CategoryTimes& sums) {
  const auto cell = [&sums](StepCategory category) -> SimTime& {
    return sums[static_cast<std::size_t>(category)];
  };
  if (window.begin <= slice.start && slice.end <= window.end) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      sums[c] += timeline.kinds[run.kind].by_category[c];
    }
    cell(StepCategory::exposed_data) += run.stretch;
    return;
  }
  for (const step::PlacedOperation& placed : step::place_operations(timeline, run)) {
    const SimTime begin = slice.start + placed.booked_from;
    const SimTime end = begin + placed.booked;
    add(cell(placed.category), window, begin, end);
    add(cell(StepCategory::exposed_expert), window, end, end + placed.slowed);
  }
}

std::string time_text(SimTime time) { return format_time(to_seconds(time)); }

// "backward 0, chunk 7"
std::string task_words(const Evaluation& evaluation, const Slice& slice) {
  const bool in_chunk =
      evaluation.echo.layout.virtual_stages > 1 && has_micro_batch(slice.task.kind);
  return in_chunk ? fmt::format("{}, chunk {}", task_name(slice.task), slice.task.chunk)
                  : task_name(slice.task);
}

std::string name_of(const Evaluation& evaluation, const Slice& slice) {
  const std::string task = task_words(evaluation, slice);
  return fmt::format("{}{} of stage {}", task, task.find(',') == std::string::npos ? "" : ",",
                     slice.task.device);
}

template <typename Kind>
void add_part(std::vector<DetailPart>& parts, std::string_view label, SimTime time, Kind kind) {
  if (time > SimTime{}) {
    parts.push_back({.label = label, .time = to_seconds(time), .kind = kind});
  }
}

// Most time first, with their shares of all.
void order(std::vector<DetailPart>& parts) {
  Seconds all;
  for (const DetailPart& part : parts) {
    all += part.time;
  }
  for (DetailPart& part : parts) {
    part.share = part.time / all;
  }
  std::ranges::stable_sort(parts, std::ranges::greater{}, &DetailPart::time);
}

std::vector<DetailPart> parts_of(const step::CategoryTimes& times) {
  std::vector<DetailPart> parts;
  for (std::size_t c = 0; c < times.size(); ++c) {
    const auto category = static_cast<StepCategory>(c);
    add_part(parts, label_of(category), times[c], category);
  }
  order(parts);
  return parts;
}

class Worth {
 public:
  explicit Worth(const Evaluation& evaluation)
      : evaluation_(evaluation),
        devices_(
            static_cast<double>(std::max<std::size_t>(evaluation.step.stage_ledgers.size(), 1))) {}

  // Of time on one pipeline device in every step.
  [[nodiscard]] DetailWorth of(std::string what, Seconds time) const {
    return priced(std::move(what), time, time / to_seconds(evaluation_.step.step_time) / devices_);
  }

  // Of a category of the ledger, as the mean of a GPU.
  [[nodiscard]] DetailWorth of_all(StepCategory category) const {
    const double share = evaluation_.step.ledger.share(category);
    return priced(fmt::format("all {} of the step, mean of a GPU", label_of(category)),
                  to_seconds(evaluation_.step.step_time) * share, share);
  }

  void add_lever(StepCategory category, std::vector<DetailWorth>& rows) const {
    for (const Lever& lever : evaluation_.levers) {
      if (std::ranges::find(lever.without, category) != lever.without.end()) {
        rows.push_back(
            {.what = lever.change, .time = -lever.finish_delta, .dollars = lever.cost_delta});
      }
    }
  }

 private:
  [[nodiscard]] DetailWorth priced(std::string what, Seconds time, double share) const {
    const std::optional<Dollars> paid = training_cost(evaluation_);
    return {.what = std::move(what),
            .time = time,
            .share = share,
            .dollars = paid ? std::optional(*paid * share) : std::nullopt};
  }

  const Evaluation& evaluation_;
  double devices_;
};

std::vector<DetailLink> links_of(const Evaluation& evaluation,
                                 const std::vector<std::size_t>& chain) {
  std::vector<DetailLink> links;
  std::string before;
  for (const std::size_t i : chain) {
    const Slice& slice = evaluation.step.slices[i];
    const std::string task = task_words(evaluation, slice);
    links.push_back(
        {task == before ? fmt::format("stage {}", slice.task.device) : name_of(evaluation, slice),
         slice.task.device,
         {slice.start, slice.end}});
    before = task;
  }
  return links;
}

std::string place_of(std::int64_t device, SimTime at) {
  return fmt::format("stage {} at {}", device, time_text(at));
}

Details gap_details(const Evaluation& evaluation, std::int64_t device, const Gap& gap) {
  const step::StepResult& step = evaluation.step;
  const Seconds length = to_seconds(gap.time.end - gap.time.begin);
  std::vector<std::size_t> chain = chain_of_causes(step, gap.next.value_or(last_task(step)));
  Details details;
  details.waits = true;
  if (gap.next) {
    const std::string next = name_of(evaluation, step.slices[*gap.next]);
    chain.erase(chain.begin());
    details.title =
        fmt::format("Waits {} {} {}", format_time(length), chain.empty() ? "before" : "for",
                    chain.empty() ? next : name_of(evaluation, step.slices[chain[0]]));
    details.note = fmt::format("Then it runs {}.", next);
  } else {
    details.title = fmt::format("Waits {} for the end of the step", format_time(length));
  }
  details.place = place_of(device, gap.time.begin);
  details.parts = parts_of(time_within(step, gap.time, device, device));
  details.chain = links_of(evaluation, chain);
  const Worth worth(evaluation);
  details.worth.push_back(worth.of("this wait, in every step", length));
  if (!details.parts.empty()) {
    const StepCategory most = std::get<StepCategory>(details.parts.front().kind);
    details.worth.push_back(worth.of_all(most));
    worth.add_lever(most, details.worth);
  }
  return details;
}

Details task_details(const Evaluation& evaluation, std::size_t at) {
  const step::StepResult& step = evaluation.step;
  const Slice& slice = step.slices[at];
  const SimTime length = slice.end - slice.start;
  Details details;
  const std::string name = name_of(evaluation, slice);
  details.title = fmt::format("{} takes {}", name, time_text(length));
  details.title.front() = static_cast<char>(std::toupper(details.title.front()));
  details.place = place_of(slice.task.device, slice.start);
  details.parts =
      parts_of(time_within(step, {slice.start, slice.end}, slice.task.device, slice.task.device));
  details.chain = links_of(evaluation, chain_of_causes(step, at));
  details.chain.erase(details.chain.begin());
  if (details.chain.empty()) {
    details.note = "It began as soon as its stage was free.";
  }
  std::size_t alike = 0;
  Seconds all;
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& other = step.slices[i];
    if (other.task.kind == slice.task.kind && other.task.device == slice.task.device &&
        other.task.stream == slice.task.stream) {
      ++alike;
      all += to_seconds(other.end - other.start);
    }
  }
  const Worth worth(evaluation);
  details.worth.push_back(worth.of("this one, in every step", to_seconds(length)));
  details.worth.push_back(worth.of(
      fmt::format("all {} alike on this stage", format_integer(static_cast<std::int64_t>(alike))),
      all));
  return details;
}

// Of a moment, as the axis of the run has it.
std::string moment(const Evaluation& evaluation, SimTime at) {
  const auto start = unix_start(evaluation);
  return start ? format_date_time(*start + std::llround(in_seconds(to_seconds(at))))
               : time_text(at);
}

DetailWorth cost_of(const Evaluation& evaluation, std::string what, SimTime time) {
  const std::optional<DollarsPerSecond> rate = cost_per_second(evaluation);
  return {.what = std::move(what),
          .time = to_seconds(time),
          .dollars = rate ? std::optional(*rate * to_seconds(time)) : std::nullopt};
}

Details stop_details(const Evaluation& evaluation, const std::vector<Stop>& stops, std::size_t at) {
  const Stop& stop = stops[at];
  Details details;
  details.title = fmt::format("{} stops training for {}", stop.what, time_text(stop.stopped));
  details.title.front() = static_cast<char>(std::toupper(details.title.front()));
  details.place = moment(evaluation, stop.begin);
  if (!stop.nodes.empty()) {
    details.place += ", " + nodes_text(stop.nodes);
  }
  add_part(details.parts, run::to_string(stop.lost_as), stop.lost, stop.lost_as);
  for (const auto& [activity, time] : stop.parts) {
    add_part(details.parts, run::to_string(activity), time, activity);
  }
  order(details.parts);
  details.worth.push_back(cost_of(evaluation, "this stop, with lost work", stop.together()));
  SimTime alike;
  SimTime all;
  std::int64_t count = 0;
  for (const Stop& other : stops) {
    all += other.together();
    if (other.what == stop.what) {
      alike += other.together();
      ++count;
    }
  }
  details.worth.push_back(
      cost_of(evaluation, fmt::format("all {} by {}", format_integer(count), stop.what), alike));
  details.worth.push_back(
      cost_of(evaluation,
              fmt::format("all {} stops of this trial",
                          format_integer(static_cast<std::int64_t>(stops.size()))),
              all));
  return details;
}

}  // namespace

std::optional<Gap> gap_at(const step::StepResult& step, std::int64_t device, SimTime at) {
  Gap gap{{SimTime{}, step.step_time}, {}};
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (!is_on(slice, device)) {
      continue;
    }
    if (slice.start <= at && at < slice.end) {
      return std::nullopt;
    }
    if (slice.end <= at) {
      gap.time.begin = std::max(gap.time.begin, slice.end);
    } else if (!gap.next || slice.start < gap.time.end) {
      gap.time.end = slice.start;
      gap.next = i;
    }
  }
  return gap;
}

std::optional<std::size_t> task_at(const step::StepResult& step, std::int64_t device, SimTime at) {
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (is_on(slice, device) && slice.start <= at && at < slice.end) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> chain_of_causes(const step::StepResult& step, std::size_t slice) {
  const Causes causes(step);
  std::vector<std::size_t> chain = {slice};
  while (const auto cause = causes.released_by(chain.back())) {
    chain.push_back(*cause);
  }
  return chain;
}

std::size_t last_task(const step::StepResult& step) {
  const auto last = std::ranges::max_element(step.slices, [](const Slice& a, const Slice& b) {
    return std::pair(a.end, a.start) < std::pair(b.end, b.start);
  });
  return static_cast<std::size_t>(last - step.slices.begin());
}

step::CategoryTimes time_within(const step::StepResult& step, const TimeWindow& window,
                                std::int64_t first, std::int64_t last) {
  step::CategoryTimes sums{};
  const step::OperationTimeline& timeline = *step.operation_timeline;
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (step::occupies(slice.task) && first <= slice.task.device && slice.task.device <= last &&
        slice.start < window.end && window.begin < slice.end) {
      add_task(timeline, slice, timeline.runs[i], window, sums);
    }
  }
  for (const step::DeviceWait& wait : timeline.waits) {
    if (first <= wait.device && wait.device <= last) {
      add(sums[static_cast<std::size_t>(wait.category)], window, wait.start, wait.end);
    }
  }
  return sums;
}

DetailWorth worth_of_step_time(const Evaluation& evaluation, std::string what, Seconds time) {
  return Worth(evaluation).of(std::move(what), time);
}

Details details_of_step(const Evaluation& evaluation, std::int64_t device, SimTime at) {
  if (const auto task = task_at(evaluation.step, device, at)) {
    return task_details(evaluation, *task);
  }
  return gap_details(evaluation, device, *gap_at(evaluation.step, device, at));
}

Details details_of_window(const Evaluation& evaluation, const TimeWindow& window,
                          std::int64_t first, std::int64_t last) {
  const TimeWindow inside{std::max(window.begin, SimTime{}),
                          std::min(window.end, evaluation.step.step_time)};
  Details details;
  details.title = fmt::format("{} of the step", time_text(inside.end - inside.begin));
  details.place = fmt::format(
      "{}, from {} to {}",
      first == last ? fmt::format("stage {}", first) : fmt::format("stages {} to {}", first, last),
      time_text(inside.begin), time_text(inside.end));
  details.parts = parts_of(time_within(evaluation.step, inside, first, last));
  const auto stages = static_cast<double>(last - first + 1);
  for (DetailPart& part : details.parts) {
    part.time = part.time / stages;
  }
  details.note = first == last ? "" : "Times are the mean of the stages.";
  return details;
}

Details details_of_run(const Evaluation& evaluation, SimTime at) {
  const std::vector<Stop> stops = stops_of(evaluation);
  if (const auto stop = stop_at(stops, at)) {
    return stop_details(evaluation, stops, *stop);
  }
  Details details;
  const auto& intervals = evaluation.timeline.intervals();
  const auto here = std::ranges::find_if(
      intervals, [at](const auto& one) { return one.begin <= at && at < one.end; });
  if (here == intervals.end()) {
    return details;
  }
  const SimTime length = here->end - here->begin;
  details.title = fmt::format("{} for {}", run::to_string(here->kind), time_text(length));
  details.title.front() = static_cast<char>(std::toupper(details.title.front()));
  details.place = moment(evaluation, here->begin);
  details.worth.push_back(cost_of(evaluation, "costs", length));
  return details;
}

Details details_of_run(const Evaluation& evaluation, const TimeWindow& window) {
  std::array<SimTime, run::kRunActivityCount> sums{};
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    const SimTime from = std::max(interval.begin, window.begin);
    const SimTime until = std::min(interval.end, window.end);
    sums[static_cast<std::size_t>(interval.kind)] += std::max(until - from, SimTime{});
  }
  Details details;
  SimTime all;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto activity = static_cast<run::RunActivity>(i);
    add_part(details.parts, run::to_string(activity), sums[i], activity);
    all += sums[i];
  }
  order(details.parts);
  details.title = fmt::format("{} of the run", time_text(all));
  details.place =
      fmt::format("{} to {}", moment(evaluation, window.begin), moment(evaluation, window.end));
  details.worth.push_back(cost_of(evaluation, "costs", all));
  return details;
}

}  // namespace orrery::report
