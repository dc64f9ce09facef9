#pragma once

// The sections of the screen of text_report.hpp. Each adds itself to the page, or nothing when the
// evaluation has no content for it. Internal to report/.

#include <functional>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/answer/report/text/text_report.hpp"

namespace orrery::report {

// A share for a column of shares: "62.1%", "3.19%", "<0.01%".
[[nodiscard]] std::string share_text(double share);

// The rows worth a line, largest first, without the empty ones; the last sums up the small ones.
void show_rows(std::vector<LedgerRow> rows, std::size_t most,
               const std::function<void(const LedgerRow&)>& show);

void add_heading(TextPage& page, const Evaluation& evaluation);
void add_memory(TextPage& page, const Evaluation& evaluation, Detail detail);
void add_step(TextPage& page, const Evaluation& evaluation, Detail detail);
void add_network(TextPage& page, const Evaluation& evaluation, Detail detail);
void add_rollout(TextPage& page, const Evaluation& evaluation);
void add_budget(TextPage& page, const Evaluation& evaluation);
void add_run(TextPage& page, const Evaluation& evaluation, Detail detail);

}  // namespace orrery::report
