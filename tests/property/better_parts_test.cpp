// A better part never costs time, on random valid steps with the shipped GPUs, stacks and tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/checkout.hpp"
#include "tests/property/random_steps.hpp"

namespace orrery::step::test {
namespace {

using hardware::GpuProfile;

constexpr std::uint64_t kBetterSeed = 20261122;

std::map<std::string, GpuProfile> shipped_gpus() {
  std::map<std::string, GpuProfile> gpus;
  const auto folder = std::filesystem::path(kSourceDir) / "scenarios/profiles/gpu";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().stem();
    Diagnostics diagnostics;
    auto gpu = hardware::load_gpu_profile(name, shipped_profiles(), {}, "gpu", diagnostics);
    EXPECT_TRUE(gpu.has_value()) << to_string(diagnostics);
    gpus.emplace(name, *std::move(gpu));
  }
  return gpus;
}

template <typename T>
bool at_least(const Coefficient<T>& a, const Coefficient<T>& b) {
  return a.value() >= b.value();
}

// A coefficient that a profile leaves out is no coefficient that is worse.
template <typename T>
bool at_least(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || at_least(*a, *b);
}

bool better_rate(const hardware::GemmRate& a, const hardware::GemmRate& b) {
  return at_least(a.sustained, b.sustained) && at_least(b.half_depth, a.half_depth) &&
         at_least(a.burst, b.burst) && at_least(a.short_gain, b.short_gain) &&
         at_least(a.short_work, b.short_work) && at_least(a.block_ratio, b.block_ratio) &&
         at_least(a.mx_ratio, b.mx_ratio);
}

bool better_rates(const GpuProfile& a, const GpuProfile& b) {
  return std::all_of(b.gemm.begin(), b.gemm.end(), [&a](const hardware::GemmRate& rate) {
    const hardware::GemmRate* other = a.find_gemm(rate.dtype);
    return other != nullptr && better_rate(*other, rate);
  });
}

bool better_kernel(const hardware::AttentionRate& a, const hardware::AttentionRate& b) {
  return at_least(a.forward, b.forward) && at_least(a.backward, b.backward) &&
         at_least(b.half_length, a.half_length) && at_least(b.full_ratio, a.full_ratio) &&
         at_least(b.backward_ratio, a.backward_ratio) && at_least(a.head_64, b.head_64) &&
         at_least(a.head_256, b.head_256) && at_least(a.head_256_fp8, b.head_256_fp8) &&
         at_least(a.forward_fp8, b.forward_fp8) && at_least(a.backward_fp8, b.backward_fp8);
}

bool better_attention(const GpuProfile& a, const GpuProfile& b) {
  if (!better_kernel(a.attention, b.attention)) {
    return false;
  }
  return std::all_of(
      b.attention_kernels.begin(), b.attention_kernels.end(), [&a](const auto& rate) {
        const auto* other = rate.generation ? a.find_attention(*rate.generation) : nullptr;
        return other == nullptr || better_kernel(*other, rate);
      });
}

bool better_norms(const GpuProfile& a, const GpuProfile& b) {
  return std::all_of(b.norm_kernels.begin(), b.norm_kernels.end(), [&a](const auto& rate) {
    const hardware::NormRate* other = a.find_norm(rate.implementation);
    return other == nullptr ||
           (at_least(other->forward, rate.forward) && at_least(other->backward, rate.backward) &&
            at_least(rate.forward_latency, other->forward_latency) &&
            at_least(rate.backward_latency, other->backward_latency));
  });
}

bool better_links(const GpuProfile& a, const GpuProfile& b) {
  if (a.nvlink.has_value() != b.nvlink.has_value()) {
    return false;  // without NVLink a host has no domain: another cluster
  }
  return !a.nvlink || (at_least(a.nvlink->bandwidth, b.nvlink->bandwidth) &&
                       at_least(a.nvlink->nccl_ring_bandwidth, b.nvlink->nccl_ring_bandwidth) &&
                       a.nvlink->nvls == b.nvlink->nvls && a.nvlink->peers == b.nvlink->peers);
}

// Launch time of the CPUs it is sold with.
double host_of(const GpuProfile& gpu) { return gpu.host_factor ? gpu.host_factor->value() : 1.0; }

// Graham's exceptions: more SMs can leave the last wave emptier, and switches that reduce can lead
// NCCL to another algorithm than the fastest, so both must be the same.
bool dominates(const GpuProfile& a, const GpuProfile& b) {
  return a.name != b.name && a.arch == b.arch && a.sm_count == b.sm_count &&
         at_least(a.memory, b.memory) && at_least(a.hbm_bandwidth, b.hbm_bandwidth) &&
         at_least(a.memory_efficiency, b.memory_efficiency) &&
         at_least(b.launch_latency, a.launch_latency) && host_of(a) <= host_of(b) &&
         better_rates(a, b) && better_attention(a, b) && better_norms(a, b) && better_links(a, b) &&
         at_least(a.host_bandwidth, b.host_bandwidth) &&
         at_least(a.pcie_bandwidth, b.pcie_bandwidth) &&
         at_least(b.collective_slowdown, a.collective_slowdown);
}

// Without tables of measured collectives: where logs of one GPU are there and none of the other,
// their predictions differ by the error of the model of wires as well.
cost::CostModel with(const cost::CostModel& costs, const GpuProfile& gpu) {
  return {gpu, costs.software(), costs.cluster()};
}

SimTime time_of(const StepInput& input, const cost::CostModel& costs) {
  return std::get<StepResult>(
             simulate_step(input, costs, {.timeline = false, .operations = false, .ledger = false}))
      .step_time;
}

using Pairs = std::vector<std::pair<const GpuProfile*, const GpuProfile*>>;  // better, worse

Pairs pairs_of(const std::map<std::string, GpuProfile>& gpus) {
  Pairs pairs;
  for (const auto& [name, better] : gpus) {
    for (const auto& [other, worse] : gpus) {
      if (dominates(better, worse)) {
        pairs.emplace_back(&better, &worse);
      }
    }
  }
  return pairs;
}

StepInput on(const Prepared& step, const GpuProfile& gpu) {
  StepInput input = step.input;
  input.cluster.nvlink_domain = gpu.nvlink ? input.cluster.gpus_per_node : 1;
  return input;
}

TEST(BetterParts, AGpuThatIsBetterInEveryCoefficientIsNeverSlower) {
  const std::map<std::string, GpuProfile> gpus = shipped_gpus();
  const Pairs pairs = pairs_of(gpus);
  const auto is_pair = [&pairs](std::string_view better, std::string_view worse) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first->name == better && pair.second->name == worse;
    });
  };
  EXPECT_TRUE(is_pair("h100-sxm-80gb", "h800-sxm"));
  EXPECT_GE(pairs.size(), 5U);
  RandomSteps steps(kBetterSeed);
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kBetterSeed, steps, round));
    for (const auto& [better, worse] : pairs) {
      StepInput input = on(step, *better);
      // Scales of blocks in every second round, where products are 8 bit.
      input.spec.precision.fp8_scaling =
          round % 2 == 0 ? model::Fp8Scaling::block : input.spec.precision.fp8_scaling;
      const SimTime fast = time_of(input, with(step.costs, *better));
      const SimTime slow = time_of(input, with(step.costs, *worse));
      EXPECT_LE(fast.ns, slow.ns + 1000)
          << better->name << " takes " << in_seconds(to_seconds(fast)) << " s, " << worse->name
          << ' ' << in_seconds(to_seconds(slow)) << " s";
    }
  }
}

