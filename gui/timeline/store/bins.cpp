#include "gui/timeline/store/bins.hpp"

namespace orrery::timeline {

namespace {

// The greater of each byte, sixteen at a time.
void greater_bytes(std::uint8_t* into, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    into[i] = std::max(into[i], from[i]);
  }
}

}  // namespace

void merge_into(std::span<BlockBin> into, std::span<const BlockBin> from) {
  greater_bytes(reinterpret_cast<std::uint8_t*>(into.data()),
                reinterpret_cast<const std::uint8_t*>(from.data()), into.size_bytes());
}

RowBin BinSum::take(std::int64_t width) {
  if (touched_count_ == 0) {
    return {};
  }
  Category best = touched_[0];
  for (std::size_t i = 0; i < touched_count_; ++i) {
    const Category category = touched_[i];
    auto& sum = time_[static_cast<std::size_t>(category)];
    const std::int64_t most = time_[static_cast<std::size_t>(best)];
    if (sum > most) {
      best = category;
    }
  }
  for (std::size_t i = 0; i < touched_count_; ++i) {
    time_[static_cast<std::size_t>(touched_[i])] = 0;
  }
  RowBin bin;
  bin.kind = static_cast<std::uint8_t>(abnormal_ ? abnormal_category_ : best);
  if (abnormal_) {
    bin.kind = static_cast<std::uint8_t>(bin.kind | RowBin::kAbnormalBit);
  }
  bin.busy = std::max<std::uint8_t>(busy_level(busy_, width), 1);
  touched_count_ = 0;
  busy_ = 0;
  abnormal_ = false;
  abnormal_time_ = 0;
  return bin;
}

}  // namespace orrery::timeline
