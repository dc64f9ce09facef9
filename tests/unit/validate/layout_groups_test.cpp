// Groups of layouts that were measured side by side: the choice, its regret, the error of a pair.

#include "sim/validate/measured/layout_groups.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::validate {
namespace {

namespace fs = std::filesystem;

MeasuredLayout layout_of(std::int64_t tensor, std::int64_t micro, double predicted,
                         std::vector<double> readings) {
  MeasuredLayout layout;
  layout.scenario.layout.tensor = tensor;
  layout.scenario.batch.micro = micro;
  layout.predicted = predicted;
  layout.readings = std::move(readings);
  return layout;
}

// Chosen is the second (predicted 9), fastest the first (mean 10); the rule takes the least split
// and of those the largest micro-batch, the third.
LayoutGroup group() {
  return {"stack",
          {layout_of(2, 1, 10.0, {9.0, 11.0}), layout_of(4, 1, 9.0, {12.0}),
           layout_of(1, 2, 11.0, {11.0}), layout_of(1, 1, 12.0, {13.0})}};
}

TEST(LayoutGroups, KnowWhatTheChoiceCosts) {
  const GroupVerdict verdict = judge(group());
  EXPECT_EQ(verdict.chosen, 1U);
  EXPECT_EQ(verdict.fastest, 0U);
  EXPECT_EQ(verdict.by_rule, 2U);
  EXPECT_NEAR(verdict.regret, 0.2, 1e-12);
  EXPECT_NEAR(verdict.rule_regret, 0.1, 1e-12);
  // Ranks 1 0 2 3 and 0 2 1 3: 1 - 6 (1 + 4 + 1) / (4 (16 - 1)) = 0.4.
  ASSERT_TRUE(verdict.correlation);
  EXPECT_NEAR(*verdict.correlation, 0.4, 1e-12);
}

// Errors of the logarithm: 0, ln(9 / 12), 0, ln(12 / 13). The third differs in its micro-batch from
// the others: 0, ln(12 / 9) and ln(13 / 12). Of three pairs of one weight 80 % are all of them.
TEST(LayoutGroups, WeighTheErrorsOfPairs) {
  const plan::LayoutErrors errors = layout_errors({group()}, {"rows.yaml"});
  EXPECT_EQ(errors.source, "rows.yaml");
  EXPECT_EQ(errors.groups, 1);
  EXPECT_EQ(errors.layouts, 4);
  const plan::FeatureError& micro = errors.of[static_cast<std::size_t>(plan::Feature::micro)];
  EXPECT_EQ(micro.pairs, 3);
  EXPECT_EQ(micro.groups, 1);
  EXPECT_NEAR(micro.error, std::log(12.0 / 9.0), 1e-12);
  EXPECT_EQ(errors.of[static_cast<std::size_t>(plan::Feature::pipeline)].pairs, 0);
}

std::string row(const std::string& id, int tensor, const std::string& beside, double seconds) {
  return fmt::format(R"(- id: {}
  group: nemo
  scenario:
    model: {{preset: llama3-8b, sequence_length: 8192}}
    cluster: {{gpu: h100-sxm-80gb, nodes: 1}}
    layout: {{tensor: {}, sharding: zero1}}
    batch: {{global: 128, micro: 1}}
    software: nemo
  measured: {{step_time: {}s}}
{})",
                     id, tensor, seconds, beside.empty() ? "" : "  side_by_side: " + beside + "\n");
}

// Two layouts of one question; readings of one layout are one, a row alone and a question with a
// single layout have none to choose from.
TEST(LayoutGroups, HoldRowsThatWereMeasuredSideBySide) {
  const TempFolder folder;
  const fs::path file = folder.write(
      "layouts.yaml", "format: measured-runs/2\nruns:\n" + row("a", 1, "a", 12.0) +
                          row("b", 2, "a", 13.0) + row("c", 1, "a", 12.4) + row("d", 4, "", 6.0) +
                          row("e", 2, "e", 13.0) + row("f", 2, "e", 13.1));
  ValidateOptions options;
  options.profiles = {fs::path(kSourceDir) / "scenarios" / "profiles"};
  Diagnostics diagnostics;
  const auto groups = layout_groups({file}, options, diagnostics);
  ASSERT_TRUE(groups) << to_string(diagnostics);
  ASSERT_EQ(groups->size(), 1U);
  const LayoutGroup& found = groups->front();
  EXPECT_EQ(found.stack, "nemo");
  ASSERT_EQ(found.layouts.size(), 2U);
  EXPECT_EQ(found.layouts[0].id, "a");
  EXPECT_DOUBLE_EQ(found.layouts[0].measured(), 12.2);
  EXPECT_GT(found.layouts[0].predicted, 0.0);
  const std::string page = to_markdown(*groups, layout_errors(*groups, {file}));
  EXPECT_NE(page.find("| nemo | 1 | 2 | "), std::string::npos) << page;
  EXPECT_NE(page.find("| tensor | 1 | 1 | "), std::string::npos) << page;
}

}  // namespace
}  // namespace orrery::validate
