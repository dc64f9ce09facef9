#include "sim/scenario/edit_text.hpp"

#include <gtest/gtest.h>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::scenario {
namespace {

const std::string kText =
    "format: orrery/1   # the format\n"
    "name: \"a # b\"\n"
    "model: {preset: llama3-8b}\n"
    "layout:\n"
    "  tp: 8            # within a node\n"
    "  order: [tp, cp,\n"
    "          pp, dp]\n"
    "\n"
    "capacity: {spares: 32, repair_time: 2d}\n"
    "checkpoint:\n"
    "  mode: async\n"
    "failures:\n"
    "  causes:\n"
    "    - name: gpu    # most of them\n"
    "      weight: 3\n"
    "    - {name: net, weight: 1}\n";

std::string after(const std::string& text, const std::string& key, const std::string& value) {
  Diagnostics diagnostics;
  const auto edit = set_key(text, {key, value, {}}, diagnostics);
  if (!edit) {
    return to_string(diagnostics);
  }
  std::string edited = text;
  return edited.replace(edit->begin, edit->length, edit->text);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(EditText, ReplacesAValueWhereItStandsAndKeepsComments) {
  EXPECT_EQ(after(kText, "layout.tensor", "4"), replaced(kText, "tp: 8 ", "tp: 4 "));
  EXPECT_EQ(after(kText, "name", "plain"), replaced(kText, "\"a # b\"", "plain"));
  EXPECT_EQ(after(kText, "capacity.spares", "64"), replaced(kText, "32", "64"));
  EXPECT_EQ(after(kText, "layout.order", "[dp, pp]"),
            replaced(kText, "[tp, cp,\n          pp, dp]", "[dp, pp]"));
}

TEST(EditText, ReachesItemsOfLists) {
  EXPECT_EQ(after(kText, "failures.causes[0].weight", "5"),
            replaced(kText, "weight: 3", "weight: 5"));
  EXPECT_EQ(after(kText, "failures.causes[1].weight", "5"),
            replaced(kText, "weight: 1", "weight: 5"));
}

TEST(EditText, AddsAKeyToItsSection) {
  EXPECT_EQ(after(kText, "layout.pipeline", "2"),
            replaced(kText, "pp, dp]\n", "pp, dp]\n  pipeline: 2\n"));
  EXPECT_EQ(after(kText, "checkpoint.interval", "30min"),
            replaced(kText, "mode: async\n", "mode: async\n  interval: 30min\n"));
  EXPECT_EQ(after(kText, "model.sequence_length", "4096"),
            replaced(kText, "llama3-8b}", "llama3-8b, sequence_length: 4096}"));
}

TEST(EditText, AddsMissingSections) {
  EXPECT_EQ(after(kText, "prices.gpu_hour", "$2/h"), kText + "prices:\n  gpu_hour: $2/h\n");
  EXPECT_EQ(after("format: orrery/1\ncapacity:\nname: x", "capacity.spares", "3"),
            "format: orrery/1\ncapacity:\n  spares: 3\nname: x");
  EXPECT_EQ(after("format: orrery/1", "capacity.spares", "3"),
            "format: orrery/1\ncapacity:\n  spares: 3");
}

TEST(EditText, SpellsOutATextInPlaceOfASection) {
  const std::string text = "format: orrery/1\nmodel: {preset: llama3-8b}\nsoftware: nemo  # why\n";
  EXPECT_EQ(after(text, "software.context", "library"),
            replaced(text, "nemo", "{name: nemo, context: library}"));
  EXPECT_EQ(after("failures: llama3-2024\n", "failures.node_rate", "0.1/d"),
            "failures: {preset: llama3-2024, node_rate: 0.1/d}\n");
}

TEST(EditText, SaysWhatItCannotDo) {
  EXPECT_EQ(after(kText, "layout.tesor", "4"),
            "error: layout.tesor: unknown key (did you mean `layout.tensor`?)\n");
  EXPECT_EQ(after(kText, "layout.tensor", "4 # 5, {"), replaced(kText, "tp: 8 ", "tp: 4 # 5, { "))
      << "a comment in the value does no harm";
  EXPECT_EQ(after(kText, "capacity.spares", "4, x: 5"),
            "error: capacity.spares: is a mapping where a whole number is needed (a whole number "
            "such as 8 or 15.6T)\n");
  EXPECT_EQ(after("name: |\n  a\n  b\n", "name", "c"),
            "error: name: cannot be set here to this value (change it in the text)\n");
}

TEST(EditText, TakesAKeyAway) {
  const auto without = [](const std::string& key) {
    Diagnostics diagnostics;
    const auto edit = remove_key(kText, key, diagnostics);
    std::string edited = kText;
    return edit ? edited.replace(edit->begin, edit->length, edit->text) : to_string(diagnostics);
  };
  EXPECT_EQ(without("layout.tensor"), replaced(kText, "  tp: 8            # within a node\n", ""));
  EXPECT_EQ(without("capacity.spares"), replaced(kText, "spares: 32, ", ""));
  EXPECT_EQ(without("capacity.repair_time"), replaced(kText, ", repair_time: 2d", ""));
  EXPECT_EQ(without("layout.pipeline"), kText) << "not stated";
}

TEST(EditText, CountsColumnsInCharacters) {
  const std::string text = "a: \xc3\xa4\nb: \xe2\x82\xac!\n";
  EXPECT_EQ(offset_of(text, 1, 5), 5U);  // behind two bytes of one character
  EXPECT_EQ(text[offset_of(text, 2, 5)], '!');
  EXPECT_EQ(offset_of(text, 9, 1), text.size());
}

TEST(StatedKeys, NamesKeysAsTheReferenceDoes) {
  const auto keys = stated_keys(kText);
  ASSERT_EQ(keys.size(), 12U);
  EXPECT_EQ(keys[3].key, "layout.tensor");
  EXPECT_EQ(keys[3].value, "8");
  EXPECT_EQ(keys[4].value, "[tp, cp, pp, dp]");
  EXPECT_EQ(keys[11].key, "failures.causes[1].weight");
}

TEST(StatedKeys, FindsWhatTextsDoNotStateAlike) {
  const std::vector<std::string> texts = {kText, replaced(kText, "tp: 8 ", "tensor: 4"),
                                          replaced(kText, "  mode: async", "  interval: 1h")};
  const auto keys = differing_keys(texts);
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0].key, "layout.tensor");
  EXPECT_EQ(keys[0].values[1], "4");
  EXPECT_EQ(keys[1].key, "checkpoint.mode");
  EXPECT_FALSE(keys[1].values[2].has_value());
  EXPECT_EQ(keys[2].key, "checkpoint.interval");
}

}  // namespace
}  // namespace orrery::scenario
