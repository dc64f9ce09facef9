// Which samples of a journal make which part of a profile.

#include <map>
#include <set>

#include "calibrate/plan/sweep_cases.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "tests/calibrate/calibration_file.hpp"

namespace orrery::calibrate {
namespace {

TEST_F(CalibrationFile, CollectivesOfTheSameMachineComeFirstAndFunctionalOnesNever) {
  Measurements measurements = planted(0.0);
  PlantedJournal journal(kSeed, 0.0);
  for (const std::int64_t size : {1048576, 16777216, 268435456}) {
    const std::string tail = " bytes=" + std::to_string(size) + " in_place=0";
    journal.add("all_reduce bf16 ranks=8 nodes=1" + tail, 20.0 + static_cast<double>(size) * 5e-6,
                "nccl");
    journal.add("all_reduce bf16 ranks=2 nodes=1" + tail, 500.0, "nccl");
    journal.measurements.samples.back().functional = true;
  }
  auto& samples = measurements.samples;
  samples.insert(samples.end(), journal.measurements.samples.begin(),
                 journal.measurements.samples.end());
  ProfileRequest request;
  request.rig = CollectiveRig{.rig = "here", .nvlink_domain = 8};
  Diagnostics diagnostics;
  const auto gpu = load(write("here.yaml", yaml_of(measurements, request)), diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  ASSERT_TRUE(gpu->collectives);
  ASSERT_EQ(gpu->collectives->tables.size(), 1U);
  EXPECT_EQ(gpu->collectives->tables[0].ranks, 8);
  hardware::NetworkSpec network;
  ASSERT_TRUE(hardware::load_collective_tables(network, shipped_profiles(), kWhere, "collectives",
                                               diagnostics, gpu->collectives));
  EXPECT_EQ(network.tables->tables.front().rig, "here");
  EXPECT_EQ(network.rig, "here");
  EXPECT_GT(network.tables->tables.size(), 1U);
}

// What the plan of collectives measures is what the tables keep: every operation and group, each
// with all of its sizes.
TEST_F(CalibrationFile, EveryPlannedCollectiveComesBackFromTheProfile) {
  Measurements measurements = planted(0.0);
  PlantedJournal journal(kSeed, 0.0);
  const auto us = [](const kernels::KernelCase& call) {
    return 20.0 + static_cast<double>(call.extents[2]) * 5e-6;
  };
  std::map<std::pair<kernels::Operation, std::int64_t>, std::set<std::int64_t>> sizes;
  for (const CollectiveShape& shape : collective_shapes(8, 1)) {
    for (const kernels::KernelCase& call : collective_cases(shape)) {
      journal.add(kernels::to_text(call), us(call) * (call.extents[3] != 0 ? 0.9 : 1.0), "nccl");
      sizes[{call.operation, shape.ranks}].insert(call.extents[2]);
    }
  }
  auto& samples = measurements.samples;
  samples.insert(samples.end(), journal.measurements.samples.begin(),
                 journal.measurements.samples.end());
  ProfileRequest request;
  request.rig = CollectiveRig{.rig = "here", .nvlink_domain = 8};
  Diagnostics diagnostics;
  const auto gpu = load(write("here.yaml", yaml_of(measurements, request)), diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  ASSERT_TRUE(gpu->collectives);
  EXPECT_EQ(gpu->collectives->tables.size(), sizes.size());
  std::size_t planned = 0;
  for (const auto& [key, all] : sizes) {
    planned += all.size();
  }
  std::size_t kept = 0;
  for (const hardware::CollectiveTable& table : gpu->collectives->tables) {
    kept += table.points.size();
    for (const hardware::CollectivePoint& point : table.points) {
      EXPECT_NEAR(in_microseconds(point.time), 20.0 + in_bytes(point.size) * 5e-6, 1e-6);
    }
  }
  EXPECT_EQ(kept, planned);
}

TEST_F(CalibrationFile, ASettlingCurveIsPublished) {
  Measurements measurements = planted(0.0);
  measurements.settling.push_back(
      {.kernel = *kernels::parse_case(kAnchor).kernel,
       .taken_at = "2026-11-20T12:00:00Z",
       .points = {{.since_load = 0.01, .time = 1400.0, .sm_clock = 1980.0, .power = 350.0},
                  {.since_load = 0.5, .time = 1650.5}}});
  const std::string text = yaml_of(measurements);
  EXPECT_NE(text.find("settling:\n  case: \"" + kAnchor +
                      "\"\n  points:\n"
                      "    - {s: 0.01, us: 1400, clk_mhz: 1980, power_w: 350}\n"
                      "    - {s: 0.5, us: 1650.5}\n"),
            std::string::npos);
  Diagnostics diagnostics;
  EXPECT_TRUE(load(write("here.yaml", text), diagnostics)) << to_string(diagnostics);
}

// What drifted is no point of a fit and no exact hit; the profile says that it is missing.
TEST_F(CalibrationFile, DriftedSamplesAreLeftOutAndSaidSo) {
  Measurements measurements = planted(0.0);
  Sample& drifted = measurements.samples.front();
  const std::string text = kernels::to_text(drifted.kernel);
  drifted.drifted = true;
  drifted.times = {1.5 * drifted.times.front()};
  const std::string profile = yaml_of(measurements);
  EXPECT_EQ(profile.find("\"" + text + "\""), std::string::npos);
  EXPECT_NE(profile.find("1 samples are left out: the clock moved around them"), std::string::npos);
}

TEST_F(CalibrationFile, WhatWasMeasuredUnderAConditionFitsNoKernel) {
  Measurements measurements = planted(0.0);
  const std::string before = yaml_of(measurements);
  measurements.samples.push_back(
      under(kAnchor, "beside device_to_host bytes=268435456", 9000.0, 8000.0));
  const std::string after = yaml_of(measurements);
  EXPECT_EQ(before.substr(before.find("fits:"), before.find("derived:") - before.find("fits:")),
            after.substr(after.find("fits:"), after.find("derived:") - after.find("fits:")));
  EXPECT_NE(after.find("d2h_gemm_slowdown: 1.125"), std::string::npos);
}

// Compute that hides a collective is slower where that was measured.
TEST_F(CalibrationFile, TheSlowdownBesideCollectivesIsThatOfTheMachine) {
  Measurements measurements = planted(0.0);
  for (const double us : {8000.0, 9600.0}) {
    measurements.samples.push_back(under(
        kAnchor, "beside all_reduce bf16 ranks=8 nodes=1 bytes=268435456 in_place=0", us, 8000.0));
    Diagnostics diagnostics;
    const auto gpu = load(write("here.yaml", yaml_of(measurements)), diagnostics);
    ASSERT_TRUE(gpu) << to_string(diagnostics);
    ASSERT_TRUE(gpu->collective_slowdown);
    EXPECT_NEAR(gpu->collective_slowdown->value(), us / 8000.0 - 1.0, 1e-9);
    const auto stack = hardware::load_software_profile("megatron-core", shipped_profiles(), kWhere,
                                                       "software", diagnostics);
    ASSERT_TRUE(stack) << to_string(diagnostics);
    const cost::CostModel costs(*gpu, *stack, {});
    EXPECT_NEAR(costs.software().communication_slowdown.value(), us / 8000.0 - 1.0, 1e-9);
    EXPECT_EQ(costs.software().communication_slowdown.kind(), SourceKind::measured);
  }
}

}  // namespace
}  // namespace orrery::calibrate
