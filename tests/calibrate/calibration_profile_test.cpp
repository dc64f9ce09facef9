// A profile that was written from a journal, read again, and used.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/profile/build_profile.hpp"
#include "sim/answer/evaluate/compare/compare_calibrations.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/cli.hpp"
#include "sim/scenario/load.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "tests/calibrate/calibration_file.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

TEST_F(CalibrationFile, WrittenAndReadAgainItPredictsTheSame) {
  Diagnostics diagnostics;
  const auto built = build_profile(planted(0.004), {}, shipped_profiles(), diagnostics);
  ASSERT_TRUE(built) << to_string(diagnostics);
  const auto path = write("here.yaml", profile_yaml(*built, {}));
  const auto read = hardware::load_calibration(path, diagnostics);
  ASSERT_TRUE(read) << to_string(diagnostics);
  EXPECT_EQ(read->fingerprint, built->profile.fingerprint);
  EXPECT_EQ(read->id, built->profile.id);
  EXPECT_EQ(read->id, machine_id(planted(0.004).fingerprint));  // as a validation names the machine
  ASSERT_EQ(read->samples.size(), built->profile.samples.size());
  ASSERT_EQ(read->fits.size(), built->profile.fits.size());
  const hardware::KernelTables before = kernel_tables(built->profile);
  const hardware::KernelTables after = kernel_tables(*read);
  for (std::size_t s = 0; s < before.series.size(); ++s) {
    const auto& a = before.series[s];
    const auto& b = after.series[s];
    ASSERT_EQ(a.points.size(), b.points.size());
    for (const std::int64_t m : {1000, 4096, 5000, 300000}) {
      const kernels::KernelCase call{.operation = a.operation,
                                     .role = a.role,
                                     .precision = a.precision,
                                     .extents = {m, 8192, 4096}};
      const Flop work = teraflop(0.3);
      const Bytes moved = bytes(static_cast<double>(m) * kMega);
      const bool by_law = a.operation == kernels::Operation::attention;
      const auto line = [&](const hardware::KernelSeries& series) {
        return by_law ? microseconds(500.0) : cost::line_time(series.line, work, moved);
      };
      const auto first = cost::predict_kernel(a, call, moved, line(a), Seconds{});
      const auto second = cost::predict_kernel(b, call, moved, line(b), Seconds{});
      EXPECT_NEAR(first.time / second.time, 1.0, 1e-12);
      EXPECT_EQ(first.reach, second.reach);
    }
  }
  EXPECT_EQ(profile_yaml(*built, {}), yaml_of(planted(0.004)));
}

TEST_F(CalibrationFile, PlantedLawsComeBackThroughTheWholeChain) {
  Diagnostics diagnostics;
  const auto gpu = load(write("here.yaml", quiet_profile()), diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  EXPECT_EQ(gpu->name, "h200-sxm");
  EXPECT_EQ(gpu->calibration->device, "NVIDIA H200");
  EXPECT_NEAR(in_teraflop_per_second(gpu->attention.forward.value()), 600.0, 3.0);
  EXPECT_NEAR(in_teraflop_per_second(gpu->attention.backward.value()), 480.0, 3.0);
  EXPECT_NEAR(gpu->attention.half_length.value(), 300.0, 10.0);
  EXPECT_NEAR(gpu->attention.head_64->value(), 0.75, 0.01);
  EXPECT_NEAR(gpu->memory_efficiency.value(), 4300.0 / 4800.0, 1e-9);
  EXPECT_NEAR(in_gigabytes_per_second(gpu->host_bandwidth.value()), 56.0, 1e-9);
  EXPECT_EQ(gpu->power_watts.value(), 700.0);
  EXPECT_EQ(gpu->find_gemm(model::Dtype::bf16)->sustained.kind(), SourceKind::measured);
  EXPECT_GT(in_teraflop_per_second(gpu->find_gemm(model::Dtype::bf16)->sustained.value()), 600.0);
  const hardware::KernelSeries* series =
      gpu->kernels->find(kernels::Operation::gemm, kernels::Role::dgrad, kernels::Precision::bf16);
  ASSERT_NE(series, nullptr);
  EXPECT_NEAR(1.0 / series->line.b / kTera, 700.0, 1e-3);
}

model::GemmOp product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.part = model::Part::mlp_up, .m = m, .n = n, .k = k};
}

