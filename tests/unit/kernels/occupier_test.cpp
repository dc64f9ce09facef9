// What holds multiprocessors and what counts the clock, where there is a GPU; without one both end
// in one clear error.
#include "kernels/device/occupier.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/kernels/has_gpu.hpp"

namespace orrery::kernels {
namespace {

TEST(Occupier, HoldsMultiprocessorsUntilItIsToldToEnd) {
  if (!has_gpu()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const OwnedStream stream;
  const OwnedStream other;
  for (const auto load : {Occupier::Load::spins, Occupier::Load::streams}) {
    Occupier occupier(4, load);
    occupier.begin(other.get());
    const ClockProbe clock;  // another kernel runs meanwhile
    clock.begin(stream.get());
    clock.end(stream.get());
    stream.synchronize();
    occupier.end(other.get());
    EXPECT_EQ(occupier.moved() > 0.0, load == Occupier::Load::streams);
  }
  EXPECT_THROW(Occupier(100000, Occupier::Load::spins), Unsupported);
}

TEST(ClockProbe, CountsAClockThatAGpuCanHave) {
  if (!has_gpu()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const OwnedStream stream;
  const DeviceBuffer memory(std::int64_t{1} << 28);
  const ClockProbe clock;
  clock.begin(stream.get());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(cudaMemsetAsync(memory.data(), i, std::size_t{1} << 28, stream.get()), cudaSuccess);
  }
  clock.end(stream.get());
  stream.synchronize();
  ASSERT_TRUE(clock.megahertz());
  EXPECT_GT(*clock.megahertz(), 100.0);
  EXPECT_LT(*clock.megahertz(), 5000.0);
}

TEST(Occupier, WithoutAGpuItIsOneSentence) {
  if (has_gpu()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  EXPECT_THROW(Occupier(4, Occupier::Load::spins), Error);
  EXPECT_THROW(ClockProbe(), Error);
}

}  // namespace
}  // namespace orrery::kernels
