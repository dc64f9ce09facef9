#pragma once

// A filter of trace events: keeps those of the GPU, the calls that launched them and the
// annotations.
//
// Memory: 64 bytes per activity and 16 per launch; names and groups once.

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/answer/trace/gpu_activity.hpp"

namespace orrery::trace {

class ActivityCollector {
 public:
  void add(const TraceEvent& event);

  [[nodiscard]] std::size_t activities() const { return trace_.activities.size(); }

  [[nodiscard]] std::size_t launches() const { return launches_.size(); }

  // Joins launches and activities, and sorts. The collector is used up.
  [[nodiscard]] GpuTrace finish(std::string file, TraceFacts facts);

 private:
  [[nodiscard]] bool is_on_gpu(const TraceEvent& event) const;
  void add_activity(const TraceEvent& event);
  void add_annotation(const TraceEvent& event);
  void add_metadata(const TraceEvent& event);
  std::uint32_t name_of(const std::string& name);
  std::uint32_t group_of(const TraceEvent& event);
  std::uint32_t device_of(const TraceEvent& event);

  struct Launch {
    std::int64_t correlation = 0;
    std::int64_t begin = 0;
  };

  GpuTrace trace_;
  std::vector<std::int64_t> correlations_;  // by activity; -1: none
  std::vector<Launch> launches_;
  std::vector<Span> loading_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::map<CommunicationGroup, std::uint32_t> groups_;
  std::map<std::string, std::uint32_t> devices_;
  std::map<std::string, bool> gpu_processes_;                        // by what metadata calls them
  std::map<std::pair<std::string, std::string>, bool> gpu_threads_;  // likewise
};

}  // namespace orrery::trace
