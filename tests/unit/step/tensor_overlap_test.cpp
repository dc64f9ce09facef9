// Tensor-parallel collectives cut into chunks together with their products.

#include <gtest/gtest.h>

#include "sim/step/simulate/stages/layer_costs.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

// n chunks of wire c / n and product g / n in a pipeline of two stages end after
// c / n + (n - 1) max(c, g) / n + g / n: beyond g that is c / n + (n - 1) max(0, c - g) / n.
TEST(TensorOverlap, OnlyTheFirstChunkIsWaitedForBesideLongProducts) {
  for (const std::int64_t n : {1, 2, 4, 8}) {
    for (const double c : {1.0, 3.0, 10.0}) {
      for (const double g : {0.5, 3.0, 20.0}) {
        const auto chunks = static_cast<double>(n);
        const double end = c / chunks + (chunks - 1.0) * std::max(c, g) / chunks + g / chunks;
        EXPECT_NEAR(in_seconds(decomposed_wait(seconds(c), seconds(g), n)), end - g, 1e-12);
      }
    }
  }
}

Case tensor_case() {
  Case what;
  what.model = "llama3-70b";
  what.nodes = 2;
  what.layout.tensor = 8;
  what.layout.sequence_parallel = true;
  what.layout.sharding = layout::Sharding::zero1;
  what.step.overlap.tensor = true;
  return what;
}

TEST(TensorOverlap, MoreChunksHideMore) {
  const auto exposed = [](std::optional<std::int64_t> chunks) {
    Case what = tensor_case();
    what.step.overlap.tensor_chunks = chunks;
    return in_seconds(simulate(what).ledger.gpu_time(StepCategory::exposed_tensor));
  };
  Case none = tensor_case();
  none.step.overlap.tensor = false;
  const double whole = exposed(1);
  EXPECT_LT(exposed(2), 0.75 * whole);
  EXPECT_LT(exposed(8), exposed(2));
  EXPECT_GT(exposed(8), 0.1 * whole);
}

}  // namespace
}  // namespace orrery::step::test
