// What two layouts differ in, and how far the prediction of such differences may be off.

#include "sim/answer/plan/layout_errors.hpp"

#include <filesystem>

#include "sim/base/files/file.hpp"
#include "tests/support.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

FeatureSet set_of(std::initializer_list<Feature> features) {
  FeatureSet set;
  for (const Feature feature : features) {
    set.set(static_cast<std::size_t>(feature));
  }
  return set;
}

scenario::Scenario with(const Bench& bench, std::vector<scenario::KeyValue> keys) {
  Diagnostics diagnostics;
  auto scenario = bench.base.with(std::move(keys), diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  return *std::move(scenario);
}

TEST(LayoutFeatures, NameWhatDiffersAndNothingThatFollows) {
  const Bench bench = make_bench(dense_text());
  const scenario::Scenario own = with(bench, {});
  EXPECT_TRUE(differences(own, own).none());
  EXPECT_EQ(words_of(differences(own, with(bench, {{"layout.tensor", "4", {}}}))), "tensor");
  EXPECT_EQ(words_of(differences(
                own, with(bench, {{"layout.tensor", "1", {}}, {"batch.micro", "2", {}}}))),
            "tensor, micro");
  EXPECT_EQ(words_of(differences(own, with(bench, {{"layout.virtual_stages", "2", {}},
                                                   {"layout.schedule", "interleaved", {}}}))),
            "chunks");
  EXPECT_EQ(words_of(differences(own, with(bench, {{"layout.sequence_parallel", "false", {}}}))),
            "sequence");
  EXPECT_EQ(words_of(differences(
                own, with(bench, {{"layout.sharding", "none", {}}, {"recompute", "full", {}}}))),
            "recompute, sharding");
  EXPECT_EQ(words_of(differences(own, with(bench, {{"cluster.nodes", "4", {}}}))), "cluster");
}

// The largest of the features that differ; of one with few measured pairs the largest of all.
TEST(LayoutErrors, TakeTheWorstOfWhatDiffers) {
  LayoutErrors errors;
  errors.of[static_cast<std::size_t>(Feature::tensor)] = {10, 3, 0.04};
  errors.of[static_cast<std::size_t>(Feature::micro)] = {10, 3, 0.02};
  EXPECT_DOUBLE_EQ(errors.between({}), 0.0);
  EXPECT_DOUBLE_EQ(errors.between(set_of({Feature::micro})), 0.02);
  EXPECT_DOUBLE_EQ(errors.between(set_of({Feature::micro, Feature::tensor})), 0.04);
  EXPECT_DOUBLE_EQ(errors.between(set_of({Feature::offload})), 0.04);
  errors.of[static_cast<std::size_t>(Feature::context)] = {kFewestPairs - 1, 3, 0.01};
  EXPECT_DOUBLE_EQ(errors.between(set_of({Feature::context})), 0.04);
}

TEST(LayoutErrors, AreReadAsTheyAreWritten) {
  LayoutErrors errors;
  errors.source = "rows.yaml";
  errors.groups = 7;
  errors.layouts = 20;
  errors.of[static_cast<std::size_t>(Feature::context)] = {5, 2, 0.125};
  const TempFolder folder;
  const auto file = folder.write("plan/layout_errors.yaml", to_yaml(errors));
  Diagnostics diagnostics;
  const auto read = load_layout_errors({.directories = {folder}}, diagnostics);
  ASSERT_TRUE(read) << to_string(diagnostics);
  EXPECT_EQ(to_yaml(*read), to_yaml(errors));
  folder.write("plan/layout_errors.yaml", "format: other/1\n");
  EXPECT_FALSE(load_layout_errors({.directories = {folder}}, diagnostics));
  EXPECT_NE(to_string(diagnostics).find("`other/1` is no table of errors"), std::string::npos)
      << to_string(diagnostics);
  std::filesystem::remove(file);
  EXPECT_FALSE(load_layout_errors({.directories = {folder}}, diagnostics));
}

}  // namespace
}  // namespace orrery::plan::test