TEST_F(CalibrationFile, AMeasuredShapeIsAnExactHitAndOthersSayHowFarTheyReach) {
  Diagnostics diagnostics;
  auto gpu = load(write("here.yaml", quiet_profile()), diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  const PlantedLine line;
  const auto hit = cost::predict_gemm(product(4096, 14336, 4096), *gpu);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->reach, cost::Reach::exact);
  EXPECT_NEAR(in_microseconds(hit->time), line("gemm fprop bf16 m=4096 n=14336 k=4096"), 1e-6);
  const auto inside = cost::predict_gemm(product(5120, 10240, 8192), *gpu);
  EXPECT_EQ(inside->reach, cost::Reach::interpolated);
  EXPECT_NEAR(in_microseconds(inside->time) / line("gemm fprop bf16 m=5120 n=10240 k=8192"), 1.0,
              1e-3);
  const auto edge = cost::predict_gemm(product(32768, 10240, 8192), *gpu);
  EXPECT_EQ(edge->reach, cost::Reach::interpolated);
  const auto outside = cost::predict_gemm(product(65536, 10240, 8192), *gpu);
  EXPECT_EQ(outside->reach, cost::Reach::extrapolated);
  EXPECT_GE(outside->residual, inside->residual);
  const auto tiny = cost::predict_gemm(product(8, 8, 64), *gpu);
  EXPECT_GE(tiny->time, gpu->launch_latency.value());
  EXPECT_FALSE(
      cost::predict_gemm({.part = model::Part::attention_scores, .m = 64, .n = 64, .k = 64}, *gpu));
}

// The stack's efficiency divides the time of the kernel, and its gap comes on top.
TEST_F(CalibrationFile, TheStackStaysAFactorOnTopOfTheLibrary) {
  Diagnostics diagnostics;
  const auto gpu = load(write("here.yaml", quiet_profile()), diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  hardware::SoftwareProfile stack = hardware::neutral_stack();
  const Seconds library = cost::predict_gemm(product(4096, 14336, 4096), *gpu)->time;
  const cost::Cost bare = cost::gemm_cost(product(4096, 14336, 4096), *gpu, stack);
  EXPECT_NEAR(bare.time / (library + stack.kernel_gap.value()), 1.0, 1e-12);
  EXPECT_GT(bare.by_source[static_cast<std::size_t>(SourceKind::measured)] / bare.time, 0.99);
  stack.gemm_efficiency = Coefficient<double>(0.8, {SourceKind::assumed, "slow"});
  const cost::Cost slow = cost::gemm_cost(product(4096, 14336, 4096), *gpu, stack);
  const Seconds launch = gpu->launch_latency.value();
  EXPECT_NEAR((slow.time - slow.gap) / ((library - launch) / 0.8), 1.0, 1e-12);
  EXPECT_NEAR(slow.by_source[static_cast<std::size_t>(SourceKind::assumed)] / slow.time, 0.2, 0.01);
  const cost::Cost far = cost::gemm_cost(product(1048576, 14336, 4096), *gpu, stack);
  EXPECT_EQ(far.extrapolated, far.time);
}

TEST_F(CalibrationFile, ADeviceThatIsNotTheBaseIsRefusedUnlessAllowed) {
  const auto path =
      write("foreign.yaml", replaced(quiet_profile(), "base: h200-sxm", "base: h100-sxm-80gb"));
  Diagnostics diagnostics;
  try {
    static_cast<void>(load(path, diagnostics));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what())
                  .find("is the profile of another GPU: it was measured on NVIDIA H200 (h200-sxm), "
                        "its base is h100-sxm-80gb (--allow-foreign-profile"),
              std::string::npos)
        << error.what();
  }
  const auto gpu = load(path, diagnostics, true);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  EXPECT_EQ(gpu->name, "h100-sxm-80gb");
}

