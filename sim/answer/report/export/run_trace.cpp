#include "sim/answer/report/export/run_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "sim/answer/report/export/trace_words.hpp"
#include "sim/base/check.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

// The nodes that a cause hits at this time.
std::span<const run::NodeHit> nodes_hit(const Evaluation& evaluation, SimTime at,
                                        std::int32_t cause) {
  const auto [begin, end] = std::ranges::equal_range(
      evaluation.timeline.hits(), std::pair(at, cause), {},
      [](const run::NodeHit& hit) { return std::pair(hit.at, hit.cause); });
  return {begin, end};
}

}  // namespace

std::vector<Failure> failures_of(const Evaluation& evaluation) {
  std::vector<Failure> failures;
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    if (interval.kind == run::RunActivity::failure) {
      failures.push_back({interval.begin, interval.cause, {}});
    }
  }
  for (const run::NodeHit& hit : evaluation.timeline.hits()) {  // of evictions, which are no marks
    failures.push_back({hit.at, hit.cause, {}});
  }
  const auto key = [](const Failure& failure) { return std::pair(failure.at, failure.cause); };
  std::ranges::stable_sort(failures, {}, key);
  const auto twice = std::ranges::unique(failures, {}, key);
  failures.erase(twice.begin(), twice.end());
  for (Failure& failure : failures) {
    failure.nodes = nodes_hit(evaluation, failure.at, failure.cause);
  }
  return failures;
}

std::string nodes_text(std::span<const run::NodeHit> nodes) {
  if (nodes.empty()) {
    return {};
  }
  const run::NodeHit& first = nodes.front();
  if (nodes.size() > 1) {
    return fmt::format("{} nodes from {} to {}",
                       format_integer(static_cast<std::int64_t>(nodes.size())),
                       format_integer(first.node), format_integer(nodes.back().node));
  }
  std::string text = "node " + format_integer(first.node);
  if (first.successor >= 0) {
    text += fmt::format(", replaced by node {}", format_integer(first.successor));
  }
  if (first.back < kForever) {
    text += ", back after " + format_time(to_seconds(first.back - first.at), {.trim = true});
  }
  return text;
}

std::string hits_sentence(const Evaluation& evaluation) {
  std::map<std::int64_t, std::int64_t> hits;
  for (const run::NodeHit& hit : evaluation.timeline.hits()) {
    ++hits[hit.node];
  }
  if (hits.empty()) {
    return {};
  }
  const auto most = std::ranges::max_element(hits, {}, [](const auto& one) { return one.second; });
  return fmt::format("{} of {} nodes are hit, node {} most often ({} time{}).",
                     format_integer(static_cast<std::int64_t>(hits.size())),
                     format_integer(evaluation.timeline.nodes()), format_integer(most->first),
                     format_integer(most->second), most->second == 1 ? "" : "s");
}

std::string_view category_word(run::FailureCategory category) {
  return category == run::FailureCategory::gpu       ? "GPU"
         : category == run::FailureCategory::unknown ? "other"
                                                     : to_string(category);
}

std::vector<Stop> stops_of(const Evaluation& evaluation) {
  using run::RunActivity;

  struct Undone {
    SimTime from = kForever;
    SimTime time;
    RunActivity kind = RunActivity::lost_training;
  };

  std::vector<Stop> stops;
  std::map<std::int32_t, Undone> undone;  // by what will turn out to have undone it
  bool stopped = false;
  const auto begin = [&](const run::RunInterval& interval, std::string what, bool undoes) {
    const Undone lost = undoes ? std::exchange(undone[interval.cause], {}) : Undone{};
    stops.push_back({.begin = interval.begin,
                     .what = std::move(what),
                     .from = std::min(lost.from, interval.begin),
                     .lost = lost.time,
                     .lost_as = lost.kind,
                     .nodes = nodes_hit(evaluation, interval.begin, interval.cause)});
    stopped = true;
  };
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    const SimTime length = interval.end - interval.begin;
    const auto cause = static_cast<std::size_t>(interval.cause);
    const auto& causes = evaluation.plan->causes;
    const std::string name =
        interval.cause >= 0 && cause < causes.size() ? causes[cause].name : "failure";
    switch (interval.kind) {
      case RunActivity::training:
      case RunActivity::checkpoint:
        stopped = false;
        break;
      case RunActivity::lost_training:
      case RunActivity::discarded_training: {
        Undone& lost = undone[interval.undone_by];
        lost.from = std::min(lost.from, interval.begin);
        lost.time += length;
        lost.kind = interval.kind;
        stopped = false;
        break;
      }
      case RunActivity::failure:
        begin(interval, name, true);
        break;
      default:
        if (!stopped) {
          const bool evicts = !nodes_hit(evaluation, interval.begin, interval.cause).empty();
          begin(interval, evicts ? name : std::string(run::to_string(interval.kind)),
                interval.cause < 0);
        }
        stops.back().stopped += length;
        stops.back().parts.emplace_back(interval.kind, length);
    }
  }
  return stops;
}

