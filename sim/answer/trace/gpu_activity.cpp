#include "sim/answer/trace/gpu_activity.hpp"

#include <algorithm>
#include <array>

namespace orrery::trace {

bool is_gpu_category(std::string_view category) {
  constexpr std::array<std::string_view, 6> kCategories = {"kernel", "gpu_memcpy", "gpu_memset",
                                                           "Kernel", "Memcpy",     "Memset"};
  return std::find(kCategories.begin(), kCategories.end(), category) != kCategories.end();
}

}  // namespace orrery::trace
