// Dispatch by format, remarks, and the outputs.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/validate/output/write_validation.hpp"
#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::validate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRun = R"(format: measured-runs/2
runs:
- id: one
  group: nemo
  source: somewhere
  confidence: partial
  scenario:
    model: {preset: llama3-8b, sequence_length: 8192}
    cluster: {gpu: h100-sxm-80gb, nodes: 1}
    layout: {sharding: zero1}
    batch: {global: 128, micro: 1}
    software: nemo
  measured: {step_time: 12s, peak_memory: {value: 70GiB, kind: reserved}}
  assumed: [batch.micro]
  as_stated: {notes: whatever the source says}
- id: two
  group: maxtext
  scenario:
    model: {preset: llama3-8b, sequence_length: 8192}
    cluster: {gpu: h100-sxm-80gb, nodes: 1}
    layout: {sharding: zero3}
    batch: {global: 128}
    software: generic
  measured: {}
)";

class ValidateFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }

  // Profiles of this repository.
  static ValidateOptions options() {
    ValidateOptions result;
    result.profiles = {fs::path(kSourceDir) / "scenarios" / "profiles"};
    return result;
  }

  std::string errors_of(const std::string& text) {
    Diagnostics diagnostics;
    const fs::path path = write("data.yaml", text);
    EXPECT_FALSE(validate_files({path}, options(), diagnostics).has_value());
    std::string found = to_string(diagnostics);
    const std::string folder = folder_.string() + "/";
    for (std::size_t at = found.find(folder); at != std::string::npos; at = found.find(folder)) {
      found.erase(at, folder.size());
    }
    return found;
  }

  TempFolder folder_;
};

constexpr const char* kFormats =
    "(measured-runs/2, collective-measurements/1, kernel-measurements/1, schedule-cases/1, "
    "fabric-cases/1, whole-runs/2, orrery/1)\n";

TEST_F(ValidateFiles, RefusesUnknownFormats) {
  EXPECT_EQ(errors_of("format: measured-runs/3\n"),
            std::string("data.yaml:1:9: error: format: `measured-runs/3` cannot be validated ") +
                kFormats);
  EXPECT_EQ(errors_of("runs: []\n"),
            std::string("data.yaml:1:1: error: format: is missing ") + kFormats);
}

TEST_F(ValidateFiles, SayWhatConvertsTheOlderForm) {
  EXPECT_EQ(errors_of("format: measured-runs/1\nruns: []\n"),
            "data.yaml:1:9: error: format: `measured-runs/1` is the older form of measured-runs/2 "
            "(`scripts/convert-rows FILE -o OUT` converts it)\n");
}

TEST_F(ValidateFiles, RefusesScenariosWithoutMeasurements) {
  EXPECT_EQ(errors_of("format: orrery/1\nname: x\n"),
            "data.yaml:1:1: error: measured: is missing (a mapping from metrics to what was "
            "measured)\n");
}

TEST_F(ValidateFiles, PredictsRowsAndSaysWhyOthersAreSkipped) {
  Diagnostics diagnostics;
  const auto validation = validate_files({write("data.yaml", kRun)}, options(), diagnostics);
  ASSERT_TRUE(validation.has_value()) << to_string(diagnostics);
  ASSERT_EQ(validation->rows.size(), 3U);
  EXPECT_NEAR(validation->rows[0].predicted, 12.0, 4.0);
  EXPECT_EQ(validation->rows[0].notes, std::vector<std::string>{"assumed: batch.micro"});
  EXPECT_EQ(validation->rows[1].skipped, "no step time was measured");
  EXPECT_EQ(validation->rows[2].quantity, "peak_memory");
  EXPECT_NEAR(validation->rows[2].measured, 70.0 * 1024.0 * 1024.0 * 1024.0, 1.0);
}

// The same steps without the switches of their stack stand beside them.
TEST_F(ValidateFiles, TellsHowARunFaresAsAPersonStatesIt) {
  Diagnostics diagnostics;
  ValidateOptions both = options();
  both.both = true;
  const std::string text = std::string(kRun) + R"(- id: three
  group: nemo
  scenario:
    model: {preset: llama3-8b, sequence_length: 8192}
    cluster: {gpu: h100-sxm-80gb, nodes: 1}
    layout: {tensor: 2, sequence_parallel: true, sharding: zero1}
    batch: {global: 128}
    overlap: {tensor: true}
    software: nemo
  measured: {step_time: 13s}
)";
  const auto validation = validate_files({write("data.yaml", text)}, both, diagnostics);
  ASSERT_TRUE(validation.has_value()) << to_string(diagnostics);
  ASSERT_EQ(validation->unstated.size(), 3U);
  EXPECT_EQ(validation->unstated[0].predicted, validation->rows[0].predicted);
  EXPECT_GT(validation->unstated[2].predicted, validation->rows[2].predicted);
  EXPECT_NE(to_text(*validation).find("as a person states them (--unstated)"), std::string::npos);
  EXPECT_NE(to_markdown(*validation).find("| as a person states it |"), std::string::npos);
}

