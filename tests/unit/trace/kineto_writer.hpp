#pragma once

// Writes traces as PyTorch's profiler does, event by event, with times in microseconds.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sim/answer/trace/gpu_activity.hpp"

namespace orrery::trace::testing {

struct KernelOptions {
  int stream = 7;
  int device = 0;
  int correlation = 0;  // 0: none
  int external_id = 0;  // 0: none
  std::string collective = {};
  std::string group = {};
  std::string description = {};
  std::string ranks = {};
  int group_size = 0;
  std::string category = "kernel";
};

class KinetoWriter {
 public:
  // Rank and size of the job in `distributedInfo`; rank -1: none.
  explicit KinetoWriter(int rank = -1, int world_size = 0);

  KinetoWriter& kernel(const std::string& name, double begin, double duration,
                       const KernelOptions& options = {});
  KinetoWriter& launch(int correlation, double begin, double duration = 5.0);

  // An operation of the host that was recorded with shapes: `operands` as in the file, such as
  // R"("Input Dims": [[8, 4], [4, 2]], "Input type": ["c10::BFloat16", "c10::BFloat16"])".
  KinetoWriter& operation(const std::string& name, double begin, double duration, int external_id,
                          const std::string& operands = {});

  // `deviceProperties` of an NVIDIA H200.
  KinetoWriter& gpu();

  // On the host, or on the GPU.
  KinetoWriter& annotation(const std::string& name, double begin, double duration,
                           bool on_gpu = false);

  [[nodiscard]] std::string text() const;

  // As the collector understands it.
  [[nodiscard]] std::shared_ptr<const GpuTrace> trace(const std::string& file = "trace.json") const;

 private:
  std::string head_;
  std::string events_;
};

// As gzip; the text itself where the tests were built without zlib.
[[nodiscard]] std::string packed(const std::string& text);

}  // namespace orrery::trace::testing
