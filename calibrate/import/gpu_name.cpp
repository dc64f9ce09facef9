#include "calibrate/import/gpu_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "calibrate/import/log_text.hpp"
#include "sim/base/text.hpp"

namespace orrery::calibration_import {

namespace {

constexpr std::array<std::string_view, 13> kSilent = {"nvidia",
                                                      "amd",
                                                      "instinct",
                                                      "oam",
                                                      "geforce",
                                                      "tesla",
                                                      "blackwell",
                                                      "edition",
                                                      "hbm2",
                                                      "hbm2e",
                                                      "hbm3",
                                                      "hbm3e",
                                                      "ac"};
constexpr std::array<std::string_view, 3> kForms = {"sxm", "pcie", "nvl"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// 80gb and 144g, as their digits.
std::string memory_digits(std::string_view word) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const std::string_view unit = word.substr(digits);
  return digits > 0 && (unit == "gb" || unit == "g") ? std::string(word.substr(0, digits))
                                                     : std::string();
}

struct NameParts {
  std::set<std::string> words;  // chip and variant
  std::string form;
  std::string memory;
};

NameParts parts_of(std::string_view name) {
  NameParts parts;
  std::string word;
  const auto take = [&parts, &word] {
    if (word.starts_with("sxm")) {
      word = "sxm";
    }
    if (const std::string memory = memory_digits(word); !memory.empty()) {
      parts.memory = memory;
    } else if (is_one_of(word, kForms)) {
      parts.form = word;
    } else if (!word.empty() && !is_one_of(word, kSilent)) {
      parts.words.insert(word);
    }
    word.clear();
  };
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else {
      take();
    }
  }
  take();
  return parts;
}

bool matches(const NameParts& device, const NameParts& profile) {
  const bool same_memory =
      device.memory.empty() || profile.memory.empty() || device.memory == profile.memory;
  // Profiles of GPUs that come in one form only do not name it.
  const bool same_form = profile.form.empty()
                             ? device.form.empty() || device.form == "sxm"
                             : profile.form == (device.form.empty() ? "sxm" : device.form);
  return device.words == profile.words && same_memory && same_form;
}

}  // namespace

std::vector<std::string> matching_profiles(std::string_view device,
                                           const std::vector<std::string>& profiles) {
  const NameParts wanted = parts_of(device);
  std::vector<std::string> found;
  for (const std::string& profile : profiles) {
    if (matches(wanted, parts_of(profile))) {
      found.push_back(profile);
    }
  }
  return found;
}

}  // namespace orrery::calibration_import
