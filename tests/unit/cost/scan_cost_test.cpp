// Scans of linear mixers against published kernel times, and the limits of the law.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sim/step/cost/memory_bound.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

struct Row {
  const char* gpu;
  model::ScanKind kind;
  bool backward;
  std::int64_t tokens;
  std::int64_t heads;
  double milliseconds;
};

model::ScanOp op_of(const Row& row) {
  return {.kind = row.kind,
          .sequences = 1,
          .length = row.tokens,
          .heads = row.heads,
          .key_heads = row.heads,
          .key_dim = 128,
          .value_dim = 128,
          .chunk = 64,
          .backward = row.backward};
}

double milliseconds_of(const Row& row) {
  const Cost cost = scan_cost(op_of(row), testing::gpu_profile(row.gpu), testing::neutral_stack());
  return in_seconds(cost.time) * kKilo;
}

// fla with CUDA graphs, one sequence, heads of 128 (QwenLM/FlashQLA c18a4860; MoonshotAI/FlashKDA
// 1ce47ea3).
TEST(Scan, TakesWhatIsPublished) {
  using model::ScanKind;
  constexpr std::array kRows = {Row{"h200-sxm", ScanKind::delta, false, 2048, 32, 0.132},
                                Row{"h200-sxm", ScanKind::delta, false, 8192, 8, 0.234},
                                Row{"h200-sxm", ScanKind::delta, false, 8192, 32, 0.472},
                                Row{"h200-sxm", ScanKind::delta, false, 8192, 64, 0.814},
                                Row{"h200-sxm", ScanKind::delta, false, 32768, 8, 0.902},
                                Row{"h200-sxm", ScanKind::delta, false, 32768, 64, 3.331},
                                Row{"h200-sxm", ScanKind::delta, true, 8192, 4, 0.606},
                                Row{"h200-sxm", ScanKind::delta, true, 8192, 32, 1.444},
                                Row{"h200-sxm", ScanKind::delta, true, 32768, 32, 5.697},
                                Row{"gb200", ScanKind::delta, false, 8192, 32, 0.482},
                                Row{"gb200", ScanKind::delta, false, 32768, 64, 2.997},
                                Row{"gb200", ScanKind::delta, true, 8192, 32, 1.552},
                                Row{"gb200", ScanKind::delta, true, 32768, 32, 6.171},
                                Row{"gb200", ScanKind::channel_delta, false, 8192, 64, 1.5764},
                                Row{"gb200", ScanKind::channel_delta, false, 8192, 96, 2.3271}};
  double sum = 0.0;
  for (const Row& row : kRows) {
    const double error = milliseconds_of(row) / row.milliseconds - 1.0;
    EXPECT_LT(std::abs(error), 0.2) << row.gpu << " " << row.tokens << " x " << row.heads;
    sum += std::abs(error);
  }
  EXPECT_LT(sum / static_cast<double>(kRows.size()), 0.06);
}

// A chain over the chunks that heads do not lengthen, and bytes that they do.
TEST(Scan, IsAChainAndBytes) {
  const Row one{"h200-sxm", model::ScanKind::delta, false, 4096, 8, 0.0};
  Row two = one;
  two.heads = 16;
  Row three = one;
  three.heads = 24;
  const double chain = 2.0 * milliseconds_of(one) - milliseconds_of(two);
  EXPECT_NEAR(chain, 1.28e-3 * 64.0, 1e-9);
  EXPECT_NEAR(milliseconds_of(three) - milliseconds_of(two),
              milliseconds_of(two) - milliseconds_of(one), 1e-9);
}

// No profile moves bytes faster than its memory, and one without an entry says so.
TEST(Scan, StaysBelowTheMemoryAndNamesItsSource) {
  Row row{"h100-sxm-80gb", model::ScanKind::delta, false, 8192, 64, 0.0};
  const hardware::GpuProfile gpu = testing::gpu_profile(row.gpu);
  const Cost cost = scan_cost(op_of(row), gpu, testing::neutral_stack());
  EXPECT_GT(cost.time, model::scan_bytes(op_of(row)) / gpu.hbm_bandwidth.value());
  row.kind = model::ScanKind::state_space;
  const Cost assumed = scan_cost(op_of(row), gpu, testing::neutral_stack());
  EXPECT_EQ(assumed.by_source[static_cast<std::size_t>(SourceKind::assumed)], assumed.time);
}

}  // namespace
}  // namespace orrery::cost
