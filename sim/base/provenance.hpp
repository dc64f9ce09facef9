#pragma once

// Coefficients with provenance: a value that cannot exist without its source.
//
// `given` means the scenario itself states the value; `assumed` needs a reason in the citation.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace orrery {

enum class SourceKind { measured, published, datasheet, assumed, given };

inline constexpr std::size_t kSourceKindCount = 5;
inline constexpr std::array<std::string_view, kSourceKindCount> kSourceKindNames = {
    "measured", "published", "datasheet", "assumed", "given"};

[[nodiscard]] constexpr std::string_view to_string(SourceKind kind) {
  return kSourceKindNames[static_cast<std::size_t>(kind)];
}

struct Source {
  SourceKind kind;
  std::string citation;  // profile id, paper, vendor page or reason
};

// Of the input of a fit.
struct ValidRange {
  double lo = 0.0;
  double hi = 0.0;

  [[nodiscard]] constexpr bool contains(double x) const { return x >= lo && x <= hi; }
};

template <typename Q>
class Coefficient {
 public:
  Coefficient(Q value, Source source) : value_(value), source_(std::move(source)) {}

  Coefficient(Q value, Source source, double residual, std::optional<ValidRange> range)
      : value_(value), source_(std::move(source)), residual_(residual), range_(range) {}

  [[nodiscard]] Q value() const { return value_; }

  [[nodiscard]] const Source& source() const { return source_; }

  [[nodiscard]] SourceKind kind() const { return source_.kind; }

  [[nodiscard]] double residual() const { return residual_; }

  [[nodiscard]] const std::optional<ValidRange>& range() const { return range_; }

 private:
  Q value_;
  Source source_;
  double residual_ = 0.0;  // relative error of the fit that gave it; 0: no fit
  std::optional<ValidRange> range_;
};

}  // namespace orrery
