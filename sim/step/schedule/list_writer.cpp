#include "sim/step/schedule/list_writer.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::schedule {

void ListWriter::backward_weight() {
  ORRERY_CHECK(!owed_.empty(), "no weight gradient is owed after {} operations", list_.size());
  list_.push_back(owed_.front());
  owed_.erase(owed_.begin());
}

void ListWriter::backward_weight(int chunk) {
  const auto oldest = std::ranges::find(owed_, chunk, &PipelineOp::chunk);
  ORRERY_CHECK(oldest != owed_.end(), "chunk {} owes no weight gradient", chunk);
  list_.push_back(*oldest);
  owed_.erase(oldest);
}

std::size_t ListWriter::owed(int chunk) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(owed_, [chunk](const PipelineOp& op) { return op.chunk == chunk; }));
}

std::vector<PipelineOp> alternate(int passes, int warm_up, bool overlapped,
                                  const std::function<Pass(int)>& forward,
                                  const std::function<Pass(int)>& backward) {
  std::vector<PipelineOp> list;
  list.reserve(2 * static_cast<std::size_t>(passes));
  const auto add = [&list](OpKind kind, bool with_next, Pass pass) {
    list.push_back({kind, with_next, static_cast<std::int16_t>(pass.chunk), pass.micro_batch});
  };
  for (int k = 0; k < warm_up; ++k) {
    add(OpKind::forward, false, forward(k));
  }
  for (int k = 0; k < passes - warm_up; ++k) {
    add(OpKind::forward, overlapped, forward(warm_up + k));
    add(OpKind::backward, false, backward(k));
  }
  for (int k = passes - warm_up; k < passes; ++k) {
    add(OpKind::backward, false, backward(k));
  }
  return list;
}

}  // namespace orrery::schedule
