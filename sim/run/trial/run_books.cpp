#include "sim/run/trial/run_books.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::run {

void PaceRecord::reset(const Pace& pace) { segments_.assign(1, {0, pace}); }

void PaceRecord::change(std::int64_t step, const Pace& pace) {
  Segment& last = segments_.back();
  ORRERY_CHECK(step >= last.first, "a pace from step {} on, after one from step {}", step,
               last.first);
  if (last.pace == pace) {
    return;
  }
  if (last.first == step) {
    last.pace = pace;
  } else {
    segments_.push_back({step, pace});
  }
}

UndoneWork PaceRecord::undo(std::int64_t from, std::int64_t done) {
  ORRERY_CHECK(0 <= from && from <= done, "going back from step {} to step {}", done, from);
  UndoneWork undone;
  std::int64_t end = done;
  while (true) {
    const Segment& last = segments_.back();
    const std::int64_t begin = std::max(from, last.first);
    const std::int64_t wall = (end - begin) * last.pace.step.ns;
    undone.wall += SimTime{wall};
    undone.gpu_ns += static_cast<Int128>(wall) * last.pace.gpus;
    if (last.first <= from) {
      return undone;
    }
    end = last.first;
    segments_.pop_back();
  }
}

void PaceRecord::book(std::int64_t done, RunLedger& ledger) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::int64_t end = i + 1 < segments_.size() ? segments_[i + 1].first : done;
    const Pace& pace = segments_[i].pace;
    const Int128 steps = end - segments_[i].first;
    const Int128 consumed = static_cast<Int128>(pace.step.ns) * pace.gpus;
    const Int128 productive = std::min(pace.planned, consumed);
    ledger.book(RunCategory::productive, steps * productive);
    ledger.book(RunCategory::degraded, steps * (consumed - productive));
  }
}

RunBooks::RunBooks(const RunPlan& plan) : plan_(plan), billing_(plan) {}

void RunBooks::reset(std::uint32_t trial, const HeldNodes& nodes, RunTimeline* timeline) {
  billing_.reset(trial, nodes, timeline);
  timeline_ = timeline;
  spent_.fill(SimTime{});
  settled_ = SimTime{};
  held_gpu_ns_ = wanted_gpu_ns_ = 0;
  ledger_ = RunLedger{};
  by_cause_.assign(plan_.causes.size(), 0);
}

void RunBooks::add_interval(const State& state, SimTime begin, SimTime end) const {
  if (end > begin) {
    timeline_->add({begin, end, booked_as(state).activity, cause_of(state)});
  }
}

void RunBooks::blame(std::int32_t cause, Int128 gpu_ns) {
  if (cause >= 0) {
    by_cause_[static_cast<std::size_t>(cause)] += gpu_ns;
  }
}

void RunBooks::undo(const UndoneWork& work, RunCategory category, std::int32_t cause) {
  ledger_.book(category, work.gpu_ns);
  blame(cause, work.gpu_ns);
  if (timeline_ != nullptr) {
    timeline_->mark_lost(work.wall,
                         category == RunCategory::rework ? RunActivity::discarded_training
                                                         : RunActivity::lost_training,
                         cause);
  }
}

void RunBooks::book_tail(const Pace& pace, SimTime tail) {
  const Int128 consumed = static_cast<Int128>(tail.ns) * pace.gpus;
  const Int128 productive = std::min(consumed, pace.planned * tail.ns / pace.step.ns);
  ledger_.book(RunCategory::productive, productive);
  ledger_.book(RunCategory::degraded, consumed - productive);
}

void RunBooks::settle(SimTime now, std::int64_t job_gpus, std::int64_t wanted_nodes,
                      NodePool& pool) {
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    if (spent_[i] != SimTime{}) {
      ledger_.book(static_cast<RunCategory>(i), job_gpus, spent_[i]);
      spent_[i] = SimTime{};
    }
  }
  const Int128 since = (now - settled_).ns;
  held_gpu_ns_ += since * (pool.allocated_nodes() * plan_.step.gpus_per_node);
  wanted_gpu_ns_ += since * (wanted_nodes * plan_.step.gpus_per_node);
  pool.settle(now, ledger_);
  settled_ = now;
}

void RunBooks::close(SimTime now, const PaceRecord& paces, RunResult& result) {
  paces.book(result.steps_done, ledger_);
  ORRERY_CHECK(ledger_.total() == held_gpu_ns_,
               "the run ledger holds {} GPU s, but {} GPU s were held in {} ns",
               in_seconds(ledger_.total_gpu_time()), static_cast<double>(held_gpu_ns_) * kNano,
               now.ns);
  const auto gpu_time = [&](RunCategory category) { return ledger_.gpu_time(category); };
  const Seconds job = seconds(static_cast<double>(wanted_gpu_ns_) * kNano);
  const Seconds meant =
      job - gpu_time(RunCategory::evaluation) - gpu_time(RunCategory::planned_maintenance);
  result.wall = now;
  result.held = seconds(static_cast<double>(held_gpu_ns_) * kNano);
  result.goodput = job > Seconds{} ? gpu_time(RunCategory::productive) / job : 0.0;
  result.ettr = meant > Seconds{} ? gpu_time(RunCategory::productive) / meant : 0.0;
  result.bill =
      billing_.bill(now, ledger_, {.checkpoints = result.checkpoints, .failures = result.failures});
  result.ledger = ledger_;
  result.gpu_time_by_cause = by_cause_;
}

}  // namespace orrery::run
