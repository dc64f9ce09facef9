// Offload against closed forms, on the machine without friction (ideal_machine.hpp).
//
//   P parameters, 12 bytes of state, 16-bit parameters and gradients, n GPUs of one node:
//   update = P (24 + 2 + 2) n / B     drives = 12 P n (1 / r + 1 / w)     back = 2 P / rate

#include "sim/step/simulate/stages/offload.hpp"

#include <gtest/gtest.h>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/memory.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

constexpr double kTolerance = 1e-9;
constexpr BytesPerSecond kHost = gigabytes_per_second(100.0);

Case small_case(std::int64_t gpus = 1) {
  Case what;
  what.model_spec = ideal_model(4);
  what.batch = {.global = 2 * gpus, .micro = 1};
  what.step.offload.optimizer = OffloadTarget::cpu;
  what.step.offload.host_bandwidth = kHost;
  return what;
}

double parameters_of(const StepInput& input) {
  return layout::optimizer_parameters(layout::stage_shard_parameters(input.model, input.layout, 0),
                                      input.layout);
}

double offload_seconds(const StepResult& result) {
  return in_seconds(result.ledger.gpu_time(StepCategory::offload)) /
         static_cast<double>(result.gpus);
}

TEST(Offload, TheHostUpdatesAtItsMemoryBandwidth) {
  const cost::CostModel costs = machine();
  const StepInput input = input_of(small_case(), costs);
  const double expected = parameters_of(input) * 28.0 / in_bytes_per_second(kHost);
  const StepResult result = simulate(input, costs);
  EXPECT_NEAR(offload_seconds(result) / expected, 1.0, kTolerance);
  EXPECT_EQ(result.ledger.gpu_time(StepCategory::optimizer), Seconds{});
}

TEST(Offload, TheGpusOfANodeShareItsMemory) {
  const cost::CostModel costs = machine(4);
  const StepInput input = input_of(small_case(4), costs);
  const double expected = 4.0 * parameters_of(input) * 28.0 / in_bytes_per_second(kHost);
  EXPECT_NEAR(offload_seconds(simulate(input, costs)) / expected, 1.0, kTolerance);
}

TEST(Offload, DrivesReadAndWriteTheWholeState) {
  Case what = small_case();
  what.step.offload.optimizer = OffloadTarget::nvme;
  what.step.offload.nvme_read = gigabytes_per_second(10.0);
  what.step.offload.nvme_write = gigabytes_per_second(5.0);
  const cost::CostModel costs = machine();
  const StepInput input = input_of(what, costs);
  const double expected = parameters_of(input) * 12.0 * (1.0 / 10e9 + 1.0 / 5e9);
  EXPECT_NEAR(offload_seconds(simulate(input, costs)) / expected, 1.0, kTolerance);
}

// Two micro-batches: each backward sends 2 P of gradients, the update returns 2 P of parameters.
TEST(Offload, WithoutOverlapEverythingAddsUp) {
  Case what = small_case();
  what.step.offload.overlap = false;
  what.step.offload.link = gigabytes_per_second(10.0);
  const cost::CostModel costs = machine();
  const StepInput input = input_of(what, costs);
  const double p = parameters_of(input);
  const double expected = p * (28.0 / in_bytes_per_second(kHost) + (2.0 * 2.0 + 2.0) / 10e9);
  EXPECT_NEAR(offload_seconds(simulate(input, costs)) / expected, 1.0, kTolerance);
}

// Only the update waits for the host's cores; a stated rate of its memory holds for all that its
// GPUs move.
TEST(Offload, CopiesTakeTheLinkUnlessTheHostIsStated) {
  constexpr std::int64_t kGpus = 8;
  const auto copies = [](std::optional<BytesPerSecond> host) {
    Case what = small_case(kGpus);
    what.step.offload = {};
    what.step.offload.activations = 0.5;
    what.step.offload.overlap = false;
    what.step.offload.host_bandwidth = host;
    const cost::CostModel costs = machine(kGpus);
    return offload_seconds(simulate(input_of(what, costs), costs));
  };
  const BytesPerSecond link = machine(kGpus).gpu().host_bandwidth.value();
  EXPECT_EQ(copies(std::nullopt), copies(link * static_cast<double>(kGpus)));
  EXPECT_NEAR(copies(link * (kGpus / 2.0)) / copies(std::nullopt), 2.0, kTolerance);
}

