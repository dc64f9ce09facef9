#pragma once

// The time of steps by a progress bar, ` 10%|#   | 57/4900 [10:58<15:32:28, 11.55s/it]`: in whole
// seconds, so that means over long stretches are taken. Internal to import_config/.

#include <optional>
#include <string_view>

namespace orrery::import_config {

class ProgressBar {
 public:
  struct Stretch {
    double seconds = 0.0;  // of one step
    double steps = 0.0;    // done at its end
  };

  // Nothing where the line is no bar, or no stretch ends with it.
  [[nodiscard]] std::optional<Stretch> add(std::string_view line);

  // Whether the last line was a bar, and whether a bar has come to its end.
  [[nodiscard]] bool is_bar() const {
    return is_bar_;
  }

  [[nodiscard]] bool is_done() const {
    return !any_ || last_.done == total_;
  }

  [[nodiscard]] double total() const {
    return total_;
  }

  // All steps, where they are known.
  [[nodiscard]] double steps() const {
    return expected_ > 0.0 ? expected_ : total_;
  }

  void expect(double total) {
    expected_ = total;
  }

 private:
  struct Place {
    double done = 0.0;
    double seconds = 0.0;
  };

  double expected_ = 0.0;  // steps; 0: whatever the bar says
  double total_ = 0.0;
  bool is_bar_ = false;
  bool any_ = false;
  Place begin_;
  Place last_;
};

}  // namespace orrery::import_config
