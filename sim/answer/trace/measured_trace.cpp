#include "sim/answer/trace/measured_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/answer/trace/measured_step.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::trace {

namespace {

// The time that a rank waited within a collective for the last of its peers.
//
//   waiting of a rank = its duration - shortest duration over the ranks whose traces are at hand
//
// The kernel of a collective runs from the moment at which its own rank arrives until the data is
// there; all ranks end at nearly the same time. The last to arrive has the shortest kernel: no
// clocks are compared. With traces of a part of the group it is a lower bound.
//
// The n-th kernel of an operation of a group in a step is the same collective on every rank; a step
// in which the counts differ is left alone. Sends and receives are pairs, not collectives, and are
// left alone too.

struct Peer {
  const GpuTrace* trace = nullptr;
  std::uint32_t device = 0;
  std::vector<StepWindow> windows;
};

struct PeerWaiting {
  std::vector<std::vector<std::int64_t>> waiting;  // by peer, then by index of the activity: ns
  std::int64_t collectives = 0;                    // found on two peers or more
};

// Step, group and operation.
using Key = std::tuple<std::string, CommunicationGroup, Operation>;

// Collectives of one peer in the order of time.
struct Sequence {
  std::size_t peer = 0;
  std::vector<std::size_t> activities;
};

const StepWindow* window_at(const std::vector<StepWindow>& windows, std::int64_t time) {
  const auto after =
      std::partition_point(windows.begin(), windows.end(),
                           [time](const StepWindow& window) { return window.span.begin <= time; });
  if (after == windows.begin() || std::prev(after)->span.end <= time) {
    return nullptr;
  }
  return &*std::prev(after);
}

void collect(const Peer& peer, std::size_t index, std::map<Key, std::vector<Sequence>>& all) {
  for (std::size_t i = 0; i < peer.trace->activities.size(); ++i) {
    const GpuActivity& activity = peer.trace->activities[i];
    const StepWindow* window = window_at(peer.windows, activity.span.begin);
    if (activity.device != peer.device || activity.group == kNoGroup || window == nullptr ||
        activity.operation == Operation::send_receive) {
      continue;
    }
    auto& sequences = all[{window->name, peer.trace->groups[activity.group], activity.operation}];
    if (sequences.empty() || sequences.back().peer != index) {
      sequences.push_back({index, {}});
    }
    sequences.back().activities.push_back(i);
  }
}

PeerWaiting waiting_for_peers(const std::vector<Peer>& peers) {
  PeerWaiting result;
  std::vector<std::vector<std::int64_t>>& waiting = result.waiting;
  std::map<Key, std::vector<Sequence>> all;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    waiting.emplace_back(peers[p].trace->activities.size(), 0);
    collect(peers[p], p, all);
  }
  for (const auto& [key, sequences] : all) {
    const std::size_t count = sequences.front().activities.size();
    const bool same = std::ranges::all_of(sequences, [count](const Sequence& sequence) {
      return sequence.activities.size() == count;
    });
    for (std::size_t n = 0; same && sequences.size() > 1 && n < count; ++n) {
      ++result.collectives;
      const auto duration = [&peers, n](const Sequence& sequence) {
        return peers[sequence.peer].trace->activities[sequence.activities[n]].span.length();
      };
      std::int64_t shortest = duration(sequences.front());
      for (const Sequence& sequence : sequences) {
        shortest = std::min(shortest, duration(sequence));
      }
      for (const Sequence& sequence : sequences) {
        waiting[sequence.peer][sequence.activities[n]] = duration(sequence) - shortest;
      }
    }
  }
  return result;
}

constexpr std::size_t kMostActivities = 100'000'000;
constexpr double kFewLaunches = 0.05;  // share of activities without a launch that is worth a note

