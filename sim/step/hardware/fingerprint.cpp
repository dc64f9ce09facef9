#include "sim/step/hardware/fingerprint.hpp"

#include <array>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/files/file.hpp"

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

}  // namespace

std::span<const FingerprintField> fingerprint_fields() { return kFields; }

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

std::vector<FieldChange> changed_fields(const Fingerprint& from, const Fingerprint& to,
                                        bool identity_only) {
  std::vector<FieldChange> changes;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if ((kFields[i].identity || !identity_only) && from.values[i] != to.values[i]) {
      changes.push_back({std::string(kFields[i].key), from.values[i], to.values[i]});
    }
  }
  return changes;
}

}  // namespace orrery::hardware
