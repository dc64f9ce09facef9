#pragma once

// A synthetic timeline of any size for tests and benchmarks: random slices, all the same for the
// same seed.
//
// symbol   | meaning                                                  | unit | origin
// ---------|----------------------------------------------------------|------|--------
// duration | lognormal, median 50 us, sigma 1                          | ns   | random
// gap      | behind one slice in five, of the same law                 | ns   | random

#include <cstdint>
#include <memory>

#include "gui/timeline/store/store_builder.hpp"
#include "gui/timeline/view.hpp"
#include "sim/base/random.hpp"

namespace orrery::timeline {

struct SyntheticSpec {
  std::uint32_t rows = 1;
  std::uint64_t slices = 1000;  // of all rows
  std::uint64_t seed = 1;
  bool alike = false;   // all rows the same
  double abnormal = 0;  // share of slices
};

// Rows are filled; what build() takes is not done yet.
void fill_synthetic(StoreBuilder& builder, const SyntheticSpec& spec);

[[nodiscard]] std::shared_ptr<const Store> synthetic_store(const SyntheticSpec& spec);

[[nodiscard]] View view_of(std::shared_ptr<const Store> store, int columns, double height);

}  // namespace orrery::timeline
