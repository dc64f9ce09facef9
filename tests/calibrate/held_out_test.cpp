// Predictions of products that a fit has not seen: published timings of two GPUs.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/profile/line_fit.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "tests/calibrate/planted_machine.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {
namespace {

constexpr double kLargeProduct = 0.1;  // TFLOP: smaller ones are all launch and framework

// The shipped profile of a machine: its SMs and the depth of its tiles, not its rates.
hardware::GpuProfile machine(const std::string& gpu) {
  Diagnostics diagnostics;
  const std::string profile = gpu.find("A100") == std::string::npos ? "b200-sxm" : "a100-pcie-80gb";
  return hardware::load_gpu_profile(profile, shipped_profiles(), {}, "gpu", diagnostics).value();
}

std::optional<KernelEvidence> evidence_for(const hardware::GpuProfile& gpu, const std::string& role,
                                           const std::array<std::int64_t, 3>& mnk, double us) {
  kernels::KernelCase call;
  call.operation = kernels::Operation::gemm;
  call.role = role == "fprop"              ? kernels::Role::fprop
              : role == "dgrad"            ? kernels::Role::dgrad
              : role == "wgrad_accumulate" ? kernels::Role::wgrad_accumulate
                                           : kernels::Role::wgrad;
  call.extents = {mnk[0], mnk[1], mnk[2]};
  const model::GemmOp op = *cost::gemm_of(call);
  if (in_teraflop(model::flop_count(op)) < kLargeProduct) {
    return std::nullopt;
  }
  const Bytes moved = cost::gemm_bytes(op);
  return KernelEvidence{.point = {.id = kernels::to_text(call),
                                  .call = call,
                                  .place = hardware::place_of(call, moved),
                                  .time = microseconds(us),
                                  .fitted = {}},
                        .work = fit_work(call, gpu),
                        .moved = moved};
}

// Rows of the framework's own timings; the published rate gives the time.
std::vector<KernelEvidence> published(const std::string& gpu) {
  Diagnostics diagnostics;
  const auto root =
      yaml::parse_file(std::string(kSourceDir) + "/scenarios/published/kernel_measurements.yaml",
                       yaml::Limits{}, diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  const hardware::GpuProfile profile = machine(gpu);
  std::vector<KernelEvidence> all;
  for (const validate::DataRow& row : validate::data_rows(*root, "dense_gemm")) {
    const auto mnk = row.integers("mnk");
    if (row.text("source") != "simumax" || row.text("gpu") != gpu || mnk.size() != 3) {
      continue;
    }
    const bool sums = row.text("out") == "fp32";
    const std::string role =
        row.text("role") == "wgrad" && sums ? "wgrad_accumulate" : row.text("role");
    const double work = 2.0 * static_cast<double>(mnk[0]) * static_cast<double>(mnk[1]) *
                        static_cast<double>(mnk[2]);
    const double us = work / (*row.number("tflops") * kTera) / kMicro;
    if (auto one = evidence_for(profile, role, {mnk[0], mnk[1], mnk[2]}, us)) {
      all.push_back(*one);
    }
  }
  return all;
}

using Roles = std::map<kernels::Role, std::vector<KernelEvidence>>;

// Roles count as a coordinate: far apart, so that each gets its share of the points.
std::vector<std::size_t> spread(const std::vector<KernelEvidence>& all, std::size_t count) {
  std::vector<Extents> candidates;
  constexpr std::array<std::int64_t, 4> kRoleExtents = {1, 3, 9, 27};
  for (const KernelEvidence& one : all) {
    const auto& extents = one.point.call.extents;
    const auto role = static_cast<std::size_t>(one.point.call.role) -
                      static_cast<std::size_t>(kernels::Role::fprop);
    candidates.push_back({extents[0], extents[1], extents[2], kRoleExtents[role]});
  }
  return farthest_points(candidates, count);
}

struct Split {
  Roles seen;
  std::vector<KernelEvidence> held_out;
};

Split split(const std::vector<KernelEvidence>& all, const std::vector<std::size_t>& chosen) {
  Split result;
  std::vector<bool> is_chosen(all.size(), false);
  for (const std::size_t i : chosen) {
    is_chosen[i] = true;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_chosen[i]) {
      result.seen[all[i].point.call.role].push_back(all[i]);
    } else {
      result.held_out.push_back(all[i]);
    }
  }
  return result;
}

hardware::FitResidual errors_of(const Split& data) {
  std::vector<std::vector<KernelEvidence>> roles;
  for (const auto& [role, points] : data.seen) {
    roles.push_back(points);
  }
  const auto trust = choose_trust(roles, true);
  hardware::KernelTables tables;
  for (const auto& [role, points] : data.seen) {
    hardware::KernelLine line = fit_line(points, true).line;
    line.trust = trust;
    tables.series.push_back(series_of({kernels::Operation::gemm, kernels::Precision::bf16, role},
                                      {.implementation = "published", .points = points}, line));
  }
  std::vector<double> errors;
  for (const KernelEvidence& one : data.held_out) {
    const hardware::KernelSeries* series =
        tables.find(kernels::Operation::gemm, one.point.call.role, kernels::Precision::bf16);
    if (series == nullptr) {
      ADD_FAILURE() << one.point.id << ": no point of its role was chosen";
      continue;
    }
    const auto prediction =
        cost::predict_kernel(*series, one.point.call, one.moved,
                             cost::line_time(series->line, one.work, one.moved), Seconds{});
    errors.push_back(std::abs(prediction.time / one.point.time - 1.0));
  }
  return residual_of(errors);
}

void report(const std::string& what, const hardware::FitResidual& residual) {
  fmt::print("{}: {} held out, mean {:.2f} %, median {:.2f} %, p90 {:.2f} %\n", what,
             residual.points, 100.0 * residual.mean, 100.0 * residual.median, 100.0 * residual.p90);
}

// The rows of this repository: few, and far apart by choice, so the hardest to predict from others.
TEST(HeldOutProducts, TwentyFourPublishedPointsPredictTheOtherRows) {
  const std::array<std::pair<std::string, double>, 2> limits = {
      {{"NVIDIA A100 PCIe", 0.04}, {"NVIDIA B200", 0.06}}};
  for (const auto& [gpu, most] : limits) {
    const auto all = published(gpu);
    ASSERT_GE(all.size(), 28U) << gpu;
    const auto residual = errors_of(split(all, spread(all, 24)));
    report(gpu + ", 24 of the published rows", residual);
    EXPECT_LT(residual.mean, most) << gpu;
  }
}

// A line through bare FLOP leaves means of 2.5 and 8.0 %.
TEST(HeldOutProducts, EachPublishedRowIsPredictedByAllOthers) {
  const std::array<std::pair<std::string, double>, 2> limits = {
      {{"NVIDIA A100 PCIe", 0.025}, {"NVIDIA B200", 0.06}}};
  for (const auto& [gpu, most] : limits) {
    const auto all = published(gpu);
    double sum = 0.0;
    std::vector<double> errors;
    for (std::size_t left = 0; left < all.size(); ++left) {
      std::vector<std::size_t> others;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i != left) {
          others.push_back(i);
        }
      }
      errors.push_back(errors_of(split(all, others)).mean);
      sum += errors.back();
    }
    report(gpu + ", one row at a time", residual_of(errors));
    EXPECT_LT(sum / static_cast<double>(all.size()), most) << gpu;
  }
}

