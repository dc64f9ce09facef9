#pragma once

// Collects trace events for the store. finish() resolves what needs all of them: names of rows,
// flows, slices that never end. Used inside gui/timeline only.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/timeline/store/store_builder.hpp"
#include "sim/trace/event_reader.hpp"
#include "sim/trace/kernel_rules.hpp"

namespace orrery::timeline {

using trace::TraceEvent;

class TraceEvents {
 public:
  void add(const TraceEvent& event);

  [[nodiscard]] std::uint64_t slices() const { return builder_.slices(); }

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

  [[nodiscard]] Category category_of_event(const TraceEvent& event, NameId name);
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
  std::vector<std::optional<trace::KernelKind>> kinds_;  // by name, of GPU work
  std::map<std::string, RowId> processes_;
  // What metadata says, also of processes and threads in which nothing happens: these get no row.
  std::map<std::string, std::string> process_names_;
  std::map<std::string, std::string> process_labels_;
  std::map<std::string, std::int64_t> process_orders_;
  std::map<ThreadKey, std::int64_t> thread_orders_;
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
