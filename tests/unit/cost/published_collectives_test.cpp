// Compares predicted collectives with published nccl-tests logs, by the model alone: no table of
// measured collectives is there. Every usable row, nothing fitted per row.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::validate {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = fs::path(kSourceDir) / "scenarios";

// The shipped GPUs and nothing else.
hardware::ProfileSearch gpus_alone(const TempFolder& folder) {
  fs::create_directory_symlink(kScenarios / "profiles" / "gpu", folder / "gpu");
  return {{folder}};
}

// From 64 MiB; a peak without a size is that of a large message.
bool is_large(const DataRow& entry) {
  return entry.number("size_bytes").value_or(kGiga) >= in_bytes(mebibytes(64.0));
}

void print(const char* name, const Statistics& errors) {
  fmt::print("{}: n {}, MAPE {:.1f} %, median {:.1f} %, bias {:+.1f} %\n", name, errors.n,
             100.0 * errors.mape, 100.0 * errors.median, 100.0 * errors.bias);
}

TEST(PublishedCollectives, ErrorsStayWithinWhatTheModelReaches) {
  Diagnostics diagnostics;
  const fs::path file = kScenarios / "published" / "collective_measurements.yaml";
  const auto document = yaml::parse_file(file, data_limits(), diagnostics);
  ASSERT_TRUE(document) << to_string(diagnostics);
  const TempFolder folder;
  const hardware::ProfileSearch search = gpus_alone(folder);
  ProfileShelf shelf(search);
  const auto rows = collective_rows({.path = file,
                                     .document = *document,
                                     .profiles = shelf,
                                     .search = search,
                                     .diagnostics = diagnostics});
  const auto entries = data_rows(*document, "rows");
  ASSERT_EQ(rows.size(), entries.size()) << "a table of collectives was found";
  std::vector<const ValidationRow*> sound;
  std::vector<const ValidationRow*> large;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].skipped.empty() && rows[i].suspicious.empty()) {
      sound.push_back(&rows[i]);
      if (is_large(entries[i])) {
        large.push_back(&rows[i]);
      }
    }
  }
  const Statistics all_sizes = statistics_of(sound);
  const Statistics from_64_mib = statistics_of(large);
  print("all sizes", all_sizes);
  print("from 64 MiB", from_64_mib);
  EXPECT_EQ(from_64_mib.n, 174U);
  EXPECT_EQ(all_sizes.n, 251U);
  EXPECT_LE(from_64_mib.mape, 0.085);
  EXPECT_LE(from_64_mib.median, 0.025);
  EXPECT_LE(std::abs(from_64_mib.bias), 0.05);
  EXPECT_LE(all_sizes.mape, 0.14);
  EXPECT_LE(all_sizes.median, 0.06);
  // Hosts with NVSwitch, and pairs of them over RDMA, without a vendor's tuner.
  for (const char* log :
       {"azure_nd_a100_v4_1n_ar", "azure_nd_h100_v5_1n_ar", "azure_nd_h200_v5_1n_ar",
        "stas_h200_1n_ar", "h100_1n_ar_i290", "h100_2n_ar_i294", "nebius_2n_ar", "oci_b300_16r_ar",
        "pcie_16r_2n_roce_a2a"}) {
    std::vector<const ValidationRow*> own;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].group == log && is_large(entries[i])) {
        own.push_back(&rows[i]);
      }
    }
    EXPECT_FALSE(own.empty()) << log;
    EXPECT_LE(statistics_of(own).mape, 0.03) << log;
  }
}

}  // namespace
}  // namespace orrery::validate
