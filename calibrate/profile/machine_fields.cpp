#include "calibrate/profile/machine_fields.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <utility>

namespace orrery::calibrate {

namespace {

std::string text_of(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string(hardware::kUnknownField);
}

std::string text_of(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string(hardware::kUnknownField);
}

std::string text_of(std::optional<bool> value) {
  return value ? (*value ? "true" : "false") : std::string(hardware::kUnknownField);
}

std::string text_of(const std::string& value) {
  return value.empty() ? std::string(hardware::kUnknownField) : value;
}

std::string count_text(std::int64_t value) {
  return value > 0 ? fmt::format("{}", value) : std::string(hardware::kUnknownField);
}

}  // namespace

hardware::Fingerprint machine_fields(const Fingerprint& from) {
  hardware::Fingerprint to;
  to.set("gpu.name", text_of(from.gpu));
  to.set("gpu.count", count_text(from.gpus));
  to.set("gpu.cc", text_of(from.compute_capability));
  to.set("gpu.sm_count", count_text(from.multiprocessors));
  to.set("gpu.l2_bytes", count_text(from.l2_bytes));
  to.set("gpu.mem_bytes", count_text(from.memory_bytes));
  to.set("gpu.pci_gen", text_of(from.pcie_generation));
  to.set("gpu.pci_width", text_of(from.pcie_width));
  to.set("gpu.mig", text_of(from.mig));
  to.set("gpu.ecc", text_of(from.ecc));
  to.set("gpu.uuid", text_of(from.gpu_uuid.value_or("")));
  to.set("driver", text_of(from.driver.value_or("")));
  to.set("cuda.compiled", text_of(from.cuda_compiled));
  to.set("cuda.runtime", text_of(from.cuda_runtime));
  to.set("cuda.driver_api", text_of(from.cuda_driver));
  for (const auto& [name, versions] : {std::pair("cublaslt", from.cublaslt),
                                       std::pair("cudnn", from.cudnn),
                                       std::pair("nccl", from.nccl)}) {
    to.set(fmt::format("libs.{}.header", name), text_of(versions.header));
    to.set(fmt::format("libs.{}.runtime", name), text_of(versions.runtime));
  }
  if (from.nvlink) {
    to.set("nvlink.links", fmt::format("{}", from.nvlink->links));
    to.set("nvlink.version", text_of(from.nvlink->version.value_or("")));
    to.set("nvlink.switched", from.nvlink->switched ? "true" : "false");
    to.set("nvlink.peers", fmt::format("{}", fmt::join(from.nvlink->peers, ", ")));
  }
  to.set("power_limit_w", text_of(from.power_limit));
  to.set("clocks_mhz.sm_max", text_of(from.most_sm_clock));
  to.set("host.cpu", text_of(from.cpu));
  to.set("host.cores", count_text(from.cores));
  to.set("tool.version", text_of(from.tool));
  return to;
}

std::string machine_id(const Fingerprint& fingerprint) {
  return hardware::fingerprint_id(machine_fields(fingerprint));
}

}  // namespace orrery::calibrate
