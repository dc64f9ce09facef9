#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"

#include <fmt/core.h>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

// Lower case, dashes as underscores: configs are named llama3_8b, flavors 8B.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '-' ? '_' : lower_case(c);
  }
  return result;
}

}  // namespace

std::vector<TorchtitanFlavor> torchtitan_flavors() {
  std::vector<TorchtitanFlavor> flavors;
  std::string_view rest = shipped_text("torchtitan.models");
  while (!rest.empty()) {
    std::string_view remark = cut(rest, '\n');
    std::string_view facts = cut(remark, '|');
    const std::string_view model = cut(facts, ' ');
    if (model.empty() || model == "#") {
      continue;
    }
    const std::string_view flavor = cut(facts, ' ');
    flavors.push_back({model, flavor, facts, orrery::trimmed(remark)});
  }
  return flavors;
}

std::optional<TorchtitanFlavor> find_flavor(std::string_view model, std::string_view flavor) {
  std::string wanted = plain(flavor);
  for (const std::string_view suffix : {"_flex", "_varlen", "_irope"}) {
    if (wanted.ends_with(suffix)) {
      wanted.erase(wanted.size() - suffix.size());
    }
  }
  for (const TorchtitanFlavor& known : torchtitan_flavors()) {
    if (known.model == model && plain(known.flavor) == wanted) {
      return known;
    }
  }
  return std::nullopt;
}

std::string known_flavors() {
  std::string text;
  for (const TorchtitanFlavor& known : torchtitan_flavors()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", known.model, known.flavor);
  }
  return text;
}

}  // namespace orrery::import_config
