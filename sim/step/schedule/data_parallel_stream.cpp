#include "sim/step/schedule/data_parallel_stream.hpp"

#include <algorithm>

#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

namespace {

bool completes_gradient(OpKind kind) {
  return kind == OpKind::backward || kind == OpKind::backward_weight;
}

std::vector<int> chunks_by_place(const std::vector<std::size_t>& places) {
  std::vector<int> chunks(places.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    chunks[c] = static_cast<int>(c);
  }
  std::ranges::sort(chunks,
                    [&places](int a, int b) { return places[index(a)] < places[index(b)]; });
  return chunks;
}

}  // namespace

DataParallelStream::DataParallelStream(const Schedule& schedule, const DataParallelComm& comm,
                                       int device, std::vector<int> buckets, TaskWriter& writer)
    : list_(schedule.lists[index(device)]),
      comm_(comm),
      device_(device),
      buckets_(std::move(buckets)),
      writer_(writer),
      first_use_(buckets_.size(), list_.size()),
      last_release_(buckets_.size(), 0) {
  note_list();
}

void DataParallelStream::note_list() {
  for (std::size_t place = 0; place < list_.size(); ++place) {
    const PipelineOp& op = list_[place];
    const std::size_t chunk = index(op.chunk);
    first_use_[chunk] = std::min(first_use_[chunk], place);
    if (completes_gradient(op.kind)) {
      last_release_[chunk] = place;
    }
    if (needs_gather(op.kind)) {
      const int count = buckets_[chunk];
      const bool backward = op.kind != OpKind::forward;
      for (int k = 0; k < count; ++k) {
        uses_.push_back({backward, op.chunk, backward ? count - 1 - k : k, op.micro_batch});
      }
    }
  }
  release_order_ = chunks_by_place(last_release_);
  use_order_ = chunks_by_place(first_use_);
}

bool DataParallelStream::needs_gather(OpKind kind) const {
  return comm_.parameters == ParameterGather::per_use &&
         (kind == OpKind::forward ||
          (comm_.gather_for_backward && kind != OpKind::backward_weight));
}

bool DataParallelStream::releases(std::size_t place) const {
  const PipelineOp& op = list_[place];
  if (!completes_gradient(op.kind)) {
    return false;
  }
  return comm_.gradients == GradientReduction::per_micro_batch ||
         (comm_.gradients == GradientReduction::per_step && comm_.overlap_gradients &&
          last_release_[index(op.chunk)] == place);
}

bool DataParallelStream::splits(std::size_t place) const {
  const PipelineOp& op = list_[place];
  const bool gathers_now = comm_.parameters == ParameterGather::per_use
                               ? needs_gather(op.kind)
                               : comm_.parameters == ParameterGather::per_step &&
                                     comm_.overlap_parameters &&
                                     first_use_[index(op.chunk)] == place;
  return gathers_now || (comm_.overlap_gradients && releases(place));
}

void DataParallelStream::start() {
  if (comm_.parameters == ParameterGather::per_step) {
    issue_step_gathers();
  }
  issue_allowed();
}

std::size_t DataParallelStream::prefetch(const Use& use) const {
  const bool ahead = comm_.overlap_parameters &&
                     (!use.backward || comm_.backward_prefetch == BackwardPrefetch::before);
  return ahead ? index(std::max(comm_.prefetch, 0)) : 0;
}

void DataParallelStream::issue_step_gathers() {
  step_gathers_.resize(buckets_.size());
  for (const int chunk : use_order_) {
    for (int bucket = 0; bucket < buckets(chunk); ++bucket) {
      step_gathers_[index(chunk)].push_back(
          writer_.add_collective({.kind = TaskKind::parameter_gather,
                                  .stream = Stream::data_parallel_comm,
                                  .device = static_cast<std::int16_t>(device_),
                                  .chunk = static_cast<std::int16_t>(chunk),
                                  .micro_batch = kNone,
                                  .bucket = bucket}));
    }
  }
  if (!comm_.overlap_parameters) {
    writer_.await(device_, step_gathers_[index(use_order_.back())].back());
  }
}

