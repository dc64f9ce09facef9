#pragma once

// A slice, one activity of the timeline, packed into 16 bytes so that ten million fit in memory.
//
// symbol   | meaning                                                        | bits | origin
// ---------|----------------------------------------------------------------|------|----------
// begin    | start                                                          | 64   | ns
// duration | ns; of a long slice (>= 2^32 ns) its place in the table of      | 32   | adapters
//          | long durations of the store                                    |      |
// name     | place in the string table                                      | 22   | store
// category | Category                                                       | 6    | adapters
// flags    | abnormal: never blended away; instant: took no time, drawn as   | 4    | adapters
//          | one nanosecond; long: see duration                             |      |

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::timeline {

// Categories of slices, and their precedence where several slices share a pixel.
//
// Categories are declared in the order of their rank: lost time above recovery, recovery above
// saves, these above waiting, waiting above communication, communication above compute. Where many
// rows share a pixel the lowest and the highest rank are shown, so that what costs the run stays
// visible when it is small.

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

// What legends call it, and its colours on a light and a dark ground (0xffRRGGBB): a wait has the
// hue of its cause, which hatching tells from the work.
struct CategoryLook {
  std::string_view name;
  std::uint32_t light = 0;
  std::uint32_t dark = 0;
};

inline constexpr auto kCategoryLooks = std::to_array<CategoryLook>({
    {"idle", 0, 0},
    {"forward", 0xff0b5cadU, 0xff3a8fe6U},
    {"training", 0xff0b5cadU, 0xff3a8fe6U},
    {"kernel", 0xff5e60ceU, 0xff8f91ebU},
    {"backward", 0xff5cc3f5U, 0xffb5dcfbU},
    {"input gradients", 0xff2fa3dcU, 0xff8cc6f5U},
    {"weight gradients", 0xff93d8f8U, 0xffd6ecfdU},
    {"recomputation", 0xff33208aU, 0xff5a46daU},
    {"host gaps", 0xffb4bac1U, 0xff7d858eU},
    {"other", 0xffccccccU, 0xff9a9a9aU},
    {"optimizer", 0xffb784b7U, 0xffd7a0cdU},
    {"tensor communication", 0xffe08a00U, 0xfff5a524U},
    {"context communication", 0xff5f3000U, 0xff7a5a2cU},
    {"expert communication", 0xfff2d024U, 0xfff7ee8aU},
    {"pipeline messages", 0xff0f9b78U, 0xff25cfa2U},
    {"data communication", 0xffc8430aU, 0xffe2581fU},
    {"data communication (gather)", 0xffde8e6cU, 0xffee9b79U},
    {"collective", 0xfff0c580U, 0xfffad292U},
    {"offload, copies", 0xff4a5158U, 0xffc5ced8U},
    {"pipeline bubble", 0xff4a5158U, 0xffc5ced8U},
    {"stage imbalance", 0xffb784b7U, 0xffd7a0cdU},
    {"waiting for slower GPUs", 0xff6d3fa0U, 0xff9f7be0U},
    {"waits for tensor communication", 0xffe08a00U, 0xfff5a524U},
    {"waits for context communication", 0xff5f3000U, 0xff7a5a2cU},
    {"waits for expert communication", 0xfff2d024U, 0xfff7ee8aU},
    {"waits for pipeline messages", 0xff0f9b78U, 0xff25cfa2U},
    {"waits for data communication", 0xffc8430aU, 0xffe2581fU},
    {"waits for input", 0xff3f9f96U, 0xff2a6fb0U},
    {"waits", 0xff8d949bU, 0xff8a929aU},
    {"evaluation", 0xff7bcf8fU, 0xff5fe0b8U},
    {"planned maintenance", 0xff0a7d60U, 0xff1f9a78U},
    {"unitemised stops", 0xffccccccU, 0xff9a9a9aU},
    {"waiting for input", 0xff3f9f96U, 0xff2a6fb0U},
    {"checkpoint", 0xffe08a00U, 0xfff5a524U},
    {"detection", 0xfff2d024U, 0xfff7ee8aU},
    {"diagnosis", 0xff837722U, 0xffaa9e50U},
    {"scheduling", 0xffb784b7U, 0xffd7a0cdU},
    {"communicators", 0xffdcc0dcU, 0xffe6d0e6U},
    {"load", 0xff8a4f8aU, 0xff96609aU},
    {"warm-up", 0xff5a2a5aU, 0xff6b3f70U},
    {"waiting for nodes", 0xff2c3035U, 0xff7b5c4aU},
    {"rework", 0xffd27c72U, 0xfff08a75U},
    {"discarded work", 0xff5c0f07U, 0xff7c2311U},
    {"lost work", 0xffa81c0cU, 0xffe2401fU},
});

static_assert(kCategoryLooks.size() == kCategories);

// Categories as bits.
using CategorySet = std::uint64_t;

[[nodiscard]] constexpr CategorySet set_of(Category category) {
  return CategorySet{1} << static_cast<unsigned>(category);
}

// Drawn hatched: solid works, hatched waits.
inline constexpr CategorySet kWaits =
    2 * set_of(Category::wait_other) - set_of(Category::wait_bubble) + set_of(Category::waiting);

[[nodiscard]] constexpr bool is_wait(Category category) { return (kWaits & set_of(category)) != 0; }

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
  return kCategoryLooks[static_cast<std::size_t>(category)].name;
}

inline constexpr std::uint32_t kNameBits = 22;
inline constexpr std::uint32_t kMostNames = std::uint32_t{1} << kNameBits;

enum SliceFlag : std::uint8_t { kAbnormal = 1, kInstant = 2, kLong = 4 };

class Slice {
 public:
  Slice() = default;

  Slice(std::int64_t begin, std::uint32_t duration, std::uint32_t name, Category category,
        std::uint8_t flags)
      : begin_(begin),
        duration_(duration),
        packed_(name | static_cast<std::uint32_t>(category) << kNameBits |
                static_cast<std::uint32_t>(flags) << (kNameBits + kCategoryBits)) {}

  [[nodiscard]] std::int64_t begin() const { return begin_; }

  // Nanoseconds, or an index when is(kLong).
  [[nodiscard]] std::uint32_t stored_duration() const { return duration_; }

  [[nodiscard]] std::uint32_t name() const { return packed_ & (kMostNames - 1); }

  [[nodiscard]] Category category() const {
    constexpr std::uint32_t kMask = (1U << kCategoryBits) - 1;
    return static_cast<Category>((packed_ >> kNameBits) & kMask);
  }

  [[nodiscard]] std::uint8_t flags() const {
    return static_cast<std::uint8_t>(packed_ >> (kNameBits + kCategoryBits));
  }

  [[nodiscard]] bool is(SliceFlag flag) const { return (flags() & flag) != 0; }

 private:
  std::int64_t begin_ = 0;
  std::uint32_t duration_ = 0;
  std::uint32_t packed_ = 0;
};

static_assert(sizeof(Slice) == 16);

struct TimeRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }

  [[nodiscard]] bool contains(std::int64_t time) const { return begin <= time && time < end; }

  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

}  // namespace orrery::timeline
