#include "calibrate/fit/stack_fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/fit/least_squares.hpp"
#include "sim/base/check.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/flow_text.hpp"

namespace orrery::fit {

std::span<const FitKey> fit_keys() {
  static const std::vector<FitKey> keys = [] {
    std::vector<FitKey> fitted;
    for (const hardware::StackCoefficient& row : hardware::stack_coefficients()) {
      if (row.fit) {
        fitted.emplace_back(row);
      }
    }
    return fitted;
  }();
  return keys;
}

const FitKey* find_fit_key(std::string_view key) {
  const std::span<const FitKey> keys = fit_keys();
  const auto found =
      std::ranges::find_if(keys, [key](const auto& entry) { return entry.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

double to_scale(const FitKey& key, double value) {
  return key.scale == Scale::linear ? value : std::log(value + key.offset);
}

double from_scale(const FitKey& key, double u) {
  const double value = key.scale == Scale::linear ? u : std::exp(u) - key.offset;
  return std::clamp(value, key.lower, key.upper);
}

std::string value_text(const FitKey& key, double value) {
  const hardware::Unit unit = key.coefficient->unit();
  if (unit != hardware::Unit::seconds) {
    return fmt::format("{:.3g}{}", value, unit == hardware::Unit::bytes ? "B" : "");
  }
  if (value < kNano) {
    return "0us";
  }
  if (value >= 1.0) {
    return fmt::format("{:.3g}s", value);
  }
  return value >= kMilli ? fmt::format("{:.3g}ms", value / kMilli)
                         : fmt::format("{:.3g}us", value / kMicro);
}

namespace {

using Eigen::Index;
using Eigen::VectorXd;
using hardware::SoftwareProfile;

constexpr double kNoEffect = 1e-4;
constexpr double kRefused = 1.0;  // residual of a row without a prediction

double predict_one(const Observation& row, const SoftwareProfile& profile) {
  validate::ReadyRun run = row.run;
  run.software = &profile;
  const auto outcome =
      validate::simulate_run(run, {.timeline = false, .operations = false, .ledger = false});
  const auto* simulated = std::get_if<validate::SimulatedRun>(&outcome);
  return simulated == nullptr ? 0.0 : in_seconds(to_seconds(simulated->step.step_time));
}

std::vector<std::vector<double>> predict_all(const Rows& rows,
                                             const std::vector<SoftwareProfile>& profiles,
                                             int threads) {
  std::vector<std::vector<double>> result(profiles.size(), std::vector<double>(rows.size()));
  const std::size_t n = rows.size();
  parallel_for(static_cast<std::int64_t>(n * profiles.size()), {.threads = threads, .grain = 4},
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                      ++i) {
                   result[i / n][i % n] = predict_one(*rows[i % n], profiles[i / n]);
                 }
               });
  return result;
}

VectorXd weights_of(const Rows& rows) {
  std::map<std::string, double> sizes;
  for (const Observation* row : rows) {
    sizes[row->stack] += 1.0;
  }
  const double share = static_cast<double>(rows.size()) / static_cast<double>(sizes.size());
  VectorXd weights(static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    weights[static_cast<Index>(i)] = share / sizes[rows[i]->stack];
  }
  return weights;
}

// From points of the search to profiles.
struct Coordinates {
  std::vector<const FitKey*> keys;
  std::vector<double> centre;  // on the scale of each key
  SoftwareProfile start;

  [[nodiscard]] double z(std::size_t k, double value) const {
    return (to_scale(*keys[k], value) - centre[k]) / keys[k]->sigma;
  }

  [[nodiscard]] double value(std::size_t k, double z) const {
    return from_scale(*keys[k], centre[k] + z * keys[k]->sigma);
  }

  [[nodiscard]] SoftwareProfile profile(const VectorXd& z) const {
    const Source source{SourceKind::measured, "fit to measured steps"};
    SoftwareProfile result = start;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      keys[k]->set(result, value(k, z[static_cast<Index>(k)]), source);
    }
    return result;
  }
};

Coordinates coordinates_of(const SoftwareProfile& start, const SoftwareProfile& centre,
                           const FitSettings& settings) {
  Coordinates coordinates{.keys = settings.keys, .centre = {}, .start = start};
  for (const FitKey* key : settings.keys) {
    const double value = std::clamp(key->get(centre), key->lower, key->upper);
    coordinates.centre.push_back(to_scale(*key, value));
  }
  return coordinates;
}

VectorXd residuals_of(const Rows& rows, const std::vector<double>& predicted) {
  VectorXd residuals(static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    residuals[static_cast<Index>(i)] =
        predicted[i] > 0.0 ? std::log(predicted[i] / rows[i]->measured) : kRefused;
  }
  return residuals;
}

LeastSquares problem_of(const Rows& rows, const Coordinates& coordinates,
                        const FitSettings& settings) {
  LeastSquares problem;
  problem.residuals = [&rows, &coordinates, &settings](const std::vector<VectorXd>& points) {
    std::vector<SoftwareProfile> profiles;
    profiles.reserve(points.size());
    for (const VectorXd& point : points) {
      profiles.push_back(coordinates.profile(point));
    }
    std::vector<VectorXd> residuals;
    for (const std::vector<double>& predicted : predict_all(rows, profiles, settings.threads)) {
      residuals.push_back(residuals_of(rows, predicted));
    }
    return residuals;
  };
  problem.weights = weights_of(rows);
  const auto n = static_cast<Index>(coordinates.keys.size());
  problem.lower.resize(n);
  problem.upper.resize(n);
  for (Index k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    problem.lower[k] = coordinates.z(i, coordinates.keys[i]->lower);
    problem.upper[k] = coordinates.z(i, coordinates.keys[i]->upper);
  }
  problem.softness = settings.softness;
  problem.prior = settings.prior;
  problem.axis_search = settings.axis_search;
  return problem;
}

// Relative on a logarithmic scale: d value / value = sigma dz (value + offset) / value.
double error_of(const FitKey& key, double value, double deviation) {
  if (key.scale == Scale::linear || value <= 0.0) {
    return deviation * key.sigma;
  }
  return deviation * key.sigma * (value + key.offset) / value;
}

Bound bound_of(const LeastSquares& problem, const VectorXd& z, Index k) {
  constexpr double kNear = 1e-6;
  if (z[k] <= problem.lower[k] + kNear) {
    return Bound::lower;
  }
  return z[k] >= problem.upper[k] - kNear ? Bound::upper : Bound::none;
}

}  // namespace

std::vector<double> predict(const Rows& rows, const SoftwareProfile& profile, int threads) {
  return predict_all(rows, {profile}, threads).front();
}

std::vector<const FitKey*> usable_keys(const SoftwareProfile& profile) {
  std::vector<const FitKey*> keys;
  for (const FitKey& key : fit_keys()) {
    const bool unused =
        key.key == "score_passes" && profile.attention == hardware::AttentionImplementation::fused;
    const bool left_out = key.neutral && key.get(profile) == *key.neutral;
    if (!unused && !left_out) {
      keys.push_back(&key);
    }
  }
  return keys;
}

StackFit fit_stack(const Rows& rows, const SoftwareProfile& start, const SoftwareProfile& centre,
                   const FitSettings& settings) {
  ORRERY_CHECK(!rows.empty(), "a fit needs rows");
  const Coordinates coordinates = coordinates_of(start, centre, settings);
  const LeastSquares problem = problem_of(rows, coordinates, settings);
  VectorXd first(static_cast<Index>(settings.keys.size()));
  for (std::size_t k = 0; k < settings.keys.size(); ++k) {
    const FitKey& key = *settings.keys[k];
    first[static_cast<Index>(k)] =
        coordinates.z(k, std::clamp(key.get(start), key.lower, key.upper));
  }
  const Minimum minimum = minimise(problem, first);
  const VectorXd deviation = posterior_deviation(problem, minimum);

  StackFit fit{.profile = coordinates.profile(minimum.z)};
  fit.predicted = predict(rows, fit.profile, settings.threads);
  fit.objective = minimum.objective;
  fit.points = minimum.points;
  for (std::size_t k = 0; k < settings.keys.size(); ++k) {
    const auto i = static_cast<Index>(k);
    const FitKey& key = *settings.keys[k];
    FittedCoefficient fitted{
        .key = &key, .start = key.get(start), .fitted = coordinates.value(k, minimum.z[i])};
    fitted.error = error_of(key, fitted.fitted, deviation[i]);
    fitted.effect = minimum.jacobian.col(i).norm() / std::sqrt(static_cast<double>(rows.size()));
    const bool matters = fitted.effect > kNoEffect;
    fitted.bound = matters ? bound_of(problem, minimum.z, i) : Bound::none;
    fitted.identified = matters && (fitted.bound != Bound::none || deviation[i] < kUnidentified);
    fit.coefficients.push_back(fitted);
  }
  return fit;
}

namespace {

using yaml::in_quotes;

constexpr std::size_t kColumns = 100;

struct Block {
  std::size_t first = 0;
  std::size_t end = 0;  // one past the last line
};

// The lines of a top-level key; empty when there is no such key.
Block block_of(const std::vector<std::string>& lines, std::string_view key) {
  const std::string head = fmt::format("{}:", key);
  const auto found = std::ranges::find_if(
      lines, [&head](const std::string& line) { return line.starts_with(head); });
  Block block{static_cast<std::size_t>(found - lines.begin()), 0};
  if (found == lines.end()) {
    return {lines.size(), lines.size()};
  }
  block.end = block.first + 1;
  while (block.end < lines.size() && lines[block.end].starts_with(" ")) {
    ++block.end;
  }
  return block;
}

// With the comment above it.
void erase_block(std::vector<std::string>& lines, std::string_view key) {
  Block block = block_of(lines, key);
  while (block.first < block.end && block.first > 0 && lines[block.first - 1].starts_with("#")) {
    --block.first;
  }
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
              lines.begin() + static_cast<std::ptrdiff_t>(block.end));
}

// A double-quoted scalar folded at blanks.
std::vector<std::string> citation_lines(std::string_view citation) {
  const std::string text = "  citation: " + in_quotes(citation);
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', text.find_first_not_of(' ', at));
    end = std::min(end, text.size());
    const std::string word = text.substr(at, end - at);
    const bool quote_open = lines.empty() && line.find('"') == std::string::npos;
    if (line.size() + word.size() > kColumns && !quote_open) {
      lines.push_back(line);
      line = "    " + word.substr(word.find_first_not_of(' '));
    } else {
      line += word;
    }
    at = end;
  }
  lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

std::vector<std::string> lines_for(const NewValue& value) {
  std::vector<std::string> lines = {fmt::format("{}:", value.key),
                                    fmt::format("  value: {}", value.value),
                                    fmt::format("  source: {}", value.source)};
  for (std::string& line : citation_lines(value.citation)) {
    lines.push_back(std::move(line));
  }
  if (value.residual > 0.0) {
    lines.push_back(fmt::format("  residual: {:.3g}", value.residual));
  }
  return lines;
}

}  // namespace

