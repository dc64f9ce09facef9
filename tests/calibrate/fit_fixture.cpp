#include "tests/calibrate/fit_fixture.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::fit::testing {

namespace {

namespace fs = std::filesystem;

const fs::path& profiles() {
  static const fs::path folder = fs::path(kSourceDir) / "scenarios" / "profiles";
  return folder;
}

std::string run_text(int index, int hidden, int layers, int tp, int pp, int dp, int micro) {
  return fmt::format(
      "- id: {4}-{0}\n  group: megatron-core\n  scenario:\n"
      "    model: {{name: Llama-{1} ({2} layers), num_layers: {2}, hidden_size: {1}, "
      "num_attention_heads: {3}, num_query_groups: {3}, ffn_hidden_size: {5}, vocab_size: 64000, "
      "sequence_length: 4096}}\n"
      "    cluster: {{gpu: a100-sxm-80gb, nodes: {6}, network: {{nic_rate: 200Gbps, nics_per_node: "
      "8}}}}\n"
      "    layout: {{tensor: {7}, sequence_parallel: true, pipeline: {8}, schedule: {10}, "
      "sharding: "
      "zero1}}\n"
      "    batch: {{global: {11}, micro: {12}}}\n    recompute: full\n    software: megatron-core\n"
      "  measured: {{step_time: 1s}}\n",
      index, hidden, layers, hidden / 128, hidden == 2048 ? "small" : "large", hidden * 3,
      tp * pp * dp / 8, tp, pp, dp, pp > 1 ? "1f1b" : "none", dp * micro * 8, micro);
}

std::string data_set() {
  std::string text = "format: measured-runs/2\nruns:\n";
  int index = 0;
  for (const int hidden : {2048, 4096, 8192}) {
    text += run_text(index++, hidden, 16, 1, 1, 8, 1);
    text += run_text(index++, hidden, 16, 8, 1, 2, 2);
    text += run_text(index++, hidden, 24, 4, 4, 4, 1);
    text += run_text(index++, hidden, 24, 2, 2, 8, 4);
  }
  return text;
}

}  // namespace

Observations small_runs() {
  const TempFolder folder;
  const fs::path file = folder.write("runs.yaml", data_set());
  Diagnostics diagnostics;
  Observations observations = load_observations({file}, {profiles()}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  EXPECT_TRUE(observations.skipped.empty());
  return observations;
}

Rows pointers_to(const Observations& observations) {
  Rows rows;
  for (const Observation& row : observations.rows) {
    rows.push_back(&row);
  }
  return rows;
}

hardware::SoftwareProfile start_profile() {
  Diagnostics diagnostics;
  auto profile = hardware::load_software_profile(
      "megatron-core", evaluate::profile_search({}, {profiles()}), {}, "", diagnostics);
  EXPECT_TRUE(profile.has_value()) << to_string(diagnostics);
  return *profile;
}

FitSettings settings_for(const std::vector<std::string>& keys, int threads) {
  FitSettings settings;
  settings.threads = threads;
  for (const std::string& key : keys) {
    settings.keys.push_back(find_fit_key(key));
    EXPECT_NE(settings.keys.back(), nullptr) << key;
  }
  return settings;
}

void measure_with(Observations& observations, const hardware::SoftwareProfile& truth) {
  const std::vector<double> predicted = predict(pointers_to(observations), truth, 1);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_GT(predicted[i], 0.0) << observations.rows[i].id;
    observations.rows[i].measured = predicted[i];
  }
}

void set_value(hardware::SoftwareProfile& profile, const std::string& key, double value) {
  find_fit_key(key)->set(profile, value, {SourceKind::assumed, "planted by a test"});
}

}  // namespace orrery::fit::testing
