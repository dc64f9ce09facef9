#include "tests/unit/trace/kineto_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "sim/answer/trace/gpu_activity.hpp"
#include "tests/support.hpp"

#ifdef ORRERY_TESTS_HAVE_ZLIB
#include <zlib.h>
#endif

namespace orrery::trace::testing {

KinetoWriter::KinetoWriter(int rank, int world_size) : head_("\"schemaVersion\": 1") {
  if (rank >= 0) {
    head_ +=
        fmt::format(R"(, "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}})",
                    rank, world_size);
  }
}

KinetoWriter& KinetoWriter::kernel(const std::string& name, double begin, double duration,
                                   const KernelOptions& options) {
  std::string arguments = fmt::format(R"("device": {}, "stream": {}, "grid": [8, 1, 1])",
                                      options.device, options.stream);
  if (options.correlation != 0) {
    arguments += fmt::format(R"(, "correlation": {})", options.correlation);
  }
  if (options.external_id != 0) {
    arguments += fmt::format(R"(, "External id": {})", options.external_id);
  }
  if (options.group_size != 0) {
    arguments += fmt::format(R"(, "Group size": {})", options.group_size);
  }
  const auto text = [&arguments](std::string_view key, const std::string& value) {
    if (!value.empty()) {
      arguments += fmt::format(R"(, "{}": "{}")", key, value);
    }
  };
  text("Collective name", options.collective);
  text("Process Group Name", options.group);
  text("Process Group Description", options.description);
  text("Process Group Ranks", options.ranks);
  events_ += fmt::format(
      R"(,{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, )"
      R"("dur": {:.3f}, "args": {{{}}}}})",
      options.category, name, options.device, options.stream, begin, duration, arguments);
  return *this;
}

KinetoWriter& KinetoWriter::launch(int correlation, double begin, double duration) {
  events_ += fmt::format(
      R"(,{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 900, "tid": 900, )"
      R"("ts": {:.3f}, "dur": {:.3f}, "args": {{"correlation": {}}}}})",
      begin, duration, correlation);
  return *this;
}

KinetoWriter& KinetoWriter::operation(const std::string& name, double begin, double duration,
                                      int external_id, const std::string& operands) {
  events_ += fmt::format(
      R"(,{{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 900, "tid": 900, "ts": {:.3f}, )"
      R"("dur": {:.3f}, "args": {{"External id": {}, "Record function id": 0{}{}}}}})",
      name, begin, duration, external_id, operands.empty() ? "" : ", ", operands);
  return *this;
}

KinetoWriter& KinetoWriter::gpu() {
  head_ +=
      R"(, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150754820096, )"
      R"("computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "numSms": 132}])";
  return *this;
}

KinetoWriter& KinetoWriter::annotation(const std::string& name, double begin, double duration,
                                       bool on_gpu) {
  events_ += fmt::format(
      R"(,{{"ph": "X", "cat": "{}", "name": "{}", "pid": 900, "tid": 900, "ts": {:.3f}, )"
      R"("dur": {:.3f}}})",
      on_gpu ? "gpu_user_annotation" : "user_annotation", name, begin, duration);
  return *this;
}

std::string KinetoWriter::text() const {
  return "{" + head_ + ", \"traceEvents\": [" + (events_.empty() ? events_ : events_.substr(1)) +
         "]}";
}

std::shared_ptr<const GpuTrace> KinetoWriter::trace(const std::string& file) const {
  const TempFolder folder;
  ActivityCollector collector;
  EventReading reading =
      read_events(folder.write("trace.json", text()), {}, [&collector](const TraceEvent& event) {
        collector.add(event);
        return true;
      });
  return std::make_shared<const GpuTrace>(collector.finish(file, std::move(reading.facts)));
}

std::string packed(const std::string& text) {
#ifdef ORRERY_TESTS_HAVE_ZLIB
  z_stream zip{};
  constexpr int kGzipWindow = 15 + 16;
  constexpr int kMemory = 8;
  deflateInit2(&zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  std::string plain = text;
  std::string out(deflateBound(&zip, text.size()), '\0');
  zip.next_in = reinterpret_cast<Bytef*>(plain.data());
  zip.avail_in = static_cast<uInt>(plain.size());
  zip.next_out = reinterpret_cast<Bytef*>(out.data());
  zip.avail_out = static_cast<uInt>(out.size());
  deflate(&zip, Z_FINISH);
  out.resize(zip.total_out);
  deflateEnd(&zip);
  return out;
#else
  return text;
#endif
}

}  // namespace orrery::trace::testing