std::string base_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// "rank-3", "rank3", "rank_3" in the name of the file.
std::optional<std::int64_t> rank_in_name(const std::string& file) {
  constexpr std::string_view kWord = "rank";
  const std::string name = base_name(file);
  std::size_t at = name.find(kWord);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  at += kWord.size();
  at += at < name.size() && !is_digit(name[at]) ? 1U : 0U;
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), rank);
  return error == std::errc() ? std::optional(rank) : std::nullopt;
}

// Traces and devices on their way to measured ranks.
class Measurement {
 public:
  Measurement(const GpuTraces& traces, const MeasureOptions& options)
      : options_(options), axes_(options.degrees, options.groups) {
    for (std::size_t t = 0; t < traces.size(); ++t) {
      const GpuTrace& trace = *traces[t];
      for (std::uint32_t device = 0; device < trace.devices.size(); ++device) {
        FoundSteps found = find_steps(trace, device, options.search);
        if (!found.windows.empty()) {
          peers_.push_back({&trace, device, std::move(found.windows)});
          found_by_.push_back(found.by);
          traces_.push_back(t);
        }
      }
      result_.world_size = trace.facts.world_size ? trace.facts.world_size : result_.world_size;
    }
  }

  MeasuredTrace run() {
    if (peers_.empty()) {
      result_.problem =
          options_.search.marker
              ? fmt::format("no annotation and no kernel contains \"{}\"", *options_.search.marker)
              : "the trace holds no work of a GPU";
      return std::move(result_);
    }
    const PeerWaiting waiting = waiting_for_peers(peers_);
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      measure_peer(p, waiting.waiting[p]);
    }
    std::ranges::stable_sort(result_.ranks, {}, &MeasuredRank::rank);
    finish_unknown();
    write_notes(waiting);
    return std::move(result_);
  }

 private:
  void measure_peer(std::size_t p, const std::vector<std::int64_t>& waiting) {
    const Peer& peer = peers_[p];
    const GpuTrace& trace = *peer.trace;
    std::vector<Communication> communication(trace.activities.size());
    for (std::size_t i = 0; i < trace.activities.size(); ++i) {
      const GpuActivity& activity = trace.activities[i];
      const KernelName& kernel = trace.kernel_of(activity);
      if (activity.device != peer.device) {
        continue;
      }
      if (kernel.kind.work == Work::communication) {
        communication[i] = {axis_of_activity(trace, activity), waiting[i]};
      }
      count_kernel(kernel, activity);
    }
    const StepMeter meter(trace, peer.device, communication);
    MeasuredRank rank;
    rank.file = trace.file;
    rank.trace = traces_[p];
    rank.device = peer.device;
    rank.found_by = found_by_[p];
    const bool alone = trace.devices.size() == 1;
    if (alone) {
      rank.rank = trace.facts.rank ? trace.facts.rank : rank_in_name(trace.file);
    }
    rank.label = rank.rank ? fmt::format("rank {}", *rank.rank)
                 : alone   ? base_name(trace.file)
                           : fmt::format("device {}", trace.devices[peer.device]);
    for (const StepWindow& window : peer.windows) {
      rank.steps.push_back(meter.measure(window));
    }
    result_.ranks.push_back(std::move(rank));
  }

  Axis axis_of_activity(const GpuTrace& trace, const GpuActivity& activity) {
    static const CommunicationGroup kUnnamed;
    return axes_
        .answer(activity.operation,
                activity.group == kNoGroup ? kUnnamed : trace.groups[activity.group])
        .axis;
  }

  // What was guessed, in words.
  [[nodiscard]] std::set<std::string> guesses() const {
    std::set<std::string> words;
    for (const auto& [asked, answer] : axes_.answers()) {
      if (answer.guessed) {
        words.insert(fmt::format("{} as {}-parallel communication", to_string(asked.first),
                                 to_string(answer.axis)));
      }
    }
    return words;
  }

  void count_kernel(const KernelName& kernel, const GpuActivity& activity) {
    all_time_ += activity.span.length();
    ++counted_;
    launched_ += activity.launch ? 1 : 0;
    if (kernel.kind.work == Work::unknown) {
      UnknownKernel& unknown = unknown_[kernel.name];
      unknown.name = kernel.name;
      ++unknown.count;
      unknown.time += activity.span.length();
    }
  }

  void finish_unknown() {
    for (auto& [name, kernel] : unknown_) {
      kernel.share = static_cast<double>(kernel.time) / static_cast<double>(all_time_);
      result_.unknown.push_back(kernel);
    }
    std::ranges::stable_sort(result_.unknown, std::ranges::greater{}, &UnknownKernel::time);
  }

  void write_notes(const PeerWaiting& waiting) {
    for (const MeasuredRank& rank : result_.ranks) {
      if (rank.found_by == FoundBy::optimizer) {
        result_.notes.push_back(fmt::format(
            "{}: no step annotations; a step is taken to end with the optimizer", rank.label));
      } else if (rank.found_by == FoundBy::whole && !options_.search.whole) {
        result_.notes.push_back(fmt::format(
            "{}: no steps were found, the whole trace counts as one; --marker TEXT names the "
            "annotation or the kernel that begins a step",
            rank.label));
      }
    }
    if (launched_ > 0 &&
        static_cast<double>(counted_ - launched_) > kFewLaunches * static_cast<double>(counted_)) {
      result_.notes.push_back(fmt::format(
          "the calls that launched {} of the activities are not in the trace: longer gaps before "
          "these count as idle",
          format_percent(static_cast<double>(counted_ - launched_) /
                         static_cast<double>(counted_))));
    } else if (launched_ == 0) {
      result_.notes.emplace_back(
          "the trace holds no calls of the host: gaps above 10 us count as idle");
    }
    const std::set<std::string> guessed = guesses();
    if (!guessed.empty()) {
      result_.notes.push_back(fmt::format(
          "the trace does not say which groups these serve, and the layout leaves a choice: {}; "
          "--group NAME=AXIS says it",
          fmt::join(guessed, ", ")));
    }
    if (waiting.collectives == 0 && !axes_.answers().empty()) {
      result_.notes.emplace_back(
          peers_.size() == 1
              ? "with one rank, waiting for slower ranks cannot be told from communication"
              : "these traces do not name groups that they share: waiting for slower ranks counts "
                "as communication");
    }
  }

  const MeasureOptions& options_;
  std::vector<Peer> peers_;
  std::vector<FoundBy> found_by_;
  std::vector<std::size_t> traces_;  // by peer
  MeasuredTrace result_;
  AxisFinder axes_;
  std::map<std::string, UnknownKernel> unknown_;
  std::int64_t all_time_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t launched_ = 0;  // of these, with the call that did it
};

