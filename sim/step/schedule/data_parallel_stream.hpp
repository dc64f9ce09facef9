#pragma once

// The data-parallel stream of one device: which gathers and reductions it issues, and when. Written
// while the device's list is walked.
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|-----------
// use     | a compute task, or part of one, that needs one bucket gathered | -    | list
// j, P    | number of a use, prefetch (0 without overlap)                  | -    | options
//
// BackwardPrefetch::after and none let a gather for a backward start only when the use before it
// has ended. Without gather_for_backward, only forwards are uses.
//
// Per use, gather j may start once use j - P - 1 has ended: its memory is free again. In the stream
// it comes after the reductions which that use released. A task that is not split (an overlapped
// step) needs all its buckets at once: those beyond the prefetch start when the task before it has
// ended.

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/step/schedule/task_writer.hpp"

namespace orrery::schedule {

class DataParallelStream {
 public:
  // `buckets`: by chunk of this device. Schedule and options must outlive the stream.
  DataParallelStream(const Schedule& schedule, const DataParallelComm& comm, int device,
                     std::vector<int> buckets, TaskWriter& writer);

  // Must the operation at this place of the list run bucket by bucket?
  [[nodiscard]] bool splits(std::size_t place) const;

  [[nodiscard]] int buckets(int chunk) const { return buckets_[static_cast<std::size_t>(chunk)]; }

  // Issues the gathers of time zero.
  void start();

  // The compute task `task` is (a bucket of) the operation at `place`: lets it wait for its
  // gathers.
  void begin(TaskId task, std::size_t place, int bucket);

  // ... and issues what its end releases.
  void end(TaskId task, std::size_t place, int bucket);

  // Issues what waits for the end of the last compute task.
  void finish(TaskId last);

  // The last reduction, if there is any; those before it end earlier.
  [[nodiscard]] std::optional<TaskId> last_reduction() const { return last_reduction_; }

 private:
  struct Use {
    bool backward = false;
    int chunk = 0;
    int bucket = 0;
    int micro_batch = 0;
  };

  void note_list();
  void issue_step_gathers();
  void issue_gather();
  void issue_allowed();
  [[nodiscard]] bool needs_gather(OpKind kind) const;
  [[nodiscard]] std::size_t prefetch(const Use& use) const;
  void reduce(TaskId after, int chunk, int bucket, int micro_batch);
  void reduce_chunk(TaskId after, int chunk, int micro_batch);
  [[nodiscard]] bool releases(std::size_t place) const;

  const std::vector<PipelineOp>& list_;
  const DataParallelComm& comm_;
  int device_;
  std::vector<int> buckets_;
  TaskWriter& writer_;
  std::vector<std::size_t> first_use_;     // by chunk: place of its first forward
  std::vector<std::size_t> last_release_;  // by chunk: place that completes its gradients
  std::vector<int> release_order_;         // chunks by last_release_
  std::vector<int> use_order_;             // chunks by first_use_
  std::vector<Use> uses_;                  // gathers per use
  std::size_t uses_begun_ = 0;
  std::vector<TaskId> gathers_;                    // per use: by use, as far as issued
  std::vector<std::vector<TaskId>> step_gathers_;  // per step: by chunk and bucket
  std::optional<TaskId> last_ended_;               // compute task
  std::optional<TaskId> last_reduction_;
};

}  // namespace orrery::schedule
