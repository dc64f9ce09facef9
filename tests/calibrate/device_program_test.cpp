// The program that measures, as it is linked: NCCL, cuDNN and NVRTC are opened when something needs
// them, so that a machine without one of them measures all the rest.

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "sim/cli/frame/child_process.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {
namespace {

const std::filesystem::path kProgram =
    std::filesystem::path(kBinaryDir) / "bin" / "orrery-calibrate-cuda";

// env asks the loader, which lists what the program needs and does not start it.
TEST(DeviceProgram, NeedsNoLibraryThatItCanDoWithout) {
  const std::optional<std::string> needed =
      cli::output_of("/usr/bin/env", {"LD_TRACE_LOADED_OBJECTS=1", kProgram.string()});
  ASSERT_TRUE(needed) << kProgram;
  EXPECT_NE(needed->find("libcublasLt"), std::string::npos) << *needed;
  for (const char* name : {"libnccl", "libcudnn", "libnvrtc"}) {
    EXPECT_EQ(needed->find(name), std::string::npos) << *needed;
  }
}

TEST(DeviceProgram, SaysWithoutAGpuWhatItOffers) {
  const std::optional<std::string> machine = cli::output_of(kProgram, {"--machine"});
  ASSERT_TRUE(machine);
  for (const char* key : {"\"collectives\": ", "\"cudnn_attention\": ", "\"absent\": "}) {
    EXPECT_NE(machine->find(key), std::string::npos) << *machine;
  }
}

}  // namespace
}  // namespace orrery::calibrate
