// Which axis a collective serves: said by the user, the group, the layout, or guessed.

#include "sim/answer/trace/group_rules.hpp"

#include <gtest/gtest.h>

namespace orrery::trace {
namespace {

// tensor, context, expert, pipeline, data
constexpr Degrees kTensorAndData = {8, 1, 1, 1, 4};

TEST(AxisOf, ReadsTheDescriptionsOfMegatronAndOfDeviceMeshes) {
  const auto axis = [](const std::string& description) {
    return axis_of(Operation::all_reduce, {"3", description, "", {}}, {}, {}).axis;
  };
  EXPECT_EQ(axis("TENSOR_MODEL_PARALLEL_GROUP"), Axis::tensor);
  EXPECT_EQ(axis("DATA_PARALLEL_GROUP_WITH_CP"), Axis::data);
  EXPECT_EQ(axis("CONTEXT_PARALLEL_GROUP"), Axis::context);
  EXPECT_EQ(axis("EXPERT_MODEL_PARALLEL_GROUP"), Axis::expert);
  EXPECT_EQ(axis("EXPERT_DATA_PARALLEL_GROUP"), Axis::data);
  EXPECT_EQ(axis("EXPERT_TENSOR_PARALLEL_GROUP"), Axis::tensor);
  EXPECT_EQ(axis("PIPELINE_MODEL_PARALLEL_GROUP"), Axis::pipeline);
  EXPECT_EQ(axis("mesh_dp_shard_cp"), Axis::data);
  EXPECT_EQ(axis("mesh_tp"), Axis::tensor);
}

TEST(AxisOf, TheUserIsHeardFirst) {
  const std::vector<GroupChoice> choices = {{"mesh_tp", Axis::context}, {"7", Axis::expert}};
  EXPECT_EQ(axis_of(Operation::all_reduce, {"1", "mesh_tp", "", {}}, {}, choices).axis,
            Axis::context);
  EXPECT_EQ(axis_of(Operation::all_reduce, {"7", "", "", {}}, {}, choices).axis, Axis::expert);
  // "7" is the name of a group, not a part of one.
  EXPECT_EQ(axis_of(Operation::all_reduce, {"17", "", "", {}}, {}, choices).axis, Axis::data);
}

TEST(AxisOf, TheLayoutLeavesOutAxesOfDegreeOneAndSizesDecide) {
  const auto answer = [](Operation operation, std::optional<std::int64_t> size) {
    return axis_of(operation, {"0", "", "", size}, kTensorAndData, {});
  };
  EXPECT_EQ(answer(Operation::all_gather, 8).axis, Axis::tensor);
  EXPECT_FALSE(answer(Operation::all_gather, 8).guessed);
  EXPECT_EQ(answer(Operation::all_gather, 4).axis, Axis::data);
  EXPECT_EQ(answer(Operation::all_gather, std::nullopt).axis, Axis::data);
  EXPECT_TRUE(answer(Operation::all_gather, std::nullopt).guessed);
}

TEST(AxisOf, WhatNoAxisOfTheLayoutUsesKeepsItsUsualAxis) {
  const AxisAnswer answer = axis_of(Operation::all_to_all, {}, kTensorAndData, {});
  EXPECT_EQ(answer.axis, Axis::expert);
  EXPECT_TRUE(answer.guessed);
  EXPECT_FALSE(axis_of(Operation::broadcast, {}, kTensorAndData, {}).guessed);
}

TEST(AxisOf, EveryRuleOfGroupsIsReached) {
  for (const GroupRule& rule : group_rules()) {
    EXPECT_EQ(axis_of(Operation::other, {"", std::string(rule.word), "", {}}, {}, {}).axis,
              rule.axis)
        << rule.word;
  }
}

}  // namespace
}  // namespace orrery::trace
