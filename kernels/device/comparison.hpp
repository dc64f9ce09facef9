#pragma once

// Compares results with their reference, element by element, for Runnable::verify().
//
// symbol      | meaning                                                       | unit | origin
// ------------|---------------------------------------------------------------|------|---------
// worst_error | of all compared elements, in tolerances (reference/tolerance) | 1    | computed
// scale       | root mean square of what was compared with                    | -    | computed

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/device/runnable.hpp"
#include "kernels/reference/number_format.hpp"

namespace orrery::kernels {

class Comparison {
 public:
  // One element; `what` and the place are named when it is the worst.
  void add(std::string_view what, std::int64_t row, std::int64_t column, double found,
           double expected, const reference::Tolerance& tolerance);

  // An element whose error is counted otherwise: up to 1 passes.
  void add_error(std::string_view what, std::int64_t row, std::int64_t column, double found,
                 double expected, double error);

  // A failure that no element shows.
  void fail(std::string sentence);

  // Fails where an output still holds the pattern of fill_unwritten(). Waits for the stream.
  void check_written(const void* output, Element element, std::int64_t count, std::string_view name,
                     Stream stream);

  [[nodiscard]] bool failed() const { return !failure_.empty(); }

  [[nodiscard]] Verification result() const;

 private:
  double worst_ = 0.0;
  double squares_ = 0.0;
  std::int64_t compared_ = 0;
  std::string where_;
  std::string failure_;
};

}  // namespace orrery::kernels
