#pragma once

// Families of layouts that differ only in how their replicas share states. Internal to plan/.
//
//   family  = layouts alike in all but sharding, its group and offload, that all keep whole
//             parameters (none, zero1, zero2) or all gather them (zero3, hsdp)
//   least   = no step of the family is shorter: passes and messages alone
//   clan    = families alike in all but what is recomputed and what is gathered; no step of it is
//             shorter than the least of the layouts that would recompute nothing
//   implied = does not fit, since a layout of the family that holds no more of anything does not:
//             none holds no less than zero1, hsdp no less than zero3, and states over few ranks no
//             less than over more
//
// symbol   | meaning                                                  | unit | origin
// ---------|----------------------------------------------------------|------|---------------
// headroom | free memory; of an implied member: no less than its own  | byte | step/, search
//
// Over how many ranks experts are sharded follows from a greatest common divisor: with a mixture of
// experts only states over the whole group are known to be the fewest.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/answer/plan/space/candidate.hpp"

namespace orrery::plan {

// Indices [first, last) of the layouts.
struct Family {
  std::size_t first = 0;
  std::size_t last = 0;
  SimTime least = {};

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(last - first); }
};

struct Member {
  std::size_t index = 0;
  Bound bound = {};
  bool implied = false;
};

// Of layouts in the order of the space; without their least times.
[[nodiscard]] std::vector<Family> families(const std::vector<Candidate>& layouts);
// The same of clans, whose families stand together. `none`: the index of recomputing nothing among
// the recomputations; without it a clan is a family.
[[nodiscard]] std::vector<Family> clans(const std::vector<Candidate>& layouts,
                                        std::optional<std::uint8_t> none);

// No layout of the clan is faster than the least of these: recomputing nothing, keeping parameters
// and gathering them, as far as the clan has either.
[[nodiscard]] std::vector<Candidate> fastest_of(const Family& clan,
                                                const std::vector<Candidate>& layouts,
                                                std::optional<std::uint8_t> none);

// Of the layouts of a clan.
[[nodiscard]] std::vector<Family> families_of(const Family& clan,
                                              const std::vector<Candidate>& layouts);

// Whether `wider` holds no more than `layout` of the same family, whatever the model.
[[nodiscard]] bool holds_no_more(const Candidate& wider, const Candidate& layout, bool mixture);

// All members in order.
[[nodiscard]] std::vector<Member> bound_members(const Family& family,
                                                const std::vector<Candidate>& layouts, bool mixture,
                                                Estimator& estimator);

}  // namespace orrery::plan
