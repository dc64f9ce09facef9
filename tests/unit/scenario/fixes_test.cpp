// Changes that a diagnostic names: what is offered, and that it helps.

#include "sim/scenario/rules/fixes.hpp"

#include <gtest/gtest.h>

#include "sim/scenario/load.hpp"

namespace orrery::scenario {
namespace {

constexpr std::string_view kFile = "s.yaml";

const std::string kSound =
    "format: orrery/1\n"
    "name: fixes\n"
    "model: {preset: llama3-8b}\n"
    "cluster: {gpu: h100-sxm-80gb, nodes: 8, network: {preset: infiniband-400g}}\n"
    "layout:\n"
    "  tensor: 8   # within a node\n"
    "  schedule: 1f1b\n"
    "batch: {global: 64}\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kSound;
  return text.replace(text.find(from), from.size(), to);
}

Diagnostics problems_of(const std::string& text) {
  Diagnostics diagnostics;
  static_cast<void>(load_text(text, std::string(kFile), diagnostics));
  return diagnostics;
}

std::string apply(std::string text, const Fix& fix) {
  return text.replace(fix.edit.begin, fix.edit.length, fix.edit.text);
}

std::vector<Fix> fixes_of(const std::string& text) {
  const Diagnostics diagnostics = problems_of(text);
  EXPECT_EQ(diagnostics.all().size(), 1U) << to_string(diagnostics);
  return diagnostics.all().empty() ? std::vector<Fix>{}
                                   : fixes_for(text, kFile, diagnostics.all().front());
}

TEST(Fixes, BeginWithTheWordThatWasMeant) {
  const std::string text = with("schedule: 1f1b", "schedule: 1f1b1");
  const std::vector<Fix> fixes = fixes_of(text);
  ASSERT_EQ(fixes.size(), 6U) << "no more than asked for";
  EXPECT_EQ(fixes[0].key, "layout.schedule");
  EXPECT_EQ(fixes[0].value, "1f1b");
  EXPECT_EQ(apply(text, fixes[0]), kSound);
}

TEST(Fixes, OfALongListAreTheNamesThatAreNear) {
  const std::string text = with("h100-sxm-80gb", "h100-sxm-80g0");
  const Diagnostic diagnostic{
      .where = {std::string(kFile), 4, 16},
      .key = "cluster.gpu",
      .message = "`h100-sxm-80g0` is not a known GPU profile, did you mean `h100-sxm-80gb`?",
      .allowed =
          "known: a100-pcie-40gb, a100-sxm-40gb, a100-sxm-80gb, a40, b200-sxm, b300-sxm, "
          "gaudi2, gaudi3, gb200, gb300, gh200, h100-nvl-94gb, h100-sxm-80gb, h20-sxm, "
          "h800-sxm, l4, l40s, mi300x, mi325x, mi355x, rtx-4090, rtx-5090, rtx-a6000, "
          "v100-sxm-16gb"};
  std::vector<std::string> offered;
  for (const Fix& fix : fixes_for(text, kFile, diagnostic)) {
    offered.push_back(fix.value);
  }
  EXPECT_EQ(offered, (std::vector<std::string>{"h100-sxm-80gb", "a100-sxm-80gb", "a100-sxm-40gb",
                                               "v100-sxm-16gb"}));
}

TEST(Fixes, BeginWithTheNearestNumber) {
  const std::string text = with("tensor: 8", "tensor: 7");
  Diagnostic diagnostic{.severity = Severity::error,
                        .where = {std::string(kFile), 6, 11},
                        .key = "layout.tensor",
                        .message = "does not divide",
                        .allowed = "1, 2, 4, 8, 16"};
  const std::vector<Fix> fixes = fixes_for(text, kFile, diagnostic, 2);
  ASSERT_FALSE(fixes.empty());
  EXPECT_EQ(fixes[0].value, "8");
  EXPECT_EQ(apply(text, fixes[0]), kSound);
}

TEST(Fixes, RenameAnUnknownKeyWhereItStands) {
  const std::string text = with("tensor: 8", "tensr: 8");
  const std::vector<Fix> fixes = fixes_of(text);
  ASSERT_EQ(fixes.size(), 1U);
  EXPECT_EQ(fixes[0].key, "tensor");
  EXPECT_EQ(fixes[0].value, "");
  EXPECT_EQ(apply(text, fixes[0]), kSound);
}

TEST(Fixes, TakeTheNumberOfABound) {
  const std::string text = with("global: 64", "global: 64, micro: 0");
  const std::vector<Fix> fixes = fixes_of(text);
  ASSERT_EQ(fixes.size(), 1U);
  EXPECT_EQ(fixes[0].value, "1");
  EXPECT_TRUE(problems_of(apply(text, fixes[0])).all().empty());
}

// Diagnostics of later stages come from the evaluation: the reader has nothing against the text.
TEST(Fixes, GoToTheKeyThatTheMessageNames) {
  Diagnostic diagnostic{.severity = Severity::warning,
                        .where = {std::string(kFile), 6, 11},
                        .key = "layout.tensor",
                        .message = "wants something else",
                        .allowed = "4, or batch.global: 128; or a divisor of what there is"};
  const std::vector<Fix> fixes = fixes_for(kSound, kFile, diagnostic);
  ASSERT_EQ(fixes.size(), 2U);
  EXPECT_EQ(apply(kSound, fixes[0]), with("tensor: 8", "tensor: 4"));
  EXPECT_EQ(fixes[1].key, "batch.global");
  EXPECT_EQ(apply(kSound, fixes[1]), with("global: 64", "global: 128"));
}

TEST(Fixes, OfferNoExamplesAndNothingThatTheReaderRefuses) {
  EXPECT_TRUE(fixes_of(with("gpu: h100-sxm-80gb, ", "")).empty()) << "such as h100-sxm-80gb";
  EXPECT_TRUE(fixes_of(with("global: 64", "global: many")).empty());
  EXPECT_TRUE(fixes_for(kSound, kFile, {Severity::error, {}, "", "is odd", "1, 2"}).empty());
}

}  // namespace
}  // namespace orrery::scenario
