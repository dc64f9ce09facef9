#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/import_config/trees/readers.hpp"
#include "sim/yaml/flow_text.hpp"

namespace orrery::import_config {

namespace {

// Sections and the keys in them, in the order in which people write them; others follow.
constexpr std::string_view kOrder =
    "model.preset model.name model.num_layers model.hidden_size model.num_attention_heads "
    "model.num_query_groups model.head_dim model.ffn_hidden_size model.vocab_size "
    "model.sequence_length model.activation model.norm model.position model.max_positions "
    "model.tie_embeddings model.linear_bias model.qkv_bias model.embedding_norm "
    "model.moe.num_experts model.moe.top_k model.moe.ffn_hidden_size model.moe.shared "
    "model.moe.dense_layers model.moe.capacity model.moe.node_limit "
    "model.attention_window.size model.attention_window.full_every model.mla.q_lora_rank "
    "model.mla.kv_lora_rank model.mla.qk_nope_head_dim model.mla.qk_rope_head_dim "
    "model.mla.v_head_dim model.mtp model.lora.rank model.lora.targets model.lora.dropout "
    "model.lora.base cluster.gpu cluster.gpus cluster.nodes "
    "cluster.gpus_per_node cluster.network cluster.network.preset layout.tensor "
    "layout.sequence_parallel layout.context layout.context_method layout.pipeline "
    "layout.virtual_stages layout.schedule layout.stage_layers layout.expert "
    "layout.expert_tensor layout.data layout.sharding layout.shard_group batch.global "
    "batch.micro precision.compute precision.gradient_dtype precision.deterministic "
    "precision.optimizer.name precision.optimizer.state_bytes recompute recompute.modules "
    "recompute.layers overlap.data overlap.tensor overlap.pipeline overlap.expert "
    "overlap.bucket overlap.fsdp.reshard overlap.fsdp.reshard_group "
    "software_options.expert_dispatcher offload.optimizer offload.parameters "
    "offload.nvme_read offload.nvme_write software software.name software.recipe compile "
    "training.steps training.tokens training.batch_ramp.start checkpoint.interval "
    "checkpoint.mode measured.step_time ";

// Where a key stands; one that is not listed behind the last that shares most of its path.
std::size_t place_of(std::string_view path) {
  const std::string order = " " + std::string(kOrder);
  std::string part = " " + std::string(path) + " ";
  std::size_t found = order.find(part);
  while (found == std::string::npos && part.find('.') != std::string::npos) {
    part.resize(part.rfind('.') + 1);
    found = order.rfind(part);
    part.resize(part.size() - 1);
  }
  return std::min(found, order.size());
}

struct Line {
  std::string path;
  std::string value;
  std::string comment;
};

// One line of the text before its comment is aligned.
struct Written {
  std::string text;
  std::string comment;
};

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    path.remove_prefix(dot + 1);
  }
}

std::vector<Written> nested(const std::vector<Line>& lines) {
  std::vector<Written> written;
  std::vector<std::string_view> open;
  for (const Line& line : lines) {
    const std::vector<std::string_view> parts = parts_of(line.path);
    std::size_t same = 0;
    while (same + 1 < parts.size() && same < open.size() && parts[same] == open[same]) {
      ++same;
    }
    open.resize(same);
    for (std::size_t i = same; i + 1 < parts.size(); ++i) {
      written.push_back({std::string(2 * i, ' ') + std::string(parts[i]) + ":", ""});
      open.push_back(parts[i]);
    }
    const std::string indent(2 * (parts.size() - 1), ' ');
    const std::string key(parts.back());
    written.push_back(
        {line.value.empty() ? indent + key + ":" : fmt::format("{}{}: {}", indent, key, line.value),
         line.comment});
  }
  return written;
}

// One line of printable text, cut where it would be too long.
std::string comment_of(std::string text) {
  constexpr std::size_t kMost = 110;
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kSpace = 0x20;
    constexpr unsigned char kDelete = 0x7F;
    c = byte < kSpace || byte >= kDelete ? ' ' : c;
  }
  return text.size() > kMost ? text.substr(0, kMost - 3) + "..." : text;
}

std::string head_of(const ImportResult& result) {
  std::string text = "# Read by `orrery import` from:\n";
  for (const ImportedFile& file : result.files) {
    text +=
        "#   " + comment_of(fmt::format("{}: {}", file.name, format_meaning(file.format))) + "\n";
  }
  text += "# Behind each key stands where its value comes from.\n";
  if (!result.notes.empty()) {
    text += "# What a scenario cannot say, or the files do not:\n";
    for (const std::string& note : result.notes) {
      text += "#   " + comment_of(note) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string origin_text(const Origin& origin) {
  std::string place;
  if (!origin.where.file.empty()) {
    place = fmt::format("{}{}",
                        std::filesystem::path(origin.where.file).filename().string(),
                        origin.where.line > 0 ? fmt::format(":{}", origin.where.line) : "");
  }
  if (!origin.key.empty()) {
    place += (place.empty() ? "" : " ") + origin.key;
  }
  switch (origin.kind) {
    case OriginKind::read:
      return place;
    case OriginKind::derived:
      return origin.why.empty() ? place : fmt::format("{}: {}", place, origin.why);
    case OriginKind::by_default:
      return fmt::format("default of {}", origin.why);
    case OriginKind::assumed:
      return fmt::format("assumed: {}{}", origin.why, place.empty() ? "" : " (" + place + ")");
    case OriginKind::given:
      return fmt::format("given: {}{}", origin.key, origin.why.empty() ? "" : ", " + origin.why);
  }
  return place;
}

std::vector<ImportedSetting> in_order(const Draft& draft) {
  std::vector<ImportedSetting> settings;
  for (const auto& [path, setting] : draft.settings()) {
    settings.push_back(setting);
  }
  std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) {
    return place_of(a.path) < place_of(b.path);
  });
  return settings;
}

std::string scenario_text(const ImportResult& result, const std::string& name) {
  std::vector<Line> lines;
  for (const ImportedSetting& setting : result.settings) {
    lines.push_back({setting.path, setting.value, origin_text(setting.origin)});
  }
  for (const AskedKey& asked : result.asked) {
    lines.push_back({asked.path, "", fmt::format("TO BE STATED: {}", asked.what)});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return place_of(a.path) < place_of(b.path);
  });
  std::string text = head_of(result);
  text += fmt::format("format: orrery/1\nname: {}\n", yaml::flow_scalar(name));
  constexpr std::size_t kColumn = 38;
  for (const Written& line : nested(lines)) {
    text += line.text;
    if (!line.comment.empty()) {
      const std::size_t gap = line.text.size() < kColumn ? kColumn - line.text.size() : 2;
      text += std::string(gap, ' ') + "# " + comment_of(line.comment);
    }
    text += '\n';
  }
  return text;
}

}  // namespace orrery::import_config
