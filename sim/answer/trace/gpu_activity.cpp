#include "sim/answer/trace/gpu_activity.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace orrery::trace {

SpanSet SpanSet::of(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.end <= span.begin; });
  std::ranges::sort(spans, {}, &Span::begin);
  SpanSet set;
  for (const Span& span : spans) {
    if (!set.spans_.empty() && span.begin <= set.spans_.back().end) {
      set.spans_.back().end = std::max(set.spans_.back().end, span.end);
    } else {
      set.spans_.push_back(span);
    }
  }
  return set;
}

std::int64_t SpanSet::length() const {
  return std::accumulate(spans_.begin(), spans_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Span& span) { return sum + span.length(); });
}

SpanSet SpanSet::unite(const SpanSet& other) const {
  std::vector<Span> all;
  all.reserve(spans_.size() + other.spans_.size());
  all.insert(all.end(), spans_.begin(), spans_.end());
  all.insert(all.end(), other.spans_.begin(), other.spans_.end());
  return of(std::move(all));
}

SpanSet SpanSet::common(const SpanSet& other) const {
  SpanSet set;
  auto a = spans_.begin();
  auto b = other.spans_.begin();
  while (a != spans_.end() && b != other.spans_.end()) {
    const Span both{std::max(a->begin, b->begin), std::min(a->end, b->end)};
    if (both.begin < both.end) {
      set.spans_.push_back(both);
    }
    if (a->end < b->end) {
      ++a;
    } else {
      ++b;
    }
  }
  return set;
}

SpanSet SpanSet::without(const SpanSet& other) const {
  SpanSet set;
  auto b = other.spans_.begin();
  for (const Span& span : spans_) {
    std::int64_t begin = span.begin;
    while (b != other.spans_.end() && b->end <= begin) {
      ++b;
    }
    for (auto hole = b; hole != other.spans_.end() && hole->begin < span.end; ++hole) {
      if (hole->begin > begin) {
        set.spans_.push_back({begin, hole->begin});
      }
      begin = std::max(begin, hole->end);
    }
    if (begin < span.end) {
      set.spans_.push_back({begin, span.end});
    }
  }
  return set;
}

SpanSet SpanSet::within(Span window) const {
  SpanSet set;
  auto span = std::partition_point(spans_.begin(), spans_.end(), [window](const Span& candidate) {
    return candidate.end <= window.begin;
  });
  for (; span != spans_.end() && span->begin < window.end; ++span) {
    set.spans_.push_back({std::max(span->begin, window.begin), std::min(span->end, window.end)});
  }
  return set;
}

bool is_gpu_category(std::string_view category) {
  constexpr std::array<std::string_view, 6> kCategories = {"kernel", "gpu_memcpy", "gpu_memset",
                                                           "Kernel", "Memcpy",     "Memset"};
  return std::ranges::find(kCategories, category) != kCategories.end();
}

}  // namespace orrery::trace
