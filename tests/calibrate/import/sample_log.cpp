#include "tests/calibrate/import/sample_log.hpp"

#include <fmt/core.h>

#include "tests/checkout.hpp"

namespace orrery::calibration_import::testing {

std::string fitted(double value, int width) {
  int digits = 1;
  for (double limit = 10.0; value >= limit; limit *= 10.0) {
    ++digits;
  }
  const int decimals = digits < width - 2 ? 2 : (digits < width - 1 ? 1 : 0);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string place_text(const SampleLog& log, const SampleRow& row) {
  const double algbw = static_cast<double>(row.size) / row.time / 1000.0;
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", fitted(row.time, 7), fitted(algbw, 6),
                     fitted(algbw * log.factor, 6), 0);
}

std::string head_text(const SampleLog& log) {
  std::string text = "# nccl-tests version 2.17.1 nccl-headers=22707 nccl-library=22809\n";
  text += fmt::format("# Collective test starting: {}\n", log.program);
  text +=
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: "
      "20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n";
  const std::int64_t on_host = log.ranks / log.hosts;
  for (std::int64_t rank = 0; rank < log.ranks; ++rank) {
    text += fmt::format(
        "#  Rank {:2d} Group  0 Pid {:6d} on    node-{} device {:2d} [0000:{:02x}:00] "
        "{}\n",
        rank, 4000 + rank, rank / on_host, rank % on_host, 16 + rank % on_host, log.gpu);
  }
  return text;
}

std::string table_text(const SampleLog& log) {
  std::string text =
      "#\n#                                                       out-of-place          "
      "            in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)       \n";
  for (const SampleRow& row : log.rows) {
    const std::string place = place_text(log, row);
    text += fmt::format("{:12d}  {:12d}  {:>8}  {:>6}  {:>6}{}{}\n", row.size,
                        row.size / log.element, log.type, log.redop, -1, place, place);
  }
  return text;
}

std::string tail_text() {
  return "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 201.3 \n#\n";
}

std::string log_text(const SampleLog& log) {
  return head_text(log) + table_text(log) + tail_text();
}

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    result += prefix + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

std::vector<CollectiveLog> read_text(const std::string& text, Diagnostics& diagnostics,
                                     const std::string& name) {
  Findings findings;
  read_log({name, text}, findings, diagnostics);
  return findings.collectives;
}

hardware::ProfileSearch shipped_search() {
  return {{std::string(kSourceDir) + "/scenarios/profiles"}};
}

}  // namespace orrery::calibration_import::testing