// The whole published tables (183 and 514 products) are not part of this repository. A folder with
// a100.csv and b200.csv (role,m,n,k,accumulates,out,us) runs the full test.
std::vector<KernelEvidence> whole_table(const std::string& path) {
  const bool ampere = path.find("a100") != std::string::npos;
  const hardware::GpuProfile profile = machine(ampere ? "NVIDIA A100 PCIe" : "NVIDIA B200");
  std::vector<KernelEvidence> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.size() != 7) {
      continue;
    }
    const bool sums = cells[5] == "fp32";
    const bool wgrad = cells[0].starts_with("wgrad");
    auto one = evidence_for(profile, wgrad ? (sums ? "wgrad_accumulate" : "wgrad") : cells[0],
                            {std::stoll(cells[1]), std::stoll(cells[2]), std::stoll(cells[3])},
                            std::stod(cells[6]));
    if (one) {
      all.push_back(*one);
    }
  }
  return all;
}

TEST(HeldOutProducts, ThirtySixPointsOfAWholeTablePredictTheRest) {
  const char* folder = std::getenv("ORRERY_GEMM_TABLES");
  if (folder == nullptr) {
    GTEST_SKIP() << "ORRERY_GEMM_TABLES names no folder with whole tables";
  }
  const std::array<std::pair<std::string, double>, 2> limits = {
      {{"a100.csv", 0.02}, {"b200.csv", 0.09}}};
  for (const auto& [name, most] : limits) {
    const auto all = whole_table(std::string(folder) + "/" + name);
    ASSERT_GT(all.size(), 100U) << name;
    for (const std::size_t count : {18U, 36U, 72U, 144U}) {
      const auto residual = errors_of(split(all, spread(all, count)));
      report(fmt::format("{}, {} of {} points", name, count, all.size()), residual);
      if (count == 36) {
        EXPECT_LT(residual.mean, most) << name;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::calibrate
