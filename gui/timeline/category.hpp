#pragma once

// Categories of slices, and their precedence where several slices share a pixel.
//
// symbol   | meaning                                                       | unit | origin
// ---------|---------------------------------------------------------------|------|----------
// Category | colour and legend of a slice; fits in six bits                | -    | adapters
//
// Categories are declared in the order of their rank: lost time above recovery, recovery above
// saves, these above waiting, waiting above communication, communication above compute. Where many
// rows share a pixel the lowest and the highest rank are shown, so that what costs the run stays
// visible when it is small.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::timeline {

enum class Category : std::uint8_t {
  none,  // nothing runs
  forward,
  training,
  kernel,
  backward,
  input_gradient,
  weight_gradient,
  recompute,
  host,
  other,
  optimizer,
  tensor,
  context,
  expert,
  pipeline,
  data_reduce,
  data_gather,
  collective,
  copy,
  wait_bubble,  // from here on to wait_other the GPU waits; named by the cause
  wait_imbalance,
  wait_slower,
  wait_tensor,
  wait_context,
  wait_expert,
  wait_pipeline,
  wait_data,
  wait_input,
  wait_other,
  evaluation,
  maintenance,
  unitemised,
  stall,
  checkpoint,
  detection,
  diagnosis,
  scheduling,
  communicator,
  load,
  warm_up,
  waiting,
  rework,
  discarded,
  lost,
  count_
};

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count_);
inline constexpr std::size_t kCategoryBits = 6;
static_assert(kCategories <= (std::size_t{1} << kCategoryBits));

inline constexpr std::array<std::string_view, kCategories> kCategoryNames = {
    "idle",
    "forward",
    "training",
    "kernel",
    "backward",
    "input gradients",
    "weight gradients",
    "recomputation",
    "host gaps",
    "other",
    "optimizer",
    "tensor communication",
    "context communication",
    "expert communication",
    "pipeline messages",
    "data communication",
    "data communication (gather)",
    "collective",
    "offload, copies",
    "pipeline bubble",
    "stage imbalance",
    "waiting for slower GPUs",
    "waits for tensor communication",
    "waits for context communication",
    "waits for expert communication",
    "waits for pipeline messages",
    "waits for data communication",
    "waits for input",
    "waits",
    "evaluation",
    "planned maintenance",
    "unitemised stops",
    "waiting for input",
    "checkpoint",
    "detection",
    "diagnosis",
    "scheduling",
    "communicators",
    "load",
    "warm-up",
    "waiting for nodes",
    "rework",
    "discarded work",
    "lost work",
};

// Drawn hatched: solid works, hatched waits.
[[nodiscard]] constexpr bool is_wait(Category category) {
  return (category >= Category::wait_bubble && category <= Category::wait_other) ||
         category == Category::waiting;
}

// Categories as bits.
using CategorySet = std::uint64_t;

[[nodiscard]] constexpr CategorySet set_of(Category category) {
  return CategorySet{1} << static_cast<unsigned>(category);
}

// What stands for the same row of a ledger: work of one kind, and what waits for it.
[[nodiscard]] constexpr CategorySet family_of(Category category) {
  constexpr std::array<CategorySet, 8> kFamilies = {
      set_of(Category::forward) | set_of(Category::kernel) | set_of(Category::backward) |
          set_of(Category::input_gradient) | set_of(Category::weight_gradient),
      set_of(Category::tensor) | set_of(Category::wait_tensor),
      set_of(Category::context) | set_of(Category::wait_context),
      set_of(Category::expert) | set_of(Category::wait_expert),
      set_of(Category::pipeline) | set_of(Category::wait_pipeline),
      set_of(Category::data_reduce) | set_of(Category::data_gather) | set_of(Category::wait_data),
      set_of(Category::stall) | set_of(Category::wait_input),
      set_of(Category::host) | set_of(Category::wait_other)};
  for (const CategorySet family : kFamilies) {
    if ((family & set_of(category)) != 0) {
      return family;
    }
  }
  return set_of(category);
}

[[nodiscard]] constexpr std::string_view to_string(Category category) {
  return kCategoryNames[static_cast<std::size_t>(category)];
}

}  // namespace orrery::timeline
