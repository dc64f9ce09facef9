// torchtitan: model, device mesh, batch and recomputation in sentences, and `tps:` a step.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/import_config/logs/log_flavours.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

struct MeshAxis {
  std::string_view name;
  std::string_view key;
};

constexpr std::array<MeshAxis, 8> kAxes = {{{"pp", "pipeline_parallel_degree"},
                                            {"dp_replicate", "data_parallel_replicate_degree"},
                                            {"dp_shard", "data_parallel_shard_degree"},
                                            {"dp", "data_parallel_shard_degree"},
                                            {"cp", "context_parallel_degree"},
                                            {"tp", "tensor_parallel_degree"},
                                            {"ep", "expert_parallel_degree"},
                                            {"etp", "expert_tensor_parallel_degree"}}};

// ['dp_shard', 'tp'], [4, 2] or pp=1, dp_replicate=1, dp_shard=2, cp=1, tp=1, ep=1. False where an
// axis is not known: a mesh with experts of 2025 has dp_shard_in_ep, which says no degree.
bool read_mesh(const LogLine& line, LogSettings& settings) {
  const auto put = [&](std::string_view axis, std::string_view degree) {
    const auto* known = std::find_if(kAxes.begin(), kAxes.end(),
                                     [axis](const MeshAxis& a) { return a.name == axis; });
    if (known != kAxes.end()) {
      settings.put(fmt::format("parallelism.{}", known->key), degree, line.number);
    }
    return known != kAxes.end();
  };
  for (const MeshAxis& axis : kAxes) {
    if (const auto degree = number_behind(line.text, fmt::format(" {}=", axis.name))) {
      static_cast<void>(put(axis.name, fmt::format("{:.0f}", *degree)));
    }
  }
  const std::size_t names = line.text.find("['");
  const std::size_t degrees = line.text.find("], [");
  if (names == std::string_view::npos || degrees == std::string_view::npos) {
    return true;
  }
  std::string_view axes = line.text.substr(names + 1, degrees - names - 1);
  std::string_view counts = line.text.substr(degrees + 4);
  bool known = true;
  while (!axes.empty() && !counts.empty()) {
    const std::size_t axis_end = std::min(axes.find(','), axes.size());
    const std::size_t count_end = std::min(counts.find_first_of(",]"), counts.size());
    const std::string_view axis = trimmed(axes.substr(0, axis_end));
    if (axis.size() > 2) {
      known = put(axis.substr(1, axis.size() - 2), trimmed(counts.substr(0, count_end))) && known;
    }
    axes.remove_prefix(std::min(axis_end + 1, axes.size()));
    counts.remove_prefix(std::min(count_end + 1, counts.size()));
  }
  return known;
}

// Applied full activation checkpointing, since 2026 Applied FullAC; which layers or operations a
// selective one recomputes is not printed.
void read_recompute(const LogLine& line, LogSettings& settings) {
  constexpr std::string_view kApplied = "Applied ";
  const std::size_t end = line.text.find(" activation checkpointing to the model");
  const std::size_t begin = end == std::string_view::npos ? end : line.text.rfind(kApplied, end);
  if (begin == std::string_view::npos) {
    return;
  }
  const std::size_t name = begin + kApplied.size();
  const std::string_view mode = line.text.substr(name, end - name);
  const bool selective = mode == "selective" || mode == "SelectiveAC";
  settings.put("activation_checkpoint.mode",
               selective          ? "selective"
               : mode == "FullAC" ? "full"
                                  : mode,
               line.number);
  if (selective) {
    settings.put("activation_checkpoint.selective_ac_option", kNotPrinted, line.number);
  }
}

// Building llama3 8B with ...; Model llama3 8B size: 8,030,261,248 total parameters
void read_titan_model(const LogLine& line, LogSettings& settings) {
  for (const std::string_view before : {"- Building ", "- Model "}) {
    const std::size_t at = line.text.find(before);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view rest = line.text.substr(at + before.size());
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) {
      continue;
    }
    const std::string_view name = rest.substr(0, space);
    rest.remove_prefix(space + 1);
    const std::string_view flavor = rest.substr(0, std::min(rest.find(' '), rest.size()));
    const bool plain = std::all_of(name.begin(), name.end(), is_word) && flavor != "device" &&
                       flavor != "mesh" && name != "device" && flavor != "tokenizer";
    if (plain && !flavor.empty()) {
      settings.put("model.name", name, line.number);
      settings.put("model.flavor", flavor, line.number);
    }
  }
}

// The tree, and the lines of the mesh and of one that is not understood; 0 when there is none.
struct TitanSettings {
  Value tree;
  int mesh = 0;
  int strange_mesh = 0;
};

void read_printed_batch(const LogLine& line, LogSettings& settings) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFigures = {
      {{"local batch size ", "training.local_batch_size"},
       {"global batch size ", "training.global_batch_size"},
       {"sequence length ", "training.seq_len"},
       {"total steps ", "training.steps"}}};
  if (line.text.find("local batch size") == std::string_view::npos) {
    return;
  }
  for (const auto& [words, key] : kFigures) {
    if (const auto figure = number_behind(line.text, words)) {
      settings.put(std::string(key), fmt::format("{:.0f}", *figure), line.number);
    }
  }
}

TitanSettings titan_settings(std::string_view text, const std::string& file) {
  LogSettings settings(file);
  int strange_mesh = 0;
  int mesh_line = 0;
  for (const LogLine& line : log_lines(text)) {
    read_titan_model(line, settings);
    if (line.text.find("Building") != std::string_view::npos &&
        line.text.find("device mesh") != std::string_view::npos) {
      mesh_line = line.number;
      strange_mesh = read_mesh(line, settings) ? strange_mesh : line.number;
    }
    read_printed_batch(line, settings);
    read_recompute(line, settings);
    if (line.text.find("Compiling each TransformerBlock") != std::string_view::npos) {
      settings.put("compile.enable", "true", line.number);
    }
    if (line.text.find("Swapped to MXLinear") != std::string_view::npos) {
      settings.put("model.converters", "mx", line.number);
    }
    if (line.text.find("Swapped to Float8Linear") != std::string_view::npos) {
      settings.put("model.converters", "float8", line.number);
    }
  }
  // What is off is not printed; a log without the lines of its begin says nothing of it.
  if (mesh_line > 0 && !settings.has("activation_checkpoint.mode")) {
    settings.put("activation_checkpoint.mode", "none", mesh_line);
  }
  if (mesh_line > 0 && !settings.has("compile.enable")) {
    settings.put("compile.enable", "false", mesh_line);
  }
  return {settings.take(), mesh_line, strange_mesh};
}

}  // namespace

std::vector<LogPart> torchtitan_log_settings(std::string_view text, const std::string& file,
                                             Diagnostics& diagnostics) {
  TitanSettings found = titan_settings(text, file);
  if (found.strange_mesh > 0) {
    diagnostics.error({file, found.strange_mesh, 1}, "",
                      "this mesh has axes that do not say the degrees",
                      "what --debug.save_config_file saves");
    return {};
  }
  return {{ConfigFormat::torchtitan_log, std::move(found.tree), found.mesh == 0}};
}

}  // namespace orrery::import_config
