#include <fmt/core.h>

#include <algorithm>

#include "sim/step/schedule/families.hpp"
#include "sim/step/schedule/list_writer.hpp"

namespace orrery::schedule {

namespace {

int group_size(const ScheduleRequest& request) {
  return request.group_size.value_or(request.devices);
}

// p <= N <= m, and the last group is full or at least p long.
bool valid_group(int devices, int group, int micro_batches) {
  return group >= devices && group <= micro_batches &&
         (micro_batches % group == 0 || micro_batches % group >= devices);
}

std::string nearest_micro_batches(const ScheduleRequest& request) {
  const int group = std::max(group_size(request), request.devices);
  const int m = request.micro_batches;
  int below = std::max(m, group);
  while (below > group && !valid_group(request.devices, group, below)) {
    --below;
  }
  int above = std::max(m, group);
  while (!valid_group(request.devices, group, above)) {
    ++above;
  }
  return below == above ? fmt::format("m = {}", above) : fmt::format("m = {} or {}", below, above);
}

// The group sizes next to the given one that suit m; without any, the nearest m.
std::string nearest_group_sizes(const ScheduleRequest& request) {
  const auto suits = [&](int group) {
    return valid_group(request.devices, group, request.micro_batches);
  };
  const int group = group_size(request);
  int below = std::min(group, request.micro_batches);
  while (below >= request.devices && !suits(below)) {
    --below;
  }
  int above = std::max(group, request.devices);
  while (above <= request.micro_batches && !suits(above)) {
    ++above;
  }
  const bool has_below = below >= request.devices;
  const bool has_above = above <= request.micro_batches && above != below;
  if (has_below && has_above) {
    return fmt::format("N = {} or {}", below, above);
  }
  if (has_below || has_above) {
    return fmt::format("N = {}", has_below ? below : above);
  }
  return nearest_micro_batches(request);
}

Refusal check_groups(const ScheduleRequest& request) {
  const int group = group_size(request);
  const int m = request.micro_batches;
  const int p = request.devices;
  const auto allowed = [&request] {
    return request.group_size ? nearest_group_sizes(request) : nearest_micro_batches(request);
  };
  if (!request.group_size && group > m) {
    return ScheduleRefusal{
        fmt::format("interleaved needs a micro-batch for every stage at least: m = {}, p = {}", m,
                    p),
        allowed()};
  }
  if (group < p || group > m) {
    return ScheduleRefusal{
        fmt::format("group size N must lie in [p, m]: N = {}, p = {}, m = {}", group, p, m),
        allowed()};
  }
  if (!valid_group(p, group, m)) {
    return ScheduleRefusal{
        fmt::format(
            "last micro-batch group (m mod N = {}) is smaller than p: {} mod {} = {}, p = {}",
            m % group, m, group, m % group, p),
        allowed()};
  }
  return std::nullopt;
}

// Megatron's table: groups of N micro-batches (the last may be shorter), each group through all
// chunks before the next. `k` counts passes; backwards take the chunks in reverse.
Pass table_entry(int k, int micro_batches, int chunks, int group) {
  const int first = k / (group * chunks) * group;
  const int length = std::min(group, micro_batches - first);
  const int within = k - first * chunks;
  return {within / length, first + within % length};
}

// `extra` forwards of warm-up beyond the interleaved schedule make room for overlapped steps.
Schedule interleaved(const ScheduleRequest& request, int extra, bool overlapped) {
  Schedule schedule = empty_schedule(request);
  const int v = request.chunks;
  const int m = request.micro_batches;
  const int group = group_size(request);
  const auto forward = [&](int k) { return table_entry(k, m, v, group); };
  const auto backward = [&](int k) {
    const Pass pass = table_entry(k, m, v, group);
    return Pass{v - 1 - pass.chunk, pass.micro_batch};
  };
  for (int r = 0; r < request.devices; ++r) {
    const int warm_up = std::min(m * v, 2 * (request.devices - 1 - r) + (v - 1) * group + extra);
    schedule.lists.push_back(alternate(m * v, warm_up, overlapped, forward, backward));
    schedule.warm_up.push_back(warm_up);
  }
  return schedule;
}

}  // namespace

Refusal validate_interleaved(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.chunks < 2) {
    return ScheduleRefusal{
        fmt::format("interleaved needs virtual stages (v >= 2): v = {}", request.chunks),
        "v = 2, or 1f1b for v = 1"};
  }
  return check_groups(request);
}

Schedule generate_interleaved(const ScheduleRequest& request) {
  return interleaved(request, 0, false);
}

Refusal validate_combined(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.devices > 1 && request.chunks < 2) {
    return ScheduleRefusal{
        fmt::format("combined 1F1B with p > 1 needs virtual stages (v >= 2): p = {}, v = {}",
                    request.devices, request.chunks),
        "v = 2"};
  }
  return check_groups(request);
}

Schedule generate_combined(const ScheduleRequest& request) { return interleaved(request, 1, true); }

}  // namespace orrery::schedule
