#pragma once

// Lists the GPUs of this machine through NVML, the driver's library, loaded at run time.
//
// symbol  | meaning                                          | unit | origin
// --------|--------------------------------------------------|------|-------
// memory  | of the GPU, as the driver counts it              | B    | NVML
// driver  | version of the driver: "580.95.05"               | -    | NVML
// cuda    | newest CUDA that the driver runs: "13.0"         | -    | NVML
// absence | why there is no answer; empty when there is one  | -    | NVML
//
// A machine without a driver is not an error: `installed` is false. A driver that does not answer
// is one for whoever wants its GPUs: `installed` with an absence.

#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::kernels {

struct ListedGpu {
  std::string name;
  std::optional<Bytes> memory;
};

struct GpuList {
  bool installed = false;
  std::string absence;
  std::string driver;
  std::string cuda;
  std::vector<ListedGpu> gpus;
};

// `library`: another file name in tests.
[[nodiscard]] GpuList list_gpus(const char* library = "libnvidia-ml.so.1");

}  // namespace orrery::kernels
