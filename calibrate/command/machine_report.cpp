#include "calibrate/command/machine_report.hpp"

#include "sim/base/text/json_text.hpp"
#include "sim/hardware/profile_reader.hpp"

namespace orrery::calibrate {

namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_of(const kernels::ListedGpu& gpu, const std::vector<hardware::GpuName>& names) {
  const auto profiles = hardware::profiles_of_device(names, gpu.name);
  return {{"name", gpu.name},
          {"memory_bytes", gpu.memory},
          {"profile", profiles.size() == 1 ? Json(profiles.front()) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const BuildParts& parts, const kernels::GpuList& machine) {
  const auto names = hardware::gpu_names(hardware::default_search({}));
  const auto gpu_json = [&names](const kernels::ListedGpu& gpu) { return json_of(gpu, names); };
  return json_text({{"schema", "orrery-machine/1"},
                    {"build",
                     {{"cuda", text_or_null(parts.cuda)},
                      {"collectives", parts.collectives},
                      {"cudnn_attention", parts.cudnn_attention},
                      {"missing", parts.missing},
                      {"absent", parts.absent}}},
                    {"driver",
                     {{"installed", machine.installed},
                      {"version", text_or_null(machine.driver)},
                      {"cuda", text_or_null(machine.cuda)},
                      {"absence", text_or_null(machine.absence)}}},
                    {"gpus", json_list(machine.gpus, gpu_json)}});
}

}  // namespace orrery::calibrate
