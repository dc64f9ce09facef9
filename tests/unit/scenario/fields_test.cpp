#include "sim/scenario/table/fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/files/file.hpp"
#include "sim/scenario/edit_text.hpp"
#include "tests/checkout.hpp"

namespace orrery::scenario {
namespace {

const Field* find(const std::vector<Field>& fields, std::string_view path) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [path](const Field& field) { return field.path == path; });
  return found == fields.end() ? nullptr : &*found;
}

TEST(Fields, SayWhatAKeyTakesAndWhatTheFileStates) {
  const auto fields = fields_of(
      "format: orrery/1\nlayout: {tp: 8}\ncheckpoint:\n  mode: async\nfailures:\n"
      "  causes: [{name: gpu, weight: 2}]\n");
  const Field* tensor = find(fields, "layout.tensor");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->stated, "8");
  EXPECT_EQ(tensor->section, "layout");
  EXPECT_EQ(tensor->where.line, 2);
  EXPECT_FALSE(tensor->meaning.empty());
  EXPECT_TRUE(tensor->choices.empty());
  const Field* mode = find(fields, "checkpoint.mode");
  ASSERT_NE(mode, nullptr);
  EXPECT_NE(std::find(mode->choices.begin(), mode->choices.end(), "async"), mode->choices.end());
  ASSERT_NE(find(fields, "failures.causes[0].weight"), nullptr);
  EXPECT_EQ(find(fields, "failures.causes[0].weight")->stated, "2");
  EXPECT_EQ(find(fields, "failures.causes[1].weight"), nullptr);
  const Field* spares = find(fields, "capacity.spares");
  ASSERT_NE(spares, nullptr);
  EXPECT_FALSE(spares->stated.has_value());
  EXPECT_EQ(find(fields, "format"), nullptr);
}

TEST(Fields, OfABrokenTextStateNothing) {
  const auto fields = fields_of("a: [");
  ASSERT_FALSE(fields.empty());
  EXPECT_TRUE(std::none_of(fields.begin(), fields.end(),
                           [](const Field& field) { return field.stated.has_value(); }));
}

// In every shipped scenario each stated one-line field can be set to what it is, which changes
// nothing, so that edits never touch what they should not.
TEST(Fields, OfShippedScenariosCanBeWrittenBack) {
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  int written = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    if (file.path().extension() != ".yaml") {
      continue;
    }
    const std::string text = read_file(file.path(), kMost);
    for (const Field& field : fields_of(text)) {
      if (!field.stated || !field.one_line || field.stated->empty()) {
        continue;
      }
      Diagnostics diagnostics;
      const auto edit = set_key(text, {field.path, *field.stated, {}}, diagnostics);
      ASSERT_TRUE(edit.has_value()) << file.path() << " " << field.path << " " << *field.stated;
      std::string edited = text;
      EXPECT_EQ(edited.replace(edit->begin, edit->length, edit->text), text)
          << file.path() << " " << field.path;
      ++written;
    }
  }
  EXPECT_GT(written, 1000);
}

}  // namespace
}  // namespace orrery::scenario