Seconds mean_time(std::int64_t sum, std::int64_t steps) {
  return nanoseconds(static_cast<double>(sum) / static_cast<double>(steps));
}

// Sums over the steps, in integers until the end.
struct StepSums {
  std::vector<std::int64_t> lengths;
  step::StepLedger ledger;
  std::array<std::int64_t, kWorks> work{};
  std::map<std::pair<Axis, Operation>, OperationTime> operations;

  void add(const MeasuredStep& step) {
    lengths.push_back(step.span.length());
    ledger += step.ledger;
    for (std::size_t w = 0; w < kWorks; ++w) {
      work[w] += step.work[w];
    }
    for (const OperationTime& one : step.operations) {
      OperationTime& sum = operations[{one.axis, one.operation}];
      sum.axis = one.axis;
      sum.operation = one.operation;
      sum.count += one.count;
      sum.busy += one.busy;
      sum.hidden += one.hidden;
    }
  }
};

}  // namespace

GpuReading read_gpu_trace(const std::filesystem::path& path, const ReadLimits& limits) {
  GpuReading result;
  ActivityCollector collector;
  EventReading reading = read_events(path, limits, [&collector](const TraceEvent& event) {
    collector.add(event);
    return collector.activities() <= kMostActivities && collector.launches() <= kMostActivities;
  });
  result.cancelled = reading.cancelled;
  const std::string name = path.filename().string();
  if (!reading.problem.empty()) {
    result.problem = fmt::format("{}: {}", name, reading.problem);
  } else if (reading.refused) {
    result.problem = fmt::format("{}: the trace holds more than {} activities or launches", name,
                                 format_integer(static_cast<std::int64_t>(kMostActivities)));
  } else if (!reading.cancelled && collector.activities() == 0) {
    result.problem =
        !reading.facts.title.empty()
            ? fmt::format("{}: a trace that `orrery export` wrote, of no measured step", name)
            : fmt::format(
                  "{}: the trace holds no work of a GPU (events of category kernel, "
                  "gpu_memcpy or gpu_memset)",
                  name);
  }
  if (result.problem.empty() && !result.cancelled) {
    result.trace =
        std::make_shared<const GpuTrace>(collector.finish(path.string(), std::move(reading.facts)));
  }
  return result;
}

