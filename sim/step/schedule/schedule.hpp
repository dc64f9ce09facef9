#pragma once

// Pipeline schedules: the order of forwards and backwards on every device, as lists without times.
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|----------
// p      | devices                                                       | -    | layout
// v      | chunks per device                                             | -    | layout
// m      | micro-batches; dualpipe: of both directions together          | -    | layout
// N      | interleaved: micro-batches per group, default p               | -    | request
// w_r    | forwards of device r before its steady state                  | -    | computed
// F B    | forward, full backward                                        | -    |
// I W    | gradient of the input, gradient of the weights: B = I then W  | -    |
//
// A device runs its list in order and never reorders it; an operation waits for its inputs:
//   F(g,i) for F(g-1,i); B or I (g,i) for B or I (g+1,i), on the last stage for F(g,i); W for I.
// Sources: GPipe arXiv 1811.06965; 1F1B arXiv 2006.09503; interleaved arXiv 2104.04473 and
// Megatron-LM get_schedule_table; breadth-first arXiv 2211.05953; zero bubble arXiv 2401.10241 and
// 2405.15362; DualPipe arXiv 2412.19437. Definitions list by list: docs/schedules.md.
//
// Example: generate({.kind = ScheduleKind::one_f_one_b, .devices = 4, .micro_batches = 8})

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/step/layout/layout_rules.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::schedule {

// The map between virtual stages and the chunks of devices, and the neighbours of each stage.
//
// placement     | stage g of (device r, chunk c)                         | stages G
// --------------|--------------------------------------------------------|---------
// linear        | r                                                      | p
// loop          | c p + r                                                | p v
// vee           | chunk 0: r, chunk 1: 2p - 1 - r                        | 2p
// bidirectional | chunk 0: r, chunk 1: p - 1 - r; each a pipeline of its own | p
//
// symbol | meaning                                      | unit | origin
// -------|----------------------------------------------|------|-------
// p      | devices (pipeline ranks)                     | -    | layout
// v      | chunks per device                            | -    | layout
//
// A forward goes from stage g to g + 1, a backward from g to g - 1. Neighbouring stages on one
// device exchange nothing.

using Placement = layout::StagePlacement;

struct Position {
  int device = 0;
  int chunk = 0;

  friend constexpr bool operator==(Position a, Position b) = default;
};

struct StageMap {
  Placement placement = Placement::loop;
  int devices = 1;
  int chunks = 1;
};

// Stages of one pipeline from the input to the loss.
[[nodiscard]] int stage_count(const StageMap& map);

[[nodiscard]] int virtual_stage(const StageMap& map, Position at);

// Inverse of virtual_stage; `direction` chooses the pipeline of the bidirectional placement.
[[nodiscard]] Position position_of_stage(const StageMap& map, int stage, int direction = 0);

// Where the forward of `at` sends its output; nothing on the last stage.
[[nodiscard]] std::optional<Position> downstream(const StageMap& map, Position at);

// Where the backward of `at` sends its gradient; nothing on the first stage.
[[nodiscard]] std::optional<Position> upstream(const StageMap& map, Position at);

enum class OpKind : std::uint8_t { forward, backward, backward_input, backward_weight };

struct PipelineOp {
  OpKind kind = OpKind::forward;
  bool with_next = false;        // overlapped: this and the next entry of the list run as one step
  std::int16_t chunk = 0;        // of the device; bidirectional: the direction
  std::int32_t micro_batch = 0;  // bidirectional: counted within the direction

  friend constexpr bool operator==(const PipelineOp& a, const PipelineOp& b) = default;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::none;
  int devices = 1;
  int chunks = 1;
  int micro_batches = 1;
  Placement placement = Placement::loop;
  std::vector<std::vector<PipelineOp>> lists;  // by device
  std::vector<int> warm_up;                    // by device: w_r; empty where it has no meaning

  [[nodiscard]] StageMap stage_map() const { return {placement, devices, chunks}; }

  // Micro-batches that pass through every chunk: m, half of it when two directions share them.
  [[nodiscard]] int micro_batches_per_chunk() const {
    return placement == Placement::bidirectional ? micro_batches / 2 : micro_batches;
  }
};

struct ScheduleRequest {
  ScheduleKind kind = ScheduleKind::none;
  int devices = 1;
  int chunks = 1;
  int micro_batches = 1;
  std::optional<int> group_size = {};                // interleaved kinds: N; absent: p
  std::optional<BackwardOrder> backward_order = {};  // gpipe: fifo, looped_bfs: lifo when absent

  friend bool operator==(const ScheduleRequest& a, const ScheduleRequest& b) = default;
};

// Why a schedule does not exist for these numbers.
struct ScheduleRefusal {
  std::string message;  // the rule, then the rule with the numbers
  std::string allowed;  // nearest valid values; may be empty
};

struct ScheduleFamily {
  ScheduleKind kind;
  std::optional<ScheduleRefusal> (*validate)(const ScheduleRequest&);
  Schedule (*generate)(const ScheduleRequest&);  // of a request that validate accepts
};

// All schedules that can be generated, in the order of ScheduleKind.
[[nodiscard]] std::span<const ScheduleFamily> schedule_families();

[[nodiscard]] std::variant<Schedule, ScheduleRefusal> generate(const ScheduleRequest& request);

// Greatest number of chunk activations held at once, by device: from the start of F to the end of B
// or I (what a schedule of full backwards frees), or to the end of B or W (when the inputs of the
// weight gradient are kept as well). Real memory of split backwards lies between the two.
[[nodiscard]] std::vector<int> peak_in_flight(const Schedule& schedule);
[[nodiscard]] std::vector<int> peak_until_weight(const Schedule& schedule);

// F3.1: forward of micro-batch 3 on chunk 1; without the chunk where a device has only one.
[[nodiscard]] std::string to_string(const PipelineOp& op, int chunks);

// One device's list, operations joined by blanks and overlapped ones by +.
[[nodiscard]] std::string to_string(std::span<const PipelineOp> list, int chunks);

// What makes lists invalid that did not come from generate(): every micro-batch needs on every
// chunk one F and either one B, or one I and later one W. Absent: nothing.
[[nodiscard]] std::optional<std::string> find_list_fault(const Schedule& schedule);

}  // namespace orrery::schedule
