#pragma once

// Reads a file of Chrome trace events, as PyTorch (Kineto), Perfetto and `orrery export` write
// them, piece by piece into a store.
//
// event (ph)  | becomes
// ------------|--------------------------------------------------------------------------------
// X           | a slice
// B, E        | a slice; without its end it ends with the trace
// i, I, R     | a mark
// C           | a counter per argument that is a number
// s, t, f     | flows between the innermost slices at their times
// M           | names and order of processes (groups) and threads (rows)
//
// The events are those of sim/answer/trace, from the same reader as `orrery compare`: packed or
// not, exact times, counted here from the first event. A file that is malformed, cut off, too
// large or no
// trace gives one sentence that says where and why; one that cannot be opened throws Error(io).

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gui/timeline/store/store.hpp"
#include "gui/timeline/store/store_builder.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/answer/trace/kernel_rules.hpp"

namespace orrery::timeline {

// Collects trace events for the store. finish() resolves what needs all of them: names of rows,
// flows, slices that never end. Used inside gui/timeline only.

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

  struct Said {
    std::string name;
    std::string label;
    std::optional<std::int64_t> order;
  };

  using ThreadKey = std::pair<std::string, std::string>;

  [[nodiscard]] Category category_of_event(const TraceEvent& event, NameId name);
  RowId process_row(const std::string& process);
  Thread& thread_of(const std::string& process, const std::string& thread);
  void add_metadata(const TraceEvent& event);
  void dress(RowId row, const Said& said);
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
  std::map<std::string, Said> said_of_processes_;
  std::map<ThreadKey, Said> said_of_threads_;
  std::map<ThreadKey, Thread> threads_;
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

struct ReadOptions {
  std::uint64_t most_bytes = std::uint64_t{8} << 30U;
  std::uint64_t most_slices = 50'000'000;
  std::stop_token stop = {};
  Progress progress = {};  // called on the thread that reads; 0 to 1
};

struct ReadResult {
  std::shared_ptr<const Store> store;                 // nothing: see problem and cancelled
  std::shared_ptr<const trace::GpuTrace> activities;  // null: no work of a GPU
  std::string title;
  std::vector<std::string> notes;  // what was left out, one sentence each
  std::string problem;
  bool cancelled = false;
};

[[nodiscard]] ReadResult read_chrome_trace(const std::filesystem::path& path,
                                           const ReadOptions& options);

// A level that shows the trace alone.
[[nodiscard]] Levels levels_of(const ReadResult& trace);

}  // namespace orrery::timeline