// The exception: tables are evidence about their own GPU first. Where those of the better GPU say
// that a network is slower than the model of wires, and the worse GPU has none, or counts them for
// less, the better one loses what the evidence says, in groups that cross hosts.
TEST(BetterParts, MeasuredTablesTakeNoMoreThanAFiftiethFromABetterGpu) {
  constexpr double kMostLoss = 0.02;
  const std::map<std::string, GpuProfile> gpus = shipped_gpus();
  const Pairs pairs = pairs_of(gpus);
  hardware::NetworkSpec shipped;
  Diagnostics diagnostics;
  ASSERT_TRUE(hardware::load_collective_tables(shipped, shipped_profiles(), {}, "", diagnostics));
  RandomSteps steps(kBetterSeed);
  for (int round = 0; round < 60; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kBetterSeed, steps, round));
    hardware::ClusterSpec cluster = step.costs.cluster();
    cluster.network.tables = shipped.tables;
    for (const auto& [better, worse] : pairs) {
      const StepInput input = on(step, *better);
      const auto time = [&](const GpuProfile& gpu) {
        return in_seconds(to_seconds(time_of(input, {gpu, step.costs.software(), cluster})));
      };
      const double loss = time(*better) / time(*worse) - 1.0;
      EXPECT_LE(loss, cluster.nodes > 1 ? kMostLoss : 1e-6) << better->name << ", " << worse->name;
    }
  }
}

// The bubble of the schedule and what unequal stages add know neither wires nor protocols, as long
// as no group whose collectives are part of the passes crosses hosts. A layer of experts takes as
// long as its host, whose launches run ahead while tokens are on the wire: mixtures are left out.
TEST(BetterParts, TheBubbleIsIndependentOfTheNetwork) {
  RandomSteps steps(kBetterSeed + 1);
  int pipelines = 0;
  for (int round = 0; round < 400; ++round) {
    const Prepared step = steps.next();
    if (step.input.layout.pipeline == 1 || step.input.cluster.gpus_per_node == 0 ||
        step.input.model.moe) {
      continue;
    }
    SCOPED_TRACE(steps_in_round(kBetterSeed, steps, round));
    ++pipelines;
    const auto ledger_at = [&step](double factor) {
      hardware::ClusterSpec cluster = step.costs.cluster();
      cluster.network.nic_rate = cluster.network.nic_rate * factor;
      const cost::CostModel costs{step.costs.gpu(), step.costs.software(), cluster};
      return simulate(step.input, costs).stage_ledgers;
    };
    const auto before = ledger_at(1.0);
    const auto after = ledger_at(0.125);
    for (std::size_t d = 0; d < before.size(); ++d) {
      const auto of = [d](const auto& ledgers, StepCategory category) {
        return static_cast<double>(ledgers[d].gpu_nanoseconds(category));
      };
      // Nanoseconds are rounded; in combined steps compute beside all-to-all is a little slower.
      const double slack = 1e-5 * of(before, StepCategory::bubble) + 1e3;
      // A device's own exposed communication may fall into waiting and is taken from it, from the
      // bubble last: it is never more with a slower network.
      EXPECT_LE(of(after, StepCategory::bubble), of(before, StepCategory::bubble) + slack);
      if (of(after, StepCategory::stage_imbalance) > 0.0) {
        EXPECT_NEAR(of(after, StepCategory::bubble), of(before, StepCategory::bubble), slack);
      }
    }
  }
  EXPECT_GT(pipelines, 60);
}