std::optional<std::size_t> stop_at(const std::vector<Stop>& stops, SimTime at) {
  const auto found = std::ranges::find_if(
      stops, [at](const Stop& stop) { return stop.from <= at && at < stop.begin + stop.stopped; });
  return found == stops.end() ? std::nullopt : std::optional(found - stops.begin());
}

std::optional<DollarsPerSecond> cost_per_second(const Evaluation& evaluation) {
  const MetricValue* cost = evaluation.metrics.find(MetricId::cost);
  const MetricValue* time = evaluation.metrics.find(MetricId::finish_time);
  return cost != nullptr && time != nullptr && time->value > 0.0
             ? std::optional(dollars(cost->value) / seconds(time->value))
             : std::nullopt;
}

std::optional<std::int64_t> unix_start(const Evaluation& evaluation) {
  const MetricValue* date = evaluation.metrics.find(MetricId::finish_date);
  const MetricValue* time = evaluation.metrics.find(MetricId::finish_time);
  return date != nullptr && time != nullptr
             ? std::optional<std::int64_t>(std::llround(date->value - time->value))
             : std::nullopt;
}

std::vector<ShareSample> productive_over_time(const Evaluation& evaluation) {
  const std::vector<run::RunInterval>& intervals = evaluation.timeline.intervals();
  std::vector<ShareSample> samples;
  if (intervals.empty()) {
    return samples;
  }
  const SimTime begin = intervals.front().begin;
  SimTime productive;
  for (const run::RunInterval& interval : intervals) {
    if (interval.end <= interval.begin) {
      continue;
    }
    if (interval.kind == run::RunActivity::training) {
      productive += interval.end - interval.begin;
    }
    samples.push_back({interval.end, to_seconds(productive) / to_seconds(interval.end - begin)});
  }
  return samples;
}

namespace {

using run::RunActivity;
using run::RunInterval;

constexpr std::string_view kCheckpoints = "checkpoints";

struct RunTracks {
  TrackId job = 0;
  std::array<TrackId, kRunLaneNames.size()> lanes{};
  TrackId checkpoints = 0;

  [[nodiscard]] TrackId of(RunActivity activity) const {
    return activity == RunActivity::checkpoint ? checkpoints
                                               : lanes[static_cast<std::size_t>(lane_of(activity))];
  }
};

RunTracks add_tracks(TraceBuilder& builder) {
  RunTracks tracks;
  tracks.job = builder.process("job");
  std::int64_t number = 0;
  for (std::size_t lane = 0; lane < tracks.lanes.size(); ++lane) {
    tracks.lanes[lane] = builder.thread(tracks.job, std::string(kRunLaneNames[lane]), number++);
    if (lane == 0) {
      tracks.checkpoints = builder.thread(tracks.job, std::string(kCheckpoints), number++);
    }
  }
  return tracks;
}

// What a failure leads to: from the training before it to the training after the recovery.
class Outages {
 public:
  void begin(const std::string& cause) {
    if (!cause_) {
      cause_ = cause;
      chain_.clear();
      if (training_) {
        chain_.push_back(*training_);
      }
    }
  }

