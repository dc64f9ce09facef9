#include "sim/step/schedule/live_peaks.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

namespace {

bool releases(const PipelineOp& op) {
  return op.kind == OpKind::backward || op.kind == OpKind::backward_weight;
}

bool exceeds(const LiveMoment& a, const LiveMoment& b) {
  if ((b.chunk && a.chunk != b.chunk) || (b.ahead && a.ahead != b.ahead)) {
    return false;
  }
  for (std::size_t c = 0; c < a.live.size(); ++c) {
    if (a.live[c] < b.live[c] || (b.gradients[c] && !a.gradients[c])) {
      return false;
    }
  }
  return true;
}

// Keeps the moments that no other exceeds. The latest are most like the next one.
void add(std::vector<LiveMoment>& moments, const LiveMoment& moment) {
  if (std::any_of(moments.rbegin(), moments.rend(),
                  [&moment](const LiveMoment& known) { return exceeds(known, moment); })) {
    return;
  }
  std::erase_if(moments, [&moment](const LiveMoment& known) { return exceeds(moment, known); });
  moments.push_back(moment);
}

// Goes along the list of one device and keeps its moments.
class MomentWalk {
 public:
  MomentWalk(const std::vector<PipelineOp>& list, std::size_t chunks)
      : left_(chunks, 0),
        now_{std::vector<std::int32_t>(chunks, 0), {}, std::vector<bool>(chunks)} {
    for (const PipelineOp& op : list) {
      left_[index(op.chunk)] += releases(op) ? 1 : 0;
    }
  }

  // No moment of its own: the pass that follows has as many micro-batches in flight, or more.
  void forward(const PipelineOp& op) { ++now_.live[index(op.chunk)]; }

  void backward(const PipelineOp& op, std::optional<std::int16_t> ahead) {
    const std::size_t chunk = index(op.chunk);
    now_.gradients[chunk] = true;
    now_.chunk = op.chunk;
    now_.ahead = ahead;
    add(moments_, now_);
    if (releases(op)) {
      --now_.live[chunk];
      if (--left_[chunk] == 0) {
        now_.gradients[chunk] = false;
      }
    }
  }

  [[nodiscard]] std::vector<LiveMoment> take() && { return std::move(moments_); }

 private:
  std::vector<std::int32_t> left_;  // releases to come, by chunk
  LiveMoment now_;
  std::vector<LiveMoment> moments_;
};

std::vector<LiveMoment> moments_of(const std::vector<PipelineOp>& list, std::size_t chunks,
                                   bool layer_by_layer) {
  MomentWalk walk(list, chunks);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PipelineOp& op = list[i];
    if (op.kind != OpKind::forward) {
      walk.backward(op, std::nullopt);
    } else if (layer_by_layer && op.with_next) {
      walk.backward(list[++i], op.chunk);
      walk.forward(op);
    } else {
      walk.forward(op);
    }
  }
  return std::move(walk).take();
}

bool covers(const std::vector<LiveMoment>& above, const std::vector<LiveMoment>& below) {
  return std::ranges::all_of(below, [&above](const LiveMoment& moment) {
    return std::ranges::any_of(
        above, [&moment](const LiveMoment& higher) { return exceeds(higher, moment); });
  });
}

}  // namespace

LivePeaks live_peaks(const Schedule& schedule) {
  LivePeaks peaks;
  for (const std::vector<PipelineOp>& list : schedule.lists) {
    peaks.devices.push_back(moments_of(list, index(schedule.chunks),
                                       schedule.kind == ScheduleKind::interleaved_combined));
  }
  for (std::size_t d = 0; d < peaks.devices.size(); ++d) {
    peaks.covered.push_back(d > 0 && covers(peaks.devices[d - 1], peaks.devices[d]));
  }
  return peaks;
}

ScheduleRequest as_few_micro_batches(const ScheduleRequest& request) {
  // Rounds of p micro-batches: the warm-up of no such schedule is deeper, and one more is steady.
  constexpr int kRounds = 4;
  ScheduleRequest few = request;
  switch (request.kind) {
    case ScheduleKind::none:
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::eager_1f1b:
    case ScheduleKind::interleaved:
      break;
    default:
      return request;
  }
  const int round = request.group_size.value_or(request.devices);
  // What is left over behind the last full round stays: the lists end as they did.
  const int rest = request.micro_batches % round;
  few.micro_batches = std::min(request.micro_batches, kRounds * round + rest);
  return few;
}

}  // namespace orrery::schedule