TEST_F(CalibrationFile, EveryMistakeIsNamedWithItsPlace) {
  const std::string good = quiet_profile();
  EXPECT_EQ(
      errors_of(replaced(good, "base: h200-sxm", "base: h200")),
      "broken.yaml:4:7: error: base: `h200` is not a known GPU profile, did you mean "
      "`gh200`? (known: " +
          [] {
            std::string names;
            for (const auto& name : hardware::list_gpu_profiles(shipped_profiles())) {
              names += (names.empty() ? "" : ", ") + name;
            }
            return names;
          }() +
          ", or the path of a file)\n");
  EXPECT_EQ(errors_of(replaced(good, "  driver: \"580.95.05\"\n", "")),
            "broken.yaml:6:3: error: fingerprint.driver: is missing (its value, or unknown)\n");
  EXPECT_NE(errors_of(replaced(good, "sm_count: 132", "sm_count: many")).find("sm_count"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced(good, "sm_count: 132", "sm_count: 144"))
                .find("fingerprint.id: does not belong to the fields beside it"),
            std::string::npos);
  const std::string sample = line_of(good, "id: s1,");
  EXPECT_EQ(errors_of(replaced(good, "gemm fprop bf16", "gemm fprop bf61")),
            "broken.yaml:" + sample +
                ":20: error: samples[0].case: \"bf61\" is neither a role nor a precision nor an "
                "axis of gemm; the nearest is bf16 (such as gemm fprop bf16 m=8192 n=28672 "
                "k=4096)\n");
  EXPECT_NE(errors_of(replaced(good, "id: s2,", "id: s1,")).find("`s1` stands twice"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced(good, "collectives: absent\n", "")).find("collectives"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced(good, "collectives: absent", "collectives: none"))
                .find("is neither tables nor the word (absent)"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced(good, "a_us:", "a_ms:")).find("did you mean `a_us`?"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced(good, "calibration-profile/1", "calibration-profile/9"))
                .find("broken.yaml:3:9: error: schema"),
            std::string::npos);
}

TEST_F(CalibrationFile, RatesAboveThePeakOfTheBaseAreRefused) {
  Diagnostics diagnostics;
  EXPECT_FALSE(build_profile(planted(0.0, 0.5), {}, shipped_profiles(), diagnostics).has_value());
  EXPECT_NE(to_string(diagnostics).find("above the peak of h200-sxm"), std::string::npos);
}

TEST_F(CalibrationFile, AScenarioRunsOnItAndSaysSo) {
  const auto path = write("here.yaml", quiet_profile());
  const std::string text =
      "format: orrery/1\nname: calibrated\nmodel: {preset: llama3-8b}\n"
      "cluster: {gpu: " +
      path.string() +
      ", nodes: 1, gpus_per_node: 8}\n"
      "software: generic\nlayout: {tensor: 1, data: 8}\n"
      "batch: {global: 64, micro: 1}\n";
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "calibrated.yaml", diagnostics);
  ASSERT_TRUE(scenario) << to_string(diagnostics);
  evaluate::EvaluateOptions options;
  options.search = shipped_profiles();
  const auto evaluation = evaluate::evaluate(*scenario, options, diagnostics);
  ASSERT_TRUE(evaluation) << to_string(diagnostics);
  EXPECT_EQ(evaluation->echo.calibration->device, "NVIDIA H200");
  const auto measured = evaluation->step.by_source[static_cast<std::size_t>(SourceKind::measured)];
  EXPECT_GT(measured, Seconds{});
  const auto explained =
      evaluate::explain(*scenario, *evaluation, "step_time", diagnostics, options.search);
  ASSERT_TRUE(explained) << to_string(diagnostics);
  EXPECT_NE(explained->find("Kernels measured on NVIDIA H200"), std::string::npos);
  EXPECT_NE(explained->find("interpolated"), std::string::npos);
  const auto json = nlohmann::json::parse(report::to_json(*evaluation));
  EXPECT_EQ(json["calibration"]["device"], "NVIDIA H200");
  EXPECT_EQ(json["calibration"]["id"], evaluation->echo.calibration->id);
}

