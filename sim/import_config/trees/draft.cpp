#include "sim/import_config/trees/draft.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "sim/scenario/variant.hpp"

namespace orrery::import_config {

namespace {

int rank_of(OriginKind kind) {
  switch (kind) {
    case OriginKind::given:
      return 3;
    case OriginKind::read:
    case OriginKind::derived:
      return 2;
    case OriginKind::by_default:
      return 1;
    case OriginKind::assumed:
      break;
  }
  return 0;
}

std::string place_of(const Origin& origin) {
  if (origin.where.file.empty()) {
    return origin.key.empty() ? origin.why : origin.key;
  }
  return origin.where.line > 0
             ? fmt::format("{} ({}:{})", origin.key, origin.where.file, origin.where.line)
             : fmt::format("{} ({})", origin.key, origin.where.file);
}

}  // namespace

void Draft::set(std::string_view path, std::string value, Origin origin) {
  if (origin.kind == OriginKind::by_default && open(path) != nullptr) {
    return;  // a file states it, and not what the program takes where it is silent
  }
  const auto found = settings_.find(path);
  if (found == settings_.end()) {
    const std::string key(path);
    settings_.emplace(key, ImportedSetting{key, std::move(value), std::move(origin)});
    return;
  }
  ImportedSetting& before = found->second;
  const int old_rank = rank_of(before.origin.kind);
  const int new_rank = rank_of(origin.kind);
  if (before.origin.kind == OriginKind::given && new_rank < old_rank && before.value != value &&
      new_rank == 2 && before.origin.why.empty()) {
    before.origin.why = fmt::format("in place of {} of {}", value, place_of(origin));
  } else if (new_rank > old_rank) {
    before = {std::string(path), std::move(value), std::move(origin)};
  } else if (new_rank == old_rank && before.value != value && new_rank == 2) {
    diagnostics_.error(origin.where, origin.key,
                       fmt::format("says {} for {}, but {} says {}", value, path,
                                   place_of(before.origin), before.value),
                       fmt::format("say which with --set {}=VALUE", path));
  }
}

void Draft::set_stack(std::string_view name) {
  if (name == kNoStack) {
    if (find("software.name") == nullptr) {
      set("software", std::string(kNoStack), assumed_as("this program has no profile of its own"));
    }
    return;
  }
  const ImportedSetting* unknown = find("software");
  if (unknown != nullptr && unknown->origin.kind == OriginKind::assumed) {
    erase("software");
  }
  set("software.name", std::string(name),
      assumed_as("the program's profile: orrery list software"));
  set("software.recipe", "plain", assumed_as("what is switched on stands in the files"));
}

void Draft::erase(std::string_view path) {
  const auto found = settings_.find(path);
  if (found != settings_.end()) {
    settings_.erase(found);
  }
}

void Draft::leave_open(std::string_view path, const SourceItem& item, std::string why) {
  open_.try_emplace(std::string(path),
                    OpenKey{std::string(path), item.where, item.shown, std::move(why)});
  if (const ImportedSetting* setting = find(path);
      setting != nullptr && setting->origin.kind == OriginKind::by_default) {
    erase(path);
  }
}

const ImportedSetting* Draft::find(std::string_view path) const {
  const auto found = settings_.find(path);
  return found == settings_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> Draft::count(std::string_view path) const {
  const ImportedSetting* setting = find(path);
  if (setting == nullptr) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* end = setting->value.data() + setting->value.size();
  const auto [stop, error] = std::from_chars(setting->value.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

bool Draft::is(std::string_view path, std::string_view value) const {
  const ImportedSetting* setting = find(path);
  return setting != nullptr && setting->value == value;
}

const OpenKey* Draft::open(std::string_view path) const {
  const auto found = open_.find(path);
  return found == open_.end() ? nullptr : &found->second;
}

bool Draft::has_below(std::string_view prefix) const {
  const auto found = settings_.lower_bound(prefix);
  return found != settings_.end() && found->first.starts_with(prefix);
}

void Draft::note(std::string sentence) {
  if (std::find(notes_.begin(), notes_.end(), sentence) == notes_.end()) {
    notes_.push_back(std::move(sentence));
  }
}

Origin read_from(const SourceItem& item) {
  if (item.by_default) {
    return {OriginKind::by_default, {}, "", fmt::format("{} is {}", item.shown, item.value.text)};
  }
  return {OriginKind::read, item.where, item.shown, ""};
}

Origin derived_from(const SourceItem& item, std::string why) {
  if (item.by_default) {
    return {OriginKind::by_default,
            {},
            "",
            fmt::format("{} is {}: {}", item.shown, item.value.text, why)};
  }
  return {OriginKind::derived, item.where, item.shown, std::move(why)};
}

Origin default_of(const Import& import, std::string why) {
  return {OriginKind::by_default, {}, "", import.program + ": " + std::move(why)};
}

Origin assumed_as(std::string why) { return {OriginKind::assumed, {}, "", std::move(why)}; }

void Import::leave_unknown(std::string_view target, std::string_view path) {
  const SourceItem& item = *keys.find(path);
  draft.leave_open(
      target, item,
      fmt::format("a scenario has nothing for {}", yaml::display(value_text(item.value))));
}

std::optional<std::int64_t> copy_count(Import& import, std::string_view source,
                                       std::string_view target) {
  const std::optional<std::int64_t> value = import.keys.count(source);
  const SourceItem* item = import.keys.find(source);
  if (value) {
    import.draft.set(target, *value, read_from(*item));
  } else if (item != nullptr && item->unread) {
    import.draft.leave_open(target, *item, unread_reason(item->value));
  }
  return value;
}

std::optional<bool> copy_flag(Import& import, std::string_view source, std::string_view target) {
  const std::optional<bool> value = import.keys.flag(source);
  const SourceItem* item = import.keys.find(source);
  if (value) {
    import.draft.set(target, *value, read_from(*item));
  } else if (item != nullptr && item->unread) {
    import.draft.leave_open(target, *item, unread_reason(item->value));
  }
  return value;
}

void keep_count(Import& import, std::string_view source, std::optional<PendingCount>& slot,
                std::string_view target) {
  const std::optional<std::int64_t> value = import.keys.count(source);
  const SourceItem* item = import.keys.find(source);
  if (item != nullptr && item->unread) {
    import.draft.leave_open(target, *item, unread_reason(item->value));
  }
  if (!value) {
    return;
  }
  if (slot && slot->value != *value && slot->origin.where.file != item->where.file) {
    import.diagnostics.error(
        item->where, item->shown,
        fmt::format("says {}, but {} says {}", *value, place_of(slot->origin), slot->value));
    return;
  }
  slot = PendingCount{*value, read_from(*item)};
}

void copy_known_counts(Import& import, std::string_view prefix, std::string_view section) {
  for (SourceItem& item : import.keys.items()) {
    if (item.used || !item.path.starts_with(prefix)) {
      continue;
    }
    const std::string name = item.path.substr(prefix.size());
    // Of DeepSeek-V4's layers, which only their own reader knows.
    if (name.find('.') != std::string::npos || name == "hc_mult") {
      continue;
    }
    const auto key = scenario::known_key(fmt::format("{}.{}", section, name));
    if (key && key->whole_numbers && key->section != "format") {
      const std::string path = item.path;
      copy_count(import, path, key->path);
    }
  }
}

void put_dense_layers(Draft& draft, const Origin& origin, std::int64_t dense, bool leading) {
  draft.set("model.moe.dense_layers", dense, origin);
  if (!leading) {
    draft.note(fmt::format(
        "{}: {} layers with a dense MLP lie between those with experts; the scenario puts them "
        "first, so that totals hold, but stages of a pipeline may differ",
        origin.key, dense));
  }
}

void put_shared_experts(Import& import, std::string_view source) {
  const auto width = import.keys.count(source);
  const auto expert = import.draft.count("model.moe.ffn_hidden_size");
  if (width && expert.value_or(0) > 0 && *width % *expert == 0) {
    import.draft.set(
        "model.moe.shared", *width / *expert,
        derived_from(*import.keys.find(source), fmt::format("{} / {}", *width, *expert)));
  } else if (width && *width > 0) {
    leave_out(import, source, Effect::large,
              "a scenario counts shared experts of the width of the routed ones");
  }
}

void put_node_limit(Draft& draft, const SourceItem* source, std::optional<std::int64_t> chosen,
                    std::optional<std::int64_t> groups) {
  if (groups && chosen && *chosen < *groups) {
    draft.set(
        "model.moe.node_limit", *chosen,
        Origin{OriginKind::assumed, source->where, source->shown,
               fmt::format("each of the {} groups of experts on a node of its own", *groups)});
  }
}

std::string_view first_of(const Import& import, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (import.keys.find(name) != nullptr) {
      return name;
    }
  }
  return *names.begin();
}

void leave_out(Import& import, std::string_view path, Effect effect, std::string why,
               std::string_view states) {
  const SourceItem* item = import.keys.take(path);
  if (item == nullptr) {
    item = import.keys.find(path);
  }
  if (item == nullptr) {
    return;
  }
  for (const LeftOutKey& known : import.left_out) {
    if (known.where == item->where && known.key == item->shown) {
      return;
    }
  }
  import.left_out.push_back({item->where, item->shown, value_text(item->value), effect,
                             std::move(why), std::string(states)});
}

}  // namespace orrery::import_config
