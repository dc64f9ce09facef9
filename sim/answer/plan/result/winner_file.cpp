#include "sim/answer/plan/result/winner_file.hpp"

#include <fmt/core.h>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::plan {

namespace {

// "Chosen", or the rank that it came to, or neither.
std::string verdict_on(const Plan& plan, const Proposal& proposal) {
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    if (plan.finalists[i].proposal.tag == proposal.tag) {
      return i == 0 ? "Chosen" : fmt::format("Ranked {}", i + 1);
    }
  }
  return "Considered";
}

// One line above everything, unless a directive for editors stands there.
std::string with_head(std::string text, const Plan& plan, const Proposal& proposal) {
  const std::string head =
      fmt::format("# {} by orrery plan: {} among {} layouts of {}.\n", verdict_on(plan, proposal),
                  best_words(plan.spec.objective), plan.counts.layouts, plan.name);
  const bool directive = text.starts_with("# yaml-language-server");
  const std::size_t at = directive ? text.find('\n') : std::string::npos;
  text.insert(at == std::string::npos ? 0 : at + 1, head);
  return text;
}

bool check(const std::string& text, const Finalist& chosen, const std::filesystem::path& path,
           const hardware::ProfileSearch& search, Diagnostics& diagnostics) {
  auto scenario = scenario::load_text(text, path.string(), diagnostics, search);
  if (!scenario) {
    return false;
  }
  scenario->run.reset();
  scenario->expect.clear();
  evaluate::EvaluateOptions options;
  options.levers = false;
  options.search = search;
  const auto again = evaluate::evaluate(*scenario, options, diagnostics);
  if (!again) {
    return false;
  }
  if (again->step.step_time != chosen.evaluation.step.step_time) {
    diagnostics.error({path.string(), 0, 0}, {},
                      fmt::format("the file gives a step of {} ns, the plan {} ns",
                                  again->step.step_time.ns, chosen.evaluation.step.step_time.ns),
                      "");
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> proposal_file(std::string_view text, const Plan& plan,
                                         const Proposal& proposal,
                                         const std::filesystem::path& path,
                                         Diagnostics& diagnostics) {
  auto edited = scenario::with_keys(text, proposal.changes, diagnostics);
  if (!edited) {
    return std::nullopt;
  }
  *edited = with_head(*std::move(edited), plan, proposal);
  return scenario::load_text(*edited, path.string(), diagnostics) ? std::move(edited)
                                                                  : std::nullopt;
}

std::optional<std::string> winner_file(std::string_view text, const Plan& plan,
                                       const Finalist& chosen, const std::filesystem::path& path,
                                       const hardware::ProfileSearch& search,
                                       Diagnostics& diagnostics) {
  auto edited = scenario::with_keys(text, chosen.proposal.changes, diagnostics);
  if (!edited) {
    return std::nullopt;
  }
  *edited = with_head(*std::move(edited), plan, chosen.proposal);
  return check(*edited, chosen, path, search, diagnostics) ? std::move(edited) : std::nullopt;
}

}  // namespace orrery::plan