TEST(BetterParts, LessJitterAndShorterLatencyAreNeverWorse) {
  RandomSteps steps(kBetterSeed + 2);
  for (int round = 0; round < 100; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kBetterSeed, steps, round));
    const auto scaled = [](auto& coefficient, double factor) {
      coefficient = {coefficient.value() * factor, coefficient.source()};
    };
    const SimTime before = time_of(step.input, step.costs);
    const SimTime slack{1000};
    for (const double factor : {0.0, 0.5}) {
      EXPECT_LE(time_of(step.input,
                        with_software(step.costs,
                                      [&](auto& s) { scaled(s.jitter_per_doubling, factor); })),
                before + slack);
      EXPECT_LE(time_of(step.input, with_software(step.costs,
                                                  [&](auto& s) {
                                                    scaled(s.transfer_overhead, factor);
                                                    scaled(s.collective_overhead, factor);
                                                  })),
                before + slack);
      EXPECT_LE(
          time_of(step.input,
                  with_gpu(step.costs, [&](auto& gpu) { scaled(gpu.launch_latency, factor); })),
          before + slack);
    }
  }
}

// Unequal GPUs and the stack's jitter are the same thing seen twice: a small spread changes nothing
// where the jitter is larger, and a growing one never makes the step shorter.
TEST(BetterParts, AStatedSpreadAndTheJitterDoNotAddUp) {
  Case what;
  what.nodes = 16;
  what.layout.tensor = 8;
  what.batch = {.global = 64, .micro = 1};
  const Prepared base = prepare(what);
  const double jitter = jitter_share(base.input, base.costs);
  ASSERT_GT(jitter, 0.01);
  const SimTime alike = time_of(base.input, base.costs);
  SimTime before = alike;
  for (const double sigma : {1e-6, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05}) {
    StepInput input = base.input;
    input.spec.variation.gpu_sigma = sigma;
    const SimTime time = time_of(input, base.costs);
    EXPECT_GE(time, before) << sigma;
    before = time;
    if (sigma <= 0.002) {  // the slowest of 128 is 2.6 to 4 sigma off
      EXPECT_EQ(time, alike) << sigma;
    }
  }
  EXPECT_GT(before, alike);
}

// Products whose number of tokens changes by one: what a real-valued key such as moe.imbalance
// does.
TEST(BetterParts, AWeightGradientIsSmoothInItsTokens) {
  const cost::CostModel costs = costs_of({});
  for (const auto dtype : {model::Dtype::bf16, model::Dtype::fp8}) {
    const auto time = [&](std::int64_t tokens) {
      return in_seconds(costs
                            .gemm({.part = model::Part::mlp_up,
                                   .role = model::Role::wgrad,
                                   .m = 4096,
                                   .n = 1536,
                                   .k = tokens,
                                   .dtype = dtype})
                            .time);
    };
    for (std::int64_t tokens = 1024; tokens < 1100; ++tokens) {
      EXPECT_NEAR(time(tokens + 1) / time(tokens), 1.0, 2e-3) << tokens;
    }
  }
}

// Experts get rows by chance: one row more fills no further tile of all of them at once. It costs
// four times what it adds where most tiles are full; with rows alike, up to half of the product.
TEST(BetterParts, AGroupedProductIsSmoothInItsRows) {
  const cost::CostModel costs = costs_of({});
  for (const std::int64_t experts : {2, 8, 64}) {
    const auto time = [&](std::int64_t rows) {
      return in_seconds(costs
                            .gemm({.part = model::Part::expert_up,
                                   .m = rows,
                                   .n = 4096,
                                   .k = 7168,
                                   .batch = experts,
                                   .grouped = true,
                                   .row_spread = 1.0 / std::sqrt(static_cast<double>(rows))})
                            .time);
    };
    for (std::int64_t rows = 500; rows < 2100; ++rows) {
      EXPECT_NEAR(time(rows + 1) / time(rows), 1.0, 9e-3) << experts << " x " << rows;
    }
  }
}

}  // namespace
}  // namespace orrery::step::test
