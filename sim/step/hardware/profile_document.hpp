#pragma once

// From the YAML tree of a profile document to a typed profile, every problem
// reported with its place. Internal to hardware/: profile_reader.hpp finds and loads the files.
//
// Beside the keys, rules of physics are checked: a sustained rate above the peak, an NCCL plateau
// above the link rate or an efficiency outside its range is an error of the file, not a result.

#include <array>
#include <optional>
#include <string>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::hardware {

inline constexpr std::string_view kGpuFormat = "orrery-gpu/1";
inline constexpr std::string_view kSoftwareFormat = "orrery-software/1";
inline constexpr std::string_view kCollectivesFormat = "orrery-collectives/1";

// Named by stacks (attention_kernel) and GPUs (attention.generation, attention_kernels).
inline constexpr std::array<yaml::Choice<AttentionGeneration>, 6> kAttentionGenerations = {
    {{"triton-2023", AttentionGeneration::triton_2023},
     {"fa2", AttentionGeneration::fa2},
     {"triton-2024", AttentionGeneration::triton_2024},
     {"cudnn-2024", AttentionGeneration::cudnn_2024},
     {"fa3", AttentionGeneration::fa3},
     {"cudnn-9", AttentionGeneration::cudnn_9}}};

inline constexpr std::array<yaml::Choice<NormImplementation>, 3> kNormImplementations = {
    {{"cudnn", NormImplementation::cudnn},
     {"torch-compile", NormImplementation::torch_compile},
     {"pytorch", NormImplementation::pytorch}}};

// The values of `arch`, in GPU profiles and in tables of collectives.
[[nodiscard]] constexpr std::array<yaml::Choice<GpuArch>, kGpuArchNames.size()>
architecture_choices() {
  std::array<yaml::Choice<GpuArch>, kGpuArchNames.size()> choices{};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices[i] = {kGpuArchNames[i].name, kGpuArchNames[i].arch};
  }
  return choices;
}

// Nothing when the document has at least one error.
[[nodiscard]] std::optional<GpuProfile> read_gpu_document(const yaml::Value& root,
                                                          const std::string& file,
                                                          Diagnostics& diagnostics);
[[nodiscard]] std::optional<SoftwareProfile> read_software_document(const yaml::Value& root,
                                                                    const std::string& file,
                                                                    Diagnostics& diagnostics);
[[nodiscard]] std::optional<CollectiveTables> read_collective_document(const yaml::Value& root,
                                                                       Diagnostics& diagnostics);

// What profile documents have in common: the format first, then every problem of its keys at once.
// Internal to hardware/.

// `read_keys(reader)` returns the profile where nothing that it needs is missing. A file of another
// format has one problem, not a flood of unknown keys.
template <typename ReadKeys>
[[nodiscard]] auto read_profile(const yaml::Value& root, const std::string& file,
                                const std::array<yaml::Choice<bool>, 1>& formats,
                                ReadKeys read_keys, Diagnostics& diagnostics) {
  Diagnostics problems;
  yaml::MappingReader reader(root, problems);
  decltype(read_keys(reader)) profile;
  if (reader.require_choice("format", formats)) {
    profile = read_keys(reader);
  }
  for (const Diagnostic& problem : problems.all()) {
    diagnostics.add(problem);
  }
  if (problems.has_errors()) {
    profile.reset();
  }
  if (profile) {
    profile->file = file;
  }
  return profile;
}

}  // namespace orrery::hardware
