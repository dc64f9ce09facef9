// Rules for fleets with lemons and repairs, and for recovery times by the size of the job.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/base/text.hpp"
#include "sim/run/recovery_spec.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/fleet_case.hpp"

namespace orrery::validate {

namespace {

// --- AIReSim's process -----------------------------------------------------------------------

bool asks_fleet(const Case& asked) {
  return asked.in.number({"job_size"}) && asked.in.time({"job_length"}) && asked.in.node_rate();
}

bool wants_time(const Case& asked) {
  return in_unit(figure(seconds(1.0)), asked.unit).has_value() && !asked.unit.empty();
}

Figures fleet(Case& asked) {
  CaseInputs& in = asked.in;
  FleetCase run;
  run.job = static_cast<std::int64_t>(in.need({"job_size"}));
  run.length = in.need_time({"job_length"});
  run.rate = in.need_node_rate();
  run.standbys = static_cast<std::int64_t>(in.number({"warm_standbys"}).value_or(0.0));
  const double pools =
      in.number({"working_pool"}).value_or(0.0) + in.number({"spare_pool"}).value_or(0.0);
  run.selected =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(pools) - run.job - run.standbys);
  run.bad_share = in.number({"bad_fraction", "bad_share"}).value_or(0.0);
  run.bad_times = 1.0 + in.number({"bad_multiplier"}).value_or(0.0);  // on top of the base rate
  run.recovery = in.time({"recovery"}).value_or(Seconds{});
  run.selection = in.time({"host_selection", "selection"}).value_or(Seconds{});
  run.first_repair = in.time({"auto_repair", "repair"}).value_or(Seconds{});
  run.first_fails = in.number({"auto_fail"}).value_or(0.0);
  run.escalates = in.number({"p_auto_to_manual"}).value_or(0.0);
  run.manual_repair = in.time({"manual_repair"}).value_or(Seconds{});
  run.manual_fails = in.number({"manual_fail"}).value_or(0.0);
  const auto times = in.complete() ? simulate_fleet(run, asked.threads) : std::nullopt;
  if (!times) {
    return {};
  }
  asked.notes.push_back(times->note);
  return {wants_time(asked) ? figure(times->total) : figure(times->trained)};
}

// --- recovery by number of GPUs -----------------------------------------------------------------

// Words of a preset that the quantity says too.
int likeness(const Case& asked, std::string_view text) {
  constexpr std::size_t kShortest = 4;
  int count = 0;
  std::string word;
  for (const char c : lower_case(text) + " ") {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter) {
      word += c;
      continue;
    }
    count += word.size() >= kShortest && asked.says(word) ? 1 : 0;
    word.clear();
  }
  return count;
}

struct Candidate {
  std::string_view name;
  std::string_view summary;
  std::vector<const run::GpuCurve*> curves;
};

std::vector<Candidate> candidates(const Case& asked) {
  std::vector<Candidate> list;
  if (asked.says_one({"communicator", "nccl", "init", "rendezvous", "process group"})) {
    for (const run::CommunicatorPreset& preset : run::communicator_presets()) {
      list.push_back({preset.name, preset.summary, {&preset.curve}});
    }
    return list;
  }
  for (const run::RecoveryPreset& preset : run::recovery_presets()) {
    Candidate candidate{preset.name, preset.summary, {}};
    for (const run::GpuCurve& curve : preset.curves) {
      if (!curve.empty()) {
        candidate.curves.push_back(&curve);
      }
    }
    if (!candidate.curves.empty()) {
      list.push_back(std::move(candidate));
    }
  }
  return list;
}

std::vector<double> sizes_of(const CaseInputs& in) {
  const std::vector<double> list = in.list({"gpus", "ranks"});
  if (!list.empty()) {
    return list;
  }
  const auto one = in.gpus();
  return one ? std::vector<double>{*one} : std::vector<double>{};
}

bool asks_restart(const Case& asked) {
  return asked.says_one({"restart", "downtime", "communicator", "nccl", "init", "rendezvous"}) &&
         !sizes_of(asked.in).empty() && sizes_of(asked.in).size() == asked.wanted &&
         !asked.in.time({"mtbf", "M", "stall", "window", ""});
}

Figures restart(Case& asked) {
  const Candidate* best = nullptr;
  int score = 0;
  const std::vector<Candidate> list = candidates(asked);
  for (const Candidate& candidate : list) {
    const int found = 2 * likeness(asked, candidate.name) + likeness(asked, candidate.summary);
    if (found > score) {
      best = &candidate;
      score = found;
    }
  }
  if (best == nullptr) {
    asked.reason = "no preset of recovery times by GPUs has such a name";
    return {};
  }
  asked.notes.push_back("preset " + std::string(best->name));
  Figures times;
  for (const double gpus : sizes_of(asked.in)) {
    Seconds time;
    for (const run::GpuCurve* curve : best->curves) {
      time += run::value_at(*curve, std::max(gpus, 1.0));
    }
    times.push_back(figure(time));
  }
  return times;
}

constexpr std::array<CaseRule, 2> kFleetRules = {{
    {"fleet with repairs", asks_fleet, fleet},
    {"recovery by GPUs", asks_restart, restart},
}};

}  // namespace

std::span<const CaseRule> fleet_rules() {
  return kFleetRules;
}

}  // namespace orrery::validate
