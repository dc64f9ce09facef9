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
  EXPECT_EQ(fixes[1].value, "none");
  EXPECT_EQ(apply(text, fixes[0]), kSound);
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

TEST(Fixes, BeginWithTheNameThatBeginsMostAlike) {
  const std::string text = with("schedule: 1f1b", "schedule: 1f1bbb");
  const Diagnostic diagnostic{.severity = Severity::error,
                              .where = {std::string(kFile), 7, 13},
                              .key = "layout.schedule",
                              .message = "is not known",
                              .allowed = "gpipe, none, 1f1b"};
  const std::vector<Fix> fixes = fixes_for(text, kFile, diagnostic);
  ASSERT_EQ(fixes.size(), 3U);
  EXPECT_EQ(fixes[0].value, "1f1b") << "not the first of the list";
  EXPECT_EQ(fixes[1].value, "gpipe");
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
