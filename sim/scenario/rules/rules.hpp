#pragma once

// Rules that need several keys of a scenario, and the defaults that follow from them.
//
// finish_* complete the specs (defaults that depend on other keys) and report what is wrong;
// warn_about_idle_keys reports keys that are right but have no effect in this scenario. A rule
// stays silent when one of its sections already has errors: it would only repeat them. Rules of
// divisibility are those of layout/ and are not repeated here. Internal to scenario/.

#include <cstdint>
#include <string_view>

#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

// GPUs of one cluster: groups of ranks are enumerated.
inline constexpr std::int64_t kMostGpus = std::int64_t{1} << 24U;

// Whether an error was reported for the key or below it.
[[nodiscard]] bool is_broken(const Diagnostics& diagnostics, std::string_view key);

// An error at the place of the key, in the words of every diagnostic.
void error(Reading& reading, std::string_view key, std::string_view message,
           std::string_view allowed = {});

void finish_model(Reading& reading);
void finish_cluster(Reading& reading);
void finish_layout(Reading& reading);
void finish_step(Reading& reading);
void finish_run(Reading& reading);

void warn_about_idle_keys(Reading& reading);

// What whoever evaluates the scenario would find next: names that no profile has, and a layout that
// does not go with model, cluster and batch. For scenarios with errors, whose reader is then told
// of all at once.
void report_later_errors(Reading& reading);

}  // namespace orrery::scenario
