// nvbandwidth's matrices become keys of a GPU profile.

#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/import/import_report.hpp"
#include "sim/base/files/file.hpp"
#include "tests/calibrate/import/sample_log.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibration_import::testing {
namespace {

std::string matrices(const std::string& gpu) {
  return "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\n"
         "CUDA Runtime Version: 12080\nDriver Version: 570.1\n\n"
         "Device 0: " +
         gpu + " (00000000:1b:00)\nDevice 1: " + gpu +
         " (00000000:43:00)\n\n"
         "Running host_to_device_memcpy_ce.\n"
         "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0     55.60     55.40\n\nSUM host_to_device_memcpy_ce 111.00\n\n"
         "Running device_to_host_memcpy_ce.\n"
         "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0     57.10     57.30\n\n"
         "Running device_to_device_memcpy_read_ce.\n"
         "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0       N/A     48.10\n 1     48.30       N/A\n\n"
         "Running device_to_device_memcpy_write_ce.\n"
         "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
         "          0         1\n0      0.00     49.10\n1     49.30      0.00\n";
}

struct CopyOutcome {
  std::optional<CopyRates> rates;
  std::string messages;
};

CopyOutcome copies(const std::string& text, RigOptions options = {}) {
  Findings findings;
  Diagnostics diagnostics;
  read_log({"nvb.txt", text}, findings, diagnostics);
  CopyOutcome outcome;
  if (!findings.copies.empty()) {
    outcome.rates = copy_rates(findings.copies, options, shipped_search(), diagnostics);
  }
  outcome.messages = to_string(diagnostics);
  return outcome;
}

TEST(CopyRates, TakesTheSlowerDirectionToTheHost) {
  const CopyOutcome outcome = copies(matrices("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(outcome.messages, "");
  ASSERT_TRUE(outcome.rates);
  EXPECT_EQ(outcome.rates->gpu, "h100-sxm-80gb");
  ASSERT_EQ(outcome.rates->results.size(), 4U);
  EXPECT_EQ(outcome.rates->results[2].values, 2U);  // the diagonal is no pair
  EXPECT_EQ(outcome.rates->results[3].values, 2U);  // nor in releases that print it as 0.00
  // NVLink's rate is the datasheet's: peer copies give no key here.
  ASSERT_EQ(outcome.rates->coefficients.size(), 1U);
  EXPECT_EQ(outcome.rates->coefficients[0].key, "host_bandwidth");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(outcome.rates->coefficients[0].value), 55.5);
}

TEST(CopyRates, WithoutNvlinkPeersMeasurePcie) {
  RigOptions options;
  options.gpu = "l4";
  const CopyOutcome outcome = copies(matrices("NVIDIA L4"), options);
  ASSERT_EQ(outcome.rates->coefficients.size(), 2U);
  EXPECT_EQ(outcome.rates->coefficients[1].key, "pcie_bandwidth");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(outcome.rates->coefficients[1].value), 48.2);
}

TEST(CopyRates, ReadsJson) {
  const std::string text = R"json({"nvbandwidth":{"CUDA Runtime Version":12080,"version":"v0.8",
"testcases":[{"name":"host_to_device_memcpy_ce","status":"Passed","sum":111.0,
"bandwidth_description":"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
"bandwidth_matrix":[["55.6","55.4"]]},
{"name":"device_to_host_memcpy_ce","status":"Waived"}]}})json";
  RigOptions options;
  options.gpu = "h100-sxm-80gb";
  const CopyOutcome outcome = copies(text, options);
  EXPECT_EQ(outcome.messages,
            "nvb.txt: warning: device_to_host_memcpy_ce has no results; it was waived or failed\n");
  ASSERT_TRUE(outcome.rates);
  EXPECT_EQ(outcome.rates->coefficients[0].citation,
            "nvbandwidth v0.8 (nvb.txt): one copy at a time, pinned, host to device 55.5 GB/s "
            "(median of 2)");
}

TEST(CopyRates, WarnsOfNarrowAndUnevenLinks) {
  std::string text = matrices("NVIDIA H100 80GB HBM3");
  text.replace(text.find("55.60     55.40"), 15, "13.90     27.80");
  const CopyOutcome outcome = copies(text);
  EXPECT_EQ(outcome.messages,
            "nvb.txt:1:1: warning: host_to_device_memcpy_ce: the slowest GPU has 13.9 GB/s, the "
            "median 20.85: a narrow link or a far memory\n"
            "nvb.txt:1:1: warning: host_bandwidth is 20.9 GB/s, expected 55.6 GB/s of a "
            "h100-sxm-80gb: the link is degraded\n");
}

TEST(CopyRates, RefusesALogWithoutTheHost) {
  const std::string text = matrices("NVIDIA H100 80GB HBM3");
  const std::size_t from = text.find("Running host_to_device");
  const std::size_t to = text.find("Running device_to_device_memcpy_read");
  EXPECT_EQ(copies(text.substr(0, from) + text.substr(to)).messages,
            "nvb.txt:1:1: error: holds no rate between GPU and host (run nvbandwidth -t "
            "host_to_device_memcpy_ce device_to_host_memcpy_ce)\n");
}

// The fragment in place of the shipped keys makes a profile that loads with the measured rate.
TEST(CopyRates, FragmentFitsIntoAProfile) {
  ImportReport report;
  report.copies = copies(matrices("NVIDIA H100 80GB HBM3")).rates;
  const std::string fragment = fragment_yaml(report);
  std::string profile =
      read_file(std::string(kSourceDir) + "/scenarios/profiles/gpu/h100-sxm-80gb.yaml", 1U << 20U);
  const std::size_t from = profile.find("host_bandwidth:");
  const std::size_t to = profile.find("pcie_bandwidth:");
  profile = profile.substr(0, from) + fragment + profile.substr(to);
  const auto file = std::filesystem::temp_directory_path() / "orrery_import_fragment_test.yaml";
  write_file_atomically(file, profile);
  Diagnostics diagnostics;
  const auto gpu =
      hardware::load_gpu_profile(file.string(), shipped_search(), {}, "gpu", diagnostics);
  std::filesystem::remove(file);
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_TRUE(gpu);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(gpu->host_bandwidth.value()), 55.5);
  EXPECT_EQ(gpu->host_bandwidth.source().kind, SourceKind::measured);
}

}  // namespace
}  // namespace orrery::calibration_import::testing