TEST_F(ValidateFiles, GivesTheSameForAnyNumberOfThreads) {
  Diagnostics diagnostics;
  const fs::path path = write("data.yaml", kRun);
  ValidateOptions one = options();
  one.threads = 1;
  ValidateOptions four = options();
  four.threads = 4;
  EXPECT_EQ(to_json(*validate_files({path}, one, diagnostics)),
            to_json(*validate_files({path}, four, diagnostics)));
}

TEST_F(ValidateFiles, NotesSuspiciousRowsFromTheFileBeside) {
  write("row_remarks.yaml",
        "format: row-remarks/1\nsuspicious:\n- {id: one, reason: odd}\nnotes: [starting values]\n");
  Diagnostics diagnostics;
  const auto validation = validate_files({write("data.yaml", kRun)}, options(), diagnostics);
  ASSERT_TRUE(validation.has_value()) << to_string(diagnostics);
  EXPECT_EQ(validation->rows[0].suspicious, "odd");
  EXPECT_TRUE(validation->rows[1].suspicious.empty());
  EXPECT_EQ(validation->notes, std::vector<std::string>{"starting values"});
}

TEST_F(ValidateFiles, WriteJsonAsTheFormatSays) {
  Diagnostics diagnostics;
  const auto validation = validate_files({write("data.yaml", kRun)}, options(), diagnostics);
  ASSERT_TRUE(validation.has_value()) << to_string(diagnostics);
  const auto json = nlohmann::json::parse(to_json(*validation));
  EXPECT_EQ(json["schema"], "orrery-validation/1");
  for (const char* key : {"n", "skipped", "mape", "median", "p90", "worst", "bias"}) {
    EXPECT_TRUE(json["overall"].contains(key)) << key;
    EXPECT_TRUE(json["groups"][0].contains(key)) << key;
  }
  EXPECT_TRUE(json["overall"].contains("mape_groups"));
  EXPECT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["secondary_groups"].size(), 1U);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["id"], "one");
  EXPECT_EQ(row["group"], "nemo");
  EXPECT_EQ(row["quantity"], "step_time");
  EXPECT_EQ(row["unit"], "s");
  const double predicted = row["predicted"];
  EXPECT_NEAR(row["relative_error"], (predicted - 12.0) / 12.0, 1e-12);
  double shares = 0.0;
  for (const char* kind : {"measured", "published", "datasheet", "assumed", "given"}) {
    shares += row["trust"][kind].get<double>();
  }
  EXPECT_NEAR(shares, 1.0, 1e-9);
  EXPECT_EQ(json["rows"][1]["skipped"], "no step time was measured");
}

TEST_F(ValidateFiles, ExplainsARow) {
  Diagnostics diagnostics;
  const fs::path path = write("data.yaml", kRun);
  const auto text = explain_row({path}, "one", "step_time", options(), diagnostics);
  ASSERT_TRUE(text.has_value()) << to_string(diagnostics);
  EXPECT_EQ(text->rfind("assumed: batch.micro\nstep_time = ", 0), 0U) << text->substr(0, 80);
  EXPECT_FALSE(explain_row({path}, "three", "step_time", options(), diagnostics).has_value());
  EXPECT_TRUE(diagnostics.has_errors());
}

// What was measured of a scenario is compared and reaches nothing else.
TEST_F(ValidateFiles, ComparesScenariosWithTheirMeasurements) {
  const std::string scenario = R"(format: orrery/1
name: small
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 1}
)";
  const std::string rest = R"(layout: {sharding: zero3}
batch: {global: 128, micro: 1}
software: nemo
)";
  Diagnostics diagnostics;
  const auto validation = validate_files(
      {write("a.yaml", scenario + "measured:\n  step_time: 12s\n  mfu: 40%\n" + rest),
       write("b.yaml", scenario + rest + "measured: {step_time: 24s}\n")},
      options(), diagnostics);
  ASSERT_TRUE(validation.has_value()) << to_string(diagnostics);
  ASSERT_EQ(validation->rows.size(), 3U);
  EXPECT_EQ(validation->rows[0].measured, 12.0);
  EXPECT_EQ(validation->rows[1].measured, 0.4);
  EXPECT_EQ(validation->rows[2].measured, 24.0);
  EXPECT_EQ(validation->rows[0].predicted, validation->rows[2].predicted);
}

}  // namespace
}  // namespace orrery::validate
