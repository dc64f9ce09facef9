#pragma once

// What does one trace event mean for the store? Collects events; finish() resolves what needs all
// of them: names of rows, flows, slices that never end. Used inside gui/timeline only.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/timeline/store_builder.hpp"

namespace orrery::timeline {

// Decimal microseconds as nanoseconds, exact for up to three decimals; nothing when it is no number
// or beyond 73 years.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

// One event, as far as it is read. Identifiers may be numbers or text.
struct TraceEvent {
  char phase = 0;
  std::string name;
  std::string category;
  std::string process;
  std::string thread;
  std::string id;
  std::optional<std::int64_t> time;
  std::optional<std::int64_t> duration;
  std::string argument_name;  // args.name of metadata
  std::optional<std::int64_t> argument_order;
  std::vector<std::pair<std::string, double>> numbers;  // args that are numbers

  void clear();
};

[[nodiscard]] Category category_of(const TraceEvent& event);

class TraceEvents {
 public:
  void add(const TraceEvent& event);

  [[nodiscard]] std::uint64_t slices() const {
    return builder_.slices();
  }

  // Names, order, flows and open slices; then the builder is ready.
  StoreBuilder& finish();

  // Sentences about what was left out.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Thread {
    RowId row = kNoRow;
    std::vector<NewSlice> open;  // B without E
  };

  struct FlowPoint {
    RowId row = kNoRow;
    std::int64_t time = 0;
    char phase = 's';
  };

  struct PendingMark {
    std::int64_t time = 0;
    std::string name;
    std::string process;
    std::string thread;
  };

  using ThreadKey = std::pair<std::string, std::string>;

  RowId process_row(const std::string& process);
  Thread& thread_of(const std::string& process, const std::string& thread);
  void add_metadata(const TraceEvent& event);
  void add_slice(const TraceEvent& event);
  void add_begin_or_end(const TraceEvent& event);
  void add_counter(const TraceEvent& event);
  void finish_counters();
  void finish_flows();
  void finish_marks();
  [[nodiscard]] std::int64_t from_start(std::int64_t time);

  StoreBuilder builder_;
  std::map<std::string, RowId> processes_;
  std::map<std::string, std::string> process_names_;
  std::map<ThreadKey, Thread> threads_;
  std::map<ThreadKey, std::string> thread_names_;
  std::map<ThreadKey, std::vector<Sample>> counters_;  // process, name
  std::map<std::string, std::vector<FlowPoint>> flows_;
  std::vector<PendingMark> marks_;
  std::optional<std::int64_t> start_;
  std::int64_t last_ = 0;
  std::uint64_t without_time_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t unmatched_ends_ = 0;
  std::uint64_t open_ends_ = 0;
};

}  // namespace orrery::timeline