  void add(const RunInterval& interval, SliceId slice, TraceBuilder& builder) {
    const RunLane lane = lane_of(interval.kind);
    if (lane == RunLane::training) {
      if (cause_) {
        chain_.push_back(slice);
        if (chain_.size() > 1) {
          builder.flow("failure", chain_);
        }
        cause_.reset();
      }
      training_ = slice;
    } else if (lane == RunLane::recovery && cause_) {
      chain_.push_back(slice);
    }
  }

 private:
  std::optional<SliceId> training_;
  std::optional<std::string> cause_;  // of the outage that goes on
  std::vector<SliceId> chain_;
};

void add_nodes_hit(std::span<const run::NodeHit> nodes, TraceBuilder& builder) {
  if (nodes.empty()) {
    return;
  }
  builder.argument("node", nodes.front().node);
  if (nodes.size() > 1) {
    builder.argument("nodes", static_cast<std::int64_t>(nodes.size()));
  }
  if (nodes.front().successor >= 0) {
    builder.argument("replaced_by", nodes.front().successor);
  }
}

void add_nodes(const Evaluation& evaluation, TrackId job, TraceBuilder& builder) {
  const auto& holdings = evaluation.timeline.holdings();
  if (holdings.empty()) {
    return;
  }
  const TrackId nodes = builder.counter(job, "nodes in the job", "nodes");
  const TrackId spares = builder.counter(job, "spare nodes", "nodes");
  const TrackId repair = builder.counter(job, "nodes in repair", "nodes");
  const bool priced = evaluation.plan->pricing.priced;
  const TrackId dollars = priced ? builder.counter(job, "dollars per hour", "$/h") : kNoTrack;
  const run::Holding* before = nullptr;
  const auto note = [&](TrackId counter, double value, std::optional<double> last, SimTime at) {
    constexpr double kRounding = 1e-9;  // of rates that are the same
    if (!last || std::abs(*last - value) > kRounding * std::abs(value)) {
      builder.sample(counter, at, value);
    }
  };
  for (const run::Holding& now : holdings) {
    const auto changed = [&](TrackId counter, std::int64_t run::Holding::*count) {
      note(counter, static_cast<double>(now.*count),
           before ? std::optional(static_cast<double>(before->*count)) : std::nullopt, now.begin);
    };
    changed(nodes, &run::Holding::job);
    changed(spares, &run::Holding::spares);
    changed(repair, &run::Holding::repair);
    if (priced) {
      note(dollars, in_dollars_per_hour(now.rate),
           before ? std::optional(in_dollars_per_hour(before->rate)) : std::nullopt, now.begin);
    }
    before = &now;
  }
}

}  // namespace

Trace run_trace(const Evaluation& evaluation) {
  ORRERY_CHECK(evaluation.plan.has_value(), "a trace of the run needs the plan of the run");
  TraceBuilder builder(evaluation.echo.name);
  const RunTracks tracks = add_tracks(builder);
  const std::vector<run::PlannedCause>& causes = evaluation.plan->causes;
  Outages outages;
  for (const RunInterval& interval : evaluation.timeline.intervals()) {
    const auto cause = static_cast<std::size_t>(interval.cause);
    const bool has_cause = interval.cause >= 0 && cause < causes.size();
    const std::string name = has_cause ? causes[cause].name : "failure";
    if (interval.kind == RunActivity::failure) {
      builder.mark(tracks.of(interval.kind), interval.begin, name);
      add_nodes_hit(nodes_hit(evaluation, interval.begin, interval.cause), builder);
      outages.begin(name);
      continue;
    }
    const SliceId slice = builder.slice(
        {tracks.of(interval.kind), interval.begin, interval.end, run::to_string(interval.kind),
         kRunLaneNames[static_cast<std::size_t>(lane_of(interval.kind))]});
    if (has_cause) {
      builder.argument("after", name);
    }
    outages.add(interval, slice, builder);
  }
  add_nodes(evaluation, tracks.job, builder);
  return std::move(builder).build();
}

}  // namespace orrery::report
