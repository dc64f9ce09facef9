#pragma once

// Sets of time spans: when at least one activity was going on, and when nothing else hid it.
//
//   exposed = communication without compute;   hidden = communication in common with compute
//
// symbol  | meaning                                              | unit | origin
// --------|------------------------------------------------------|------|-------------------
// span    | [begin, end)                                         | ns   | a trace
// set     | spans that neither overlap nor touch, ascending      | ns   | of() and the rest
// length  | sum over the spans: exact, in integers               | ns   | computed
//
// Every operation is one pass over both sets. For all A and B:
//   length(A) = length(A common B) + length(A without B)
//   length(A unite B) = length(A) + length(B without A)

#include <cstdint>
#include <vector>

namespace orrery::trace {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }

  friend bool operator==(const Span&, const Span&) = default;
};

class SpanSet {
 public:
  SpanSet() = default;

  // Spans in any order, which may overlap; those without length are left out.
  [[nodiscard]] static SpanSet of(std::vector<Span> spans);

  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

  [[nodiscard]] std::int64_t length() const;
  [[nodiscard]] SpanSet unite(const SpanSet& other) const;
  [[nodiscard]] SpanSet common(const SpanSet& other) const;
  [[nodiscard]] SpanSet without(const SpanSet& other) const;

  // The part in a window: O(log n + spans found).
  [[nodiscard]] SpanSet within(Span window) const;

 private:
  std::vector<Span> spans_;
};

}  // namespace orrery::trace