// The way of a CI job that watches a driver update: exit code 1 beyond the tolerance.
TEST_F(CalibrationFile, TheCommandComparesTwoProfiles) {
  Measurements slower = planted(0.0);
  for (Sample& sample : slower.samples) {
    for (double& time : sample.times) {
      time *= sample.kernel.role == kernels::Role::fprop ? 1.10 : 1.0;
    }
  }
  const std::string before = write("before.yaml", quiet_profile()).string();
  const std::string after = write("after.yaml", yaml_of(slower)).string();
  const std::string output = (folder_ / "comparison.json").string();
  const auto compare = [&](const std::string& second, const char* tolerance) {
    const std::array<const char*, 9> words = {"orrery",       "compare",     before.c_str(),
                                              second.c_str(), "--json",      "-o",
                                              output.c_str(), "--tolerance", tolerance};
    return cli::run_cli(static_cast<int>(words.size()), words.data());
  };
  EXPECT_EQ(compare(after, "5"), 1);
  const auto json = nlohmann::json::parse(read_file(output, std::size_t{1} << 20));
  EXPECT_EQ(json["kind"], "calibrations");
  EXPECT_EQ(json["groups"][0]["group"], "gemm fprop bf16 (cublaslt)");
  EXPECT_NEAR(json["groups"][0]["median_ratio"].get<double>(), 1.10, 1e-9);
  EXPECT_EQ(compare(after, "20"), 0);
  EXPECT_EQ(compare(before, "0.1"), 0);
}

TEST_F(CalibrationFile, TwoProfilesShowWhatBecameSlower) {
  Diagnostics diagnostics;
  const auto before = build_profile(planted(0.0), {}, shipped_profiles(), diagnostics);
  Measurements changed = planted(0.0);
  changed.fingerprint.driver = "590.10";
  for (Sample& sample : changed.samples) {
    const bool fprop = sample.kernel.role == kernels::Role::fprop;
    for (double& time : sample.times) {
      time *= fprop ? 1.10 : 1.0;
    }
  }
  changed.samples[1].times = {2.0 * before->profile.samples[1].median / microseconds(1.0)};
  changed.samples.pop_back();
  const auto after = build_profile(changed, {}, shipped_profiles(), diagnostics);
  ASSERT_TRUE(before && after) << to_string(diagnostics);
  const auto comparison = evaluate::compare(before->profile, after->profile);
  ASSERT_EQ(comparison.changed.size(), 1U);
  EXPECT_EQ(comparison.changed[0].key, "driver");
  EXPECT_EQ(comparison.groups[0].name, "gemm fprop bf16 (cublaslt)");
  EXPECT_NEAR(comparison.groups[0].median, 1.10, 1e-9);
  EXPECT_NEAR(comparison.groups[0].worst, 2.0, 1e-9);
  EXPECT_NEAR(comparison.groups[1].median, 1.0, 1e-9);
  EXPECT_EQ(comparison.only_first, 1U);
  const std::string text = evaluate::comparison_text(comparison, "a.yaml", "b.yaml");
  EXPECT_NE(text.find("driver"), std::string::npos);
  EXPECT_NE(text.find("580.95.05 -> 590.10"), std::string::npos);
  EXPECT_NE(text.find("+10.0 %"), std::string::npos);
}

// Which samples of a journal make which part of a profile.

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
  const std::array gpus = {&*gpu};
  ASSERT_TRUE(hardware::load_collective_tables(network, shipped_profiles(), kWhere, "collectives",
                                               diagnostics, gpus));
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
