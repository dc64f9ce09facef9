#include "sim/answer/plan/search/followers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace orrery::plan {

namespace {

using scenario::KeyValue;

constexpr std::array<std::string_view, 5> kDegrees = {
    "layout.context", "layout.pipeline", "layout.expert", "layout.virtual_stages", "batch.micro"};
constexpr std::string_view kRecompute = "recompute";
constexpr std::array<std::string_view, 3> kMethods = {"none", "selective", "full"};

class Turn {
 public:
  Turn(const scenario::ScenarioTemplate& base, const KeyValue& turned, StepEstimator& estimator,
       const std::optional<hardware::ProfileSearch>& search)
      : base_(base), turned_(turned), estimator_(estimator), search_(search) {}

  // Nothing where it breaks a rule or does not fit.
  [[nodiscard]] std::optional<SimTime> step_time(const std::vector<KeyValue>& followers) {
    std::vector<KeyValue> changes = {turned_};
    changes.insert(changes.end(), followers.begin(), followers.end());
    Diagnostics ignored;
    const auto scenario = base_.with(changes, ignored);
    if (!scenario) {
      return std::nullopt;
    }
    const auto estimate = estimator_.estimate(*scenario, changes, search_, ignored);
    return estimate && estimate->verdict == Verdict::fits ? std::optional(estimate->step_time)
                                                          : std::nullopt;
  }

  // Of one key each, at its neighbouring values.
  [[nodiscard]] std::vector<KeyValue> neighbours() const {
    std::vector<KeyValue> found;
    Diagnostics ignored;
    const auto scenario = base_.with({}, ignored);
    if (!scenario) {
      return found;
    }
    for (const std::string_view key : kDegrees) {
      const auto text = key != turned_.key ? scenario::value_of(*scenario, key) : std::nullopt;
      std::int64_t value = 0;
      if (!text ||
          std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) {
        continue;
      }
      for (const std::int64_t next : {value * 2, value % 2 == 0 ? value / 2 : 0, value * 4}) {
        if (next > 0) {
          found.push_back({std::string(key), std::to_string(next), {}});
        }
      }
    }
    const auto method = scenario::value_of(*scenario, kRecompute);
    for (const std::string_view next : kMethods) {
      if (turned_.key != kRecompute && method && *method != next) {
        found.push_back({std::string(kRecompute), std::string(next), {}});
      }
    }
    return found;
  }

 private:
  const scenario::ScenarioTemplate& base_;
  const KeyValue& turned_;
  StepEstimator& estimator_;
  const std::optional<hardware::ProfileSearch>& search_;
};

}  // namespace

TurnedKey turn_key(const scenario::ScenarioTemplate& base, const KeyValue& turned,
                   StepEstimator& estimator, const std::optional<hardware::ProfileSearch>& search,
                   const std::stop_token& stop) {
  Turn turn(base, turned, estimator, search);
  TurnedKey result;
  result.stands_alone = turn.step_time({}).has_value();
  if (result.stands_alone) {
    return result;
  }
  const std::vector<KeyValue> neighbours = turn.neighbours();
  std::vector<Followers> two;
  for (std::size_t i = 0; i < neighbours.size() && !stop.stop_requested(); ++i) {
    if (const auto time = turn.step_time({neighbours[i]})) {
      result.followers.push_back({{neighbours[i]}, *time});
    }
  }
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    for (std::size_t k = i + 1; k < neighbours.size() && !stop.stop_requested(); ++k) {
      if (neighbours[i].key != neighbours[k].key) {
        if (const auto time = turn.step_time({neighbours[i], neighbours[k]})) {
          two.push_back({{neighbours[i], neighbours[k]}, *time});
        }
      }
    }
  }
  const auto faster = [](const Followers& a, const Followers& b) {
    return a.step_time < b.step_time;
  };
  std::stable_sort(result.followers.begin(), result.followers.end(), faster);
  std::stable_sort(two.begin(), two.end(), faster);
  const bool worth =
      !two.empty() &&
      (result.followers.empty() ||
       static_cast<double>(two.front().step_time.ns) <
           (1.0 - kWorthTwo) * static_cast<double>(result.followers.front().step_time.ns));
  result.followers.insert(worth ? result.followers.begin() : result.followers.end(), two.begin(),
                          two.end());
  return result;
}

std::optional<std::int64_t> nearest_value(const scenario::ScenarioTemplate& base,
                                          const scenario::KeyValue& turned) {
  std::int64_t wanted = 0;
  const char* end = turned.value.data() + turned.value.size();
  if (std::from_chars(turned.value.data(), end, wanted).ptr != end || wanted < 1) {
    return std::nullopt;
  }
  constexpr std::int64_t kNear = 8;
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)));
  std::vector<std::int64_t> tried = {below, 2 * below};
  for (std::int64_t away = 1; away <= kNear; ++away) {
    tried.insert(tried.end(), {wanted - away, wanted + away});
  }
  std::erase_if(tried, [wanted](std::int64_t one) { return one < 1 || one == wanted; });
  std::stable_sort(tried.begin(), tried.end(), [wanted](std::int64_t a, std::int64_t b) {
    return std::abs(a - wanted) < std::abs(b - wanted);
  });
  StepEstimator estimator;
  for (const std::int64_t one : tried) {
    const TurnedKey turn = turn_key(base, {turned.key, std::to_string(one), {}}, estimator, {});
    if (turn.stands_alone || !turn.followers.empty()) {
      return one;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::plan
