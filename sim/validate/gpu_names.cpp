#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/base/text.hpp"
#include "sim/validate/run_tables.hpp"

namespace orrery::validate {

namespace {

// Narrower entries before wider ones of the same part.
constexpr std::array<GpuName, 35> kGpus = {{{{"H100", "96 GB"}, "h100-sxm-96gb-500w"},
                                            {{"GB300"}, "gb300"},
                                            {{"GB200"}, "gb200"},
                                            {{"B300"}, "b300-sxm"},
                                            {{"B200"}, "b200-sxm"},
                                            {{"GH200"}, "gh200"},
                                            {{"H200", "NVL"}, "h200-nvl"},
                                            {{"H200"}, "h200-sxm"},
                                            {{"H20"}, "h20-sxm"},
                                            {{"H800", "PCIe"}, "h100-pcie-80gb"},
                                            {{"H800"}, "h800-sxm"},
                                            {{"A800"}, "a800-sxm-80gb"},
                                            {{"B100"}, "b200-sxm"},
                                            {{"H100", "PCIe"}, "h100-pcie-80gb"},
                                            {{"H100", "NVL"}, "h100-nvl-94gb"},
                                            {{"H100"}, "h100-sxm-80gb"},
                                            {{"A100", "PCIe", "40 GB"}, "a100-pcie-40gb"},
                                            {{"A100", "PCIe"}, "a100-pcie-80gb"},
                                            {{"A100", "40 GB"}, "a100-sxm-40gb"},
                                            {{"A100"}, "a100-sxm-80gb"},
                                            {{"V100", "16 GB"}, "v100-sxm-16gb"},
                                            {{"V100"}, "v100-sxm-32gb"},
                                            {{"A40"}, "a40"},
                                            {{"A6000"}, "rtx-a6000"},
                                            {{"RTX PRO 6000"}, "rtx-pro-6000-server"},
                                            {{"5090"}, "rtx-5090"},
                                            {{"4090"}, "rtx-4090"},
                                            {{"L40S"}, "l40s"},
                                            {{"L4"}, "l4"},
                                            {{"MI300X"}, "mi300x"},
                                            {{"MI325X"}, "mi325x"},
                                            {{"MI355X"}, "mi355x"},
                                            {{"Gaudi 2"}, "gaudi2"},
                                            {{"HL-225"}, "gaudi2"},
                                            {{"Gaudi 3"}, "gaudi3"}}};

bool is_separator(char c) {
  return c == ' ' || c == '-' || c == '_';
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Length of `word` at the front of `text`, separators optional on both sides; 0 when it is not it.
std::size_t length_of(std::string_view word, std::string_view text) {
  std::size_t at = 0;
  for (const char c : word) {
    if (is_separator(c)) {
      continue;
    }
    while (at > 0 && at < text.size() && is_separator(text[at])) {
      ++at;
    }
    if (at >= text.size() || lower(text[at]) != lower(c)) {
      return 0;
    }
    ++at;
  }
  return at;
}

// A name begins where no letter or digit is before it, a number of GPUs apart: `8xH100`.
bool begins_at(std::string_view text, std::size_t at) {
  if (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0) {
    return true;
  }
  return at >= 2 && lower(text[at - 1]) == 'x' && is_digit(text[at - 2]);
}

bool occurs(std::string_view word, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t length = begins_at(text, at) ? length_of(word, text.substr(at)) : 0;
    const std::size_t end = at + length;
    if (length > 0 && (end >= text.size() || !is_digit(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string GpuName::text() const {
  std::string joined;
  for (const std::string_view word : words) {
    joined += word.empty() ? "" : fmt::format("{}{}", joined.empty() ? "" : ", ", word);
  }
  return joined;
}

std::span<const GpuName> gpu_names() {
  return kGpus;
}

std::optional<std::string_view> gpu_profile_of(std::string_view name) {
  for (const GpuName& gpu : kGpus) {
    const bool all = std::all_of(gpu.words.begin(), gpu.words.end(), [name](std::string_view word) {
      return word.empty() || occurs(word, name);
    });
    if (all) {
      return gpu.profile;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::validate
