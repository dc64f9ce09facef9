#include "tests/gui/synthetic.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "sim/base/sim_time.hpp"

namespace orrery::timeline {

namespace {

constexpr std::size_t kDraws = std::size_t{1} << 16U;
constexpr std::uint64_t kNames = 200;
constexpr std::uint64_t kGapEvery = 5;

constexpr std::array<Category, 8> kUsed = {
    Category::forward,  Category::backward,    Category::optimizer, Category::tensor,
    Category::pipeline, Category::data_reduce, Category::expert,    Category::copy};

std::vector<std::int64_t> durations(RandomStream& random) {
  constexpr double kMedianMicroseconds = 50.0;
  std::vector<std::int64_t> draws(kDraws);
  for (std::int64_t& draw : draws) {
    draw = to_sim_time(random.lognormal(microseconds(kMedianMicroseconds), 1.0)).ns + 1;
  }
  return draws;
}

}  // namespace

void fill_synthetic(StoreBuilder& builder, const SyntheticSpec& spec) {
  RandomStream random(spec.seed, 0, Purpose::property_test);
  const std::vector<std::int64_t> draws = durations(random);
  std::vector<NameId> names;
  for (std::uint64_t i = 0; i < kNames; ++i) {
    names.push_back(builder.name(fmt::format("operation {}", i)));
  }
  const std::uint64_t each = spec.slices / spec.rows;
  for (std::uint32_t r = 0; r < spec.rows; ++r) {
    const RowId row = builder.row(fmt::format("rank {}", r));
    const std::uint64_t count = each + (r < spec.slices % spec.rows ? 1 : 0);
    RandomStream own(spec.seed, spec.alike ? 1 : r + 1, Purpose::property_test);
    std::uint64_t place = own.uniform_int(kDraws);
    std::int64_t time = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t duration = draws[place++ % kDraws];
      const auto pick = static_cast<std::uint64_t>(duration) + i;
      const bool abnormal = spec.abnormal > 0.0 && own.uniform01() < spec.abnormal;
      builder.add(row,
                  {time, time + duration, names[pick % kNames],
                   kUsed[static_cast<std::size_t>(pick / kUsed.size() % kUsed.size())], abnormal});
      time += duration + (pick % kGapEvery == 0 ? draws[place % kDraws] : 0);
    }
  }
}

std::shared_ptr<const Store> synthetic_store(const SyntheticSpec& spec) {
  StoreBuilder builder;
  fill_synthetic(builder, spec);
  return builder.build();
}

View view_of(std::shared_ptr<const Store> store, int columns, double height) {
  Levels levels(1);
  levels[0].name = "synthetic";
  levels[0].store = std::move(store);
  View view(std::move(levels));
  view.resize(columns, height);
  view.frame_all();
  return view;
}

}  // namespace orrery::timeline
