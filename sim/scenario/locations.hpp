#pragma once

// Where every key of a scenario stood, by its dotted path. Copies share one table until one of them
// is changed: a sweep copies the scenario for every value, and hardly any key moves.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/diagnostics.hpp"

namespace orrery::scenario {

class Locations {
 public:
  using Map = std::map<std::string, SourceLocation, std::less<>>;

  [[nodiscard]] bool contains(std::string_view key) const { return map_->contains(key); }

  [[nodiscard]] Map::const_iterator find(std::string_view key) const { return map_->find(key); }

  [[nodiscard]] Map::const_iterator lower_bound(std::string_view key) const {
    return map_->lower_bound(key);
  }

  [[nodiscard]] Map::const_iterator begin() const { return map_->begin(); }

  [[nodiscard]] Map::const_iterator end() const { return map_->end(); }

  void set(const std::string& key, SourceLocation where) {
    if (map_.use_count() > 1) {
      map_ = std::make_shared<Map>(*map_);
    }
    map_->insert_or_assign(key, std::move(where));
  }

  // A key that no file states; false where it has a place already.
  bool add(const std::string& key) {
    const bool is_new = !contains(key);
    if (is_new) {
      set(key, {});
    }
    return is_new;
  }

 private:
  std::shared_ptr<Map> map_ = std::make_shared<Map>();
};

}  // namespace orrery::scenario
