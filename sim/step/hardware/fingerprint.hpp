#pragma once

// The machine that was measured and its versions: what makes two calibrations comparable.
//
// A field is `group.name` in a profile: `gpu.name`, `libs.nccl.runtime`. What cannot be found out
// on a machine reads `unknown`, never a guess.
//
// symbol   | meaning                                                         | unit | origin
// ---------|-----------------------------------------------------------------|------|--------------
// identity | fields that tell one machine and installation from another      | -    | driver, CUDA
// (others) | what was seen while measuring: sustained clocks, throttling     | -    | NVML
// id       | SHA-256 of the identity, `key=value` a line, in the order below | -    | computed

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::hardware {

enum class FieldKind { text, count, number, flag, list };

struct FingerprintField {
  std::string_view key;
  FieldKind kind = FieldKind::text;
  bool identity = true;
};

inline constexpr std::string_view kUnknownField = "unknown";

[[nodiscard]] std::span<const FingerprintField> fingerprint_fields();

// Position of a field; nothing when there is none of that name.
[[nodiscard]] std::optional<std::size_t> field_index(std::string_view key);

struct Fingerprint {
  Fingerprint();  // all unknown

  std::vector<std::string> values;  // by fingerprint_fields()

  [[nodiscard]] const std::string& get(std::string_view key) const;
  void set(std::string_view key, std::string value);

  friend bool operator==(const Fingerprint& a, const Fingerprint& b) = default;
};

[[nodiscard]] std::string fingerprint_id(const Fingerprint& fingerprint);

struct FieldChange {
  std::string key;
  std::string from;
  std::string to;
};

// In the order of the fields; `identity_only` leaves out what was seen while measuring.
[[nodiscard]] std::vector<FieldChange> changed_fields(const Fingerprint& from,
                                                      const Fingerprint& to, bool identity_only);

}  // namespace orrery::hardware
