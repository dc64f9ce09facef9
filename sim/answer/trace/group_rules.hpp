#pragma once

// The rules that assign a collective to a parallel axis: tensor, context, expert, pipeline or data.
//
//   the axis is the first of these that answers:
//     1. what the user says of the group:        --group NAME=tensor
//     2. the description of its process group:   words of Megatron-Core and of device meshes
//     3. the layout: of the axes that use the operation, those with a degree above one; if several,
//        those whose degree is the size of the group
//     4. the first of the axes that use the operation: a guess, and counted as one
//
// symbol      | meaning                                                      | origin
// ------------|--------------------------------------------------------------|----------
// description | as PyTorch writes it: TENSOR_MODEL_PARALLEL_GROUP, mesh_tp    | trace
// size        | ranks of the group                                           | trace
// degrees     | of the layout that the trace is compared with                | scenario

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/answer/trace/kernel_rules.hpp"

namespace orrery::trace {

enum class Axis : std::uint8_t { tensor, context, expert, pipeline, data, count_ };

inline constexpr std::size_t kAxes = static_cast<std::size_t>(Axis::count_);

inline constexpr std::array<std::string_view, kAxes> kAxisNames = {"tensor", "context", "expert",
                                                                   "pipeline", "data"};

[[nodiscard]] constexpr std::string_view to_string(Axis axis) {
  return kAxisNames[static_cast<std::size_t>(axis)];
}

[[nodiscard]] std::optional<Axis> axis_named(std::string_view name);

// Degrees by axis.
using Degrees = std::array<std::int64_t, kAxes>;

// A group of ranks as the trace describes it; empty where it does not.
struct CommunicationGroup {
  std::string name;
  std::string description;
  std::string ranks;
  std::optional<std::int64_t> size;

  friend auto operator<=>(const CommunicationGroup&, const CommunicationGroup&) = default;
};

struct GroupRule {
  std::string_view word;
  Axis axis = Axis::data;
  std::string_view where;
};

// Read from the top, as the rules of kernels.
[[nodiscard]] std::span<const GroupRule> group_rules();

// Axes that use an operation, the usual one first.
[[nodiscard]] std::span<const Axis> axes_of(Operation operation);

// What the user says: groups whose name or description contains `word`.
struct GroupChoice {
  std::string word;
  Axis axis = Axis::data;
};

struct AxisAnswer {
  Axis axis = Axis::data;
  bool guessed = false;
};

[[nodiscard]] AxisAnswer axis_of(Operation operation, const CommunicationGroup& group,
                                 const std::optional<Degrees>& degrees,
                                 std::span<const GroupChoice> choices);

// The same for many activities with few groups.
class AxisFinder {
 public:
  AxisFinder(std::optional<Degrees> degrees, std::vector<GroupChoice> choices)
      : degrees_(degrees), choices_(std::move(choices)) {}

  const AxisAnswer& answer(Operation operation, const CommunicationGroup& group);

  // One for each operation and group that was asked for.
  [[nodiscard]] const std::map<std::pair<Operation, CommunicationGroup>, AxisAnswer>& answers()
      const {
    return answers_;
  }

 private:
  std::optional<Degrees> degrees_;
  std::vector<GroupChoice> choices_;
  std::map<std::pair<Operation, CommunicationGroup>, AxisAnswer> answers_;
};

}  // namespace orrery::trace
