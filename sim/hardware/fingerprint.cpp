#include "sim/hardware/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/file.hpp"

namespace orrery::hardware {

namespace {

constexpr std::array<FingerprintField, 33> kFields = {{
    {"gpu.name", FieldKind::text},
    {"gpu.count", FieldKind::count},
    {"gpu.cc", FieldKind::text},
    {"gpu.sm_count", FieldKind::count},
    {"gpu.l2_bytes", FieldKind::count},
    {"gpu.mem_bytes", FieldKind::count},
    {"gpu.pci_gen", FieldKind::count},
    {"gpu.pci_width", FieldKind::count},
    {"gpu.mig", FieldKind::flag},
    {"gpu.ecc", FieldKind::flag},
    {"gpu.uuid", FieldKind::text},
    {"driver", FieldKind::text},
    {"cuda.compiled", FieldKind::text},
    {"cuda.runtime", FieldKind::text},
    {"cuda.driver_api", FieldKind::text},
    {"libs.cublaslt.header", FieldKind::text},
    {"libs.cublaslt.runtime", FieldKind::text},
    {"libs.cudnn.header", FieldKind::text},
    {"libs.cudnn.runtime", FieldKind::text},
    {"libs.nccl.header", FieldKind::text},
    {"libs.nccl.runtime", FieldKind::text},
    {"nvlink.links", FieldKind::count},
    {"nvlink.version", FieldKind::text},
    {"nvlink.switched", FieldKind::flag},
    {"nvlink.peers", FieldKind::list},
    {"power_limit_w", FieldKind::number},
    {"clocks_mhz.sm_max", FieldKind::number},
    {"clocks_mhz.sm_sustained_median", FieldKind::number, false},
    {"clocks_mhz.sm_sustained_p10", FieldKind::number, false},
    {"throttle_reasons_seen", FieldKind::list, false},
    {"host.cpu", FieldKind::text},
    {"host.cores", FieldKind::count},
    {"tool.version", FieldKind::text},
}};

// As cudaGetDeviceProperties and nvidia-smi print them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 35> kDevices = {{
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA H200 NVL", "h200-nvl"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
    {"NVIDIA H100 SXM5 96GB", "h100-sxm-96gb-500w"},
    {"NVIDIA H800", "h800-sxm"},
    {"NVIDIA H20", "h20-sxm"},
    {"NVIDIA GH200 144G HBM3e", "gh200"},
    {"NVIDIA GH200 480GB", "gh200"},
    {"NVIDIA B200", "b200-sxm"},
    {"NVIDIA B300", "b300-sxm"},
    {"NVIDIA B300 SXM6 AC", "b300-sxm"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA GB300", "gb300"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
    {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
    {"Tesla V100-SXM2-16GB", "v100-sxm-16gb"},
    {"Tesla V100-SXM2-32GB", "v100-sxm-32gb"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090"},
    {"NVIDIA RTX A6000", "rtx-a6000"},
    {"NVIDIA A100-PCIE-80GB", "a100-pcie-80gb"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
    {"NVIDIA A800-SXM4-80GB", "a800-sxm-80gb"},
    {"NVIDIA H100 PCIe", "h100-pcie-80gb"},
    {"NVIDIA H100 NVL", "h100-nvl-94gb"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA A40", "a40"},
    {"NVIDIA GeForce RTX 5090", "rtx-5090"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
    {"AMD Instinct MI300X", "mi300x"},
    {"AMD Instinct MI325X", "mi325x"},
    {"AMD Instinct MI355X", "mi355x"},
    {"HL-225", "gaudi2"},
    {"HL-325L", "gaudi3"},
}};

}  // namespace

std::span<const FingerprintField> fingerprint_fields() {
  return kFields;
}

std::optional<std::size_t> field_index(std::string_view key) {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].key == key) {
      return i;
    }
  }
  return std::nullopt;
}

Fingerprint::Fingerprint() : values(kFields.size(), std::string(kUnknownField)) {}

const std::string& Fingerprint::get(std::string_view key) const {
  const auto index = field_index(key);
  ORRERY_CHECK(index.has_value(), "a fingerprint has no field {}", key);
  return values[*index];
}

void Fingerprint::set(std::string_view key, std::string value) {
  const auto index = field_index(key);
  ORRERY_CHECK(index.has_value(), "a fingerprint has no field {}", key);
  values[*index] = std::move(value);
}

std::string fingerprint_id(const Fingerprint& fingerprint) {
  std::string text;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].identity) {
      text += std::string(kFields[i].key) + "=" + fingerprint.values[i] + "\n";
    }
  }
  return sha256_hex(text);
}

std::vector<FieldChange> changed_fields(const Fingerprint& from,
                                        const Fingerprint& to,
                                        bool identity_only) {
  std::vector<FieldChange> changes;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if ((kFields[i].identity || !identity_only) && from.values[i] != to.values[i]) {
      changes.push_back({std::string(kFields[i].key), from.values[i], to.values[i]});
    }
  }
  return changes;
}

std::optional<std::string_view> base_of_device(std::string_view device) {
  for (const auto& [name, profile] : kDevices) {
    if (name == device) {
      return profile;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::hardware