std::vector<std::string> MeasuredTrace::step_names() const {
  std::vector<std::string> names;
  for (const MeasuredRank& rank : ranks) {
    for (const MeasuredStep& step : rank.steps) {
      if (std::ranges::find(names, step.name) == names.end()) {
        names.push_back(step.name);
      }
    }
  }
  return names;
}

MeasuredTrace measure(const GpuTraces& traces, const MeasureOptions& options) {
  return Measurement(traces, options).run();
}

bool is_step(const std::string& name, const std::string& wanted) {
  if (name == wanted) {
    return true;
  }
  const bool number = !wanted.empty() && std::ranges::all_of(wanted, is_digit);
  return number && name.size() > wanted.size() && name.ends_with(wanted) &&
         !is_digit(name[name.size() - wanted.size() - 1]);
}

std::string median_step(const MeasuredTrace& measured, const std::optional<std::string>& wanted) {
  std::vector<const MeasuredStep*> steps;
  for (const MeasuredStep& one : measured.ranks.front().steps) {
    if (!wanted || is_step(one.name, *wanted)) {
      steps.push_back(&one);
    }
  }
  if (steps.empty()) {
    return wanted.value_or("");
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle, {},
                           [](const MeasuredStep* one) { return one->span.length(); });
  return (*middle)->name;
}

std::optional<MeasuredMean> mean_of(const MeasuredTrace& measured,
                                    const std::optional<std::string>& step) {
  StepSums sums;
  for (const MeasuredRank& rank : measured.ranks) {
    for (const MeasuredStep& one : rank.steps) {
      if (!step || is_step(one.name, *step)) {
        sums.add(one);
      }
    }
  }
  if (sums.lengths.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(sums.lengths);
  const auto steps = static_cast<std::int64_t>(sums.lengths.size());
  MeasuredMean mean;
  mean.steps = steps;
  mean.step_time = sums.ledger.total_gpu_time() / static_cast<double>(steps);
  mean.shortest = mean_time(sums.lengths.front(), 1);
  mean.median = mean_time(sums.lengths[sums.lengths.size() / 2], 1);
  mean.longest = mean_time(sums.lengths.back(), 1);
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    mean.categories[c] =
        sums.ledger.gpu_time(static_cast<step::StepCategory>(c)) / static_cast<double>(steps);
  }
  for (std::size_t w = 0; w < kWorks; ++w) {
    mean.work[w] = mean_time(sums.work[w], steps);
  }
  for (const auto& [key, sum] : sums.operations) {
    mean.operations.push_back({sum.operation, sum.axis,
                               static_cast<double>(sum.count) / static_cast<double>(steps),
                               mean_time(sum.busy, steps), mean_time(sum.hidden, steps)});
  }
  return mean;
}

}  // namespace orrery::trace
