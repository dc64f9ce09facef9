#pragma once

// Failures of a fleet from its Xid errors: kernel logs of hosts with NVIDIA GPUs, or a table of
// DCGM's metric (DCGM_FI_DEV_XID_ERRORS), as a preset of failures.
//
//   rate = n / (nodes * span),  95 %: [chi2(0.025, 2n) / 2, chi2(0.975, 2n + 2) / 2] in place of n
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|-----------------
// n      | failures: Xids of one host within kSameFailure are one, by the | 1    | logs
//        | first that is a failure of its own                             |      |
// nodes  | hosts whose logs these are, those without an error too         | 1    | the caller
// span   | time that the logs cover                                       | s    | dates, or caller
//
// An Xid alone does not take a node away: 13, 31, 43, 68 and 109 are errors of the application
// (NVIDIA's k8s-device-plugin passes over them), 45 follows another one, 63 and 92 report what was
// repaired. These are counted and named, and no failures.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/imported.hpp"

namespace orrery::import_config {

inline constexpr Seconds kSameFailure = hours(1.0);

// A kernel log with a line of an Xid, or CSV with a column of them.
[[nodiscard]] bool is_xid_log(std::string_view text);

struct XidCount {
  int xid = 0;
  std::string name;
  std::int64_t count = 0;
  bool known = true;       // has a row in the table
  bool takes_node = true;  // else the job goes on with it after a restart
};

struct XidFailures {
  std::int64_t events = 0;            // Xids in all, repeats included
  std::int64_t repeats = 0;           // that belong to a failure counted already
  std::vector<XidCount> failures;     // the most frequent first
  std::vector<XidCount> application;  // of the application
  std::vector<XidCount> reports;      // no failures: repairs, consequences
  std::int64_t hosts = 0;             // that have dated lines
  std::optional<std::int64_t> nodes;  // as stated
  Seconds span;
  bool span_stated = false;
  bool only_xids = true;  // no dated line tells of anything else, so that dates tell no span

  [[nodiscard]] std::int64_t total() const;
};

struct XidOptions {
  std::optional<std::int64_t> nodes = std::nullopt;
  std::optional<Seconds> span = std::nullopt;
};

// What the files hold. What is still to be stated (nodes, span) is an error with the option.
[[nodiscard]] std::optional<XidFailures> failures_by_xid(std::span<const ConfigFile> files,
                                                         const XidOptions& options,
                                                         Diagnostics& diagnostics);

// orrery-preset/1 with node_rate and causes.
[[nodiscard]] std::string preset_of(const XidFailures& found, const std::string& name);

// A row per cause with its rate and mean time between failures: for people, and as JSON
// (orrery-xids/1).
[[nodiscard]] std::string xid_report(const XidFailures& found);
[[nodiscard]] std::string xid_report_json(const XidFailures& found);

}  // namespace orrery::import_config
