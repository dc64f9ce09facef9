#include "sim/schedule/task_classes.hpp"

#include <algorithm>
#include <cstddef>

namespace orrery::schedule {

namespace {

// Numbers what tells classes apart. Devices, chunks and buckets count from -1, which means none.
class Numbering {
 public:
  explicit Numbering(const StepGraph& graph) {
    for (const StepTask& task : graph.tasks) {
      devices_ = std::max(devices_, from_none(task.device) + 1);
      chunks_ = std::max(chunks_, from_none(task.chunk) + 1);
      buckets_ = std::max(buckets_, from_none(task.bucket) + 1);
    }
    overlapped_ = kKinds * devices_ * chunks_ * buckets_;
    messages_ = overlapped_ + 2 * devices_ * chunks_ * chunks_;
    count_ = messages_ + graph.messages.size() + 1;
  }

  [[nodiscard]] std::size_t count() const {
    return count_;
  }

  [[nodiscard]] std::size_t of(const StepTask& task) const {
    if (task.kind == TaskKind::send_receive) {
      return messages_ + from_none(task.message);
    }
    const std::size_t chunk = from_none(task.device) * chunks_ + from_none(task.chunk);
    if (task.kind == TaskKind::overlapped) {
      const std::size_t pair = chunk * chunks_ + from_none(task.backward_chunk);
      return overlapped_ + 2 * pair + (task.backward_kind == OpKind::backward ? 0 : 1);
    }
    return (chunk * buckets_ + from_none(task.bucket)) * kKinds +
           static_cast<std::size_t>(task.kind);
  }

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(TaskKind::join) + 1;

  static std::size_t from_none(std::int32_t value) {
    return static_cast<std::size_t>(value - kNone);
  }

  std::size_t devices_ = 0;
  std::size_t chunks_ = 0;
  std::size_t buckets_ = 0;
  std::size_t overlapped_ = 0;  // the first number of overlapped passes; others come before
  std::size_t messages_ = 0;    // likewise of messages
  std::size_t count_ = 0;
};

}  // namespace

void classify_tasks(StepGraph& graph) {
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  const Numbering numbering(graph);
  std::vector<std::uint32_t> known(numbering.count(), kUnknown);
  graph.classes.clear();
  graph.class_of.clear();
  graph.class_of.reserve(graph.tasks.size());
  for (const StepTask& task : graph.tasks) {
    std::uint32_t& number = known[numbering.of(task)];
    if (number == kUnknown) {
      number = static_cast<std::uint32_t>(graph.classes.size());
      graph.classes.push_back({task, 0});
    }
    ++graph.classes[number].tasks;
    graph.class_of.push_back(number);
  }
  graph.class_of_node.clear();
  for (const std::int32_t task : graph.graph.tasks_of_nodes()) {
    graph.class_of_node.push_back(task == engine::TaskGraph::kHidden
                                      ? static_cast<std::uint32_t>(graph.classes.size())
                                      : graph.class_of[static_cast<std::size_t>(task)]);
  }
}

}  // namespace orrery::schedule