std::string with_name(std::string_view file, std::string_view name) {
  std::vector<std::string> lines = lines_of(file);
  const Block block = block_of(lines, "name");
  const std::string line = "name: " + in_quotes(name);
  if (block.first < lines.size()) {
    lines[block.first] = line;
  } else {
    lines.push_back(line);
  }
  erase_block(lines, "aliases");
  erase_block(lines, "default_for");
  return joined(lines);
}

std::string with_new_values(std::string_view file, const std::vector<NewValue>& values) {
  std::vector<std::string> lines = lines_of(file);
  for (const NewValue& value : values) {
    const Block block = block_of(lines, value.key);
    const std::vector<std::string> fresh = lines_for(value);
    const auto at = lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
                                lines.begin() + static_cast<std::ptrdiff_t>(block.end));
    lines.insert(at, fresh.begin(), fresh.end());
  }
  return joined(lines);
}

std::string explanation_in(std::string_view file, std::string_view key) {
  const std::vector<std::string> lines = lines_of(file);
  const Block block = block_of(lines, key);
  std::string text;
  for (std::size_t i = block.first; i < block.end; ++i) {
    const std::string& line = lines[i];
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    text += (text.empty() ? "" : " ") + line.substr(start);
  }
  const std::size_t fitted = text.find("fitted to ");
  const std::size_t close = text.find("): ", fitted == std::string::npos ? 0 : fitted);
  if (fitted == std::string::npos || close == std::string::npos) {
    return {};
  }
  const std::size_t from = close + 3;
  return text.substr(from, std::min(text.find('"', from), text.size()) - from);
}

}  // namespace orrery::fit