// Whatever the pass is too short for is exposed; per micro-batch it goes out and comes back.
TEST(Offload, ActivationsAreExposedBeyondTheirPass) {
  Case what = small_case();
  what.step.offload = {};
  what.step.offload.activations = 0.5;
  what.step.offload.host_bandwidth = gigabytes_per_second(1e9);
  const cost::CostModel costs = machine();
  const StepInput fast = input_of(what, costs);
  const StepResult hidden = simulate(fast, costs);
  EXPECT_EQ(hidden.ledger.gpu_time(StepCategory::offload), Seconds{});
  what.step.offload.overlap = false;
  what.step.offload.link = gigabytes_per_second(1.0);
  const StepInput input = input_of(what, costs);
  const model::OpOptions options = op_options(input, costs);
  const Bytes kept = model::layer_activation_bytes(input.model, {.ops = options}, 0) * (0.5 * 4.0);
  const double expected = 2.0 * 2.0 * in_bytes(kept) / 1e9;
  EXPECT_NEAR(offload_seconds(simulate(input, costs)) / expected, 1.0, kTolerance);
}

TEST(Offload, MovesStatesOutOfTheGpu) {
  const cost::CostModel costs = machine();
  Case what = small_case();
  const StepInput input = input_of(what, costs);
  const StepResult result = simulate(input, costs);
  const double p = parameters_of(input);
  const StageMemory& memory = result.memory.front();
  EXPECT_EQ(memory.optimizer, Bytes{});
  EXPECT_EQ(memory.gradients, Bytes{});
  EXPECT_NEAR(in_bytes(memory.parameters) / (2.0 * p), 1.0, kTolerance);
  EXPECT_NEAR(in_bytes(memory.host) / (16.0 * p), 1.0, kTolerance);
  what.step.offload.parameters = OffloadTarget::cpu;
  const StepResult all = simulate(input_of(what, costs), costs);
  EXPECT_EQ(all.memory.front().parameters, Bytes{});
  EXPECT_NEAR(in_bytes(all.memory.front().host) / (18.0 * p), 1.0, kTolerance);
}

TEST(Offload, HostMemoryIsALimit) {
  const cost::CostModel costs = machine();
  Case what = small_case();
  const StepInput input = input_of(what, costs);
  const Bytes needed = bytes(16.0 * parameters_of(input));
  what.step.offload.host_memory = needed * 1.001;
  EXPECT_TRUE(simulate(input_of(what, costs), costs).feasibility.fits_host);
  what.step.offload.host_memory = needed * 0.999;
  EXPECT_FALSE(simulate(input_of(what, costs), costs).feasibility.fits_host);
}

// Lion keeps 8 bytes: 2 x 8 + 4 + 2 = 22 of the 30 bytes that Adam moves.
TEST(Optimizer, MovesItsOwnState) {
  Case what = small_case();
  what.step.offload = {};
  Ideal ideal;
  ideal.gpus_per_node = 1;
  ideal.memory_rate = gigabytes_per_second(1.0);
  const cost::CostModel costs = with_software(ideal_costs(ideal), [](auto& software) {
    software.optimizer_traffic = exactly(bytes(30.0));
  });
  const auto update = [&](double state) {
    what.step.precision.optimizer_bytes = bytes(state);
    return in_seconds(
        simulate(input_of(what, costs), costs).ledger.gpu_time(StepCategory::optimizer));
  };
  EXPECT_NEAR(update(8.0) / update(12.0), 22.0 / 30.0, kTolerance);
}

}  // namespace
}  // namespace orrery::step::test