// Issues the next gather; it waits for what has ended so far.
void DataParallelStream::issue_gather() {
  const Use& use = uses_[gathers_.size()];
  gathers_.push_back(writer_.add_collective(
      {.kind = use.backward ? TaskKind::parameter_gather_again : TaskKind::parameter_gather,
       .stream = Stream::data_parallel_comm,
       .device = static_cast<std::int16_t>(device_),
       .chunk = static_cast<std::int16_t>(use.chunk),
       .micro_batch = use.micro_batch,
       .bucket = use.bucket}));
  if (last_ended_) {
    writer_.add_edge(*last_ended_, gathers_.back());
  }
}

// Issues the gathers that may start now, in the order of their uses.
void DataParallelStream::issue_allowed() {
  while (gathers_.size() < uses_.size() &&
         gathers_.size() <= uses_begun_ + prefetch(uses_[gathers_.size()])) {
    issue_gather();
  }
}

void DataParallelStream::begin(TaskId task, std::size_t place, int bucket) {
  const PipelineOp& op = list_[place];
  const std::size_t chunk = index(op.chunk);
  if (needs_gather(op.kind)) {
    const std::size_t count = bucket == kWholeChunk ? index(buckets_[chunk]) : 1;
    while (gathers_.size() < uses_begun_ + count) {
      issue_gather();  // a task that is not split needs more than are ahead
    }
    for (std::size_t k = 0; k < count; ++k) {
      writer_.add_edge(gathers_[uses_begun_ + k], task);
    }
    uses_begun_ += count;
  } else if (comm_.parameters == ParameterGather::per_step && comm_.overlap_parameters &&
             first_use_[chunk] == place) {
    const std::vector<TaskId>& gathers = step_gathers_[chunk];
    writer_.add_edge(bucket == kWholeChunk ? gathers.back() : gathers[index(bucket)], task);
  }
}

void DataParallelStream::end(TaskId task, std::size_t place, int bucket) {
  const PipelineOp& op = list_[place];
  if (comm_.backward_prefetch == BackwardPrefetch::after && op.kind != OpKind::forward) {
    last_ended_ = task;
    issue_allowed();
  }
  if (releases(place)) {
    const bool whole_ended = bucket == kWholeChunk || bucket == 0;
    if (comm_.overlap_gradients && bucket != kWholeChunk) {
      reduce(task, op.chunk, bucket, op.micro_batch);
    } else if (whole_ended) {
      reduce_chunk(task, op.chunk, op.micro_batch);
      if (!comm_.overlap_gradients) {
        writer_.await(device_, *last_reduction_);
      }
    }
  }
  last_ended_ = task;
  issue_allowed();
}

void DataParallelStream::finish(TaskId last) {
  if (comm_.gradients != GradientReduction::per_step || comm_.overlap_gradients) {
    return;
  }
  for (const int chunk : release_order_) {
    reduce_chunk(last, chunk, kNone);
  }
}

void DataParallelStream::reduce(TaskId after, int chunk, int bucket, int micro_batch) {
  const bool per_step = comm_.gradients == GradientReduction::per_step;
  last_reduction_ = writer_.add_collective({.kind = TaskKind::gradient_reduce,
                                            .stream = Stream::data_parallel_comm,
                                            .device = static_cast<std::int16_t>(device_),
                                            .chunk = static_cast<std::int16_t>(chunk),
                                            .micro_batch = per_step ? kNone : micro_batch,
                                            .bucket = bucket});
  writer_.add_edge(after, *last_reduction_);
}

void DataParallelStream::reduce_chunk(TaskId after, int chunk, int micro_batch) {
  for (int bucket = buckets(chunk) - 1; bucket >= 0; --bucket) {
    reduce(after, chunk, bucket, micro_batch);
  }
}

}  // namespace orrery::schedule
