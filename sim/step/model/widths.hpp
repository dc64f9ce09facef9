#pragma once

// The width of numbers that stay in full precision whatever the recipe says. Internal to
// model/.

namespace orrery::model {

inline constexpr double kFp32Bytes = 4.0;  // bytes per element

}  // namespace orrery::model
