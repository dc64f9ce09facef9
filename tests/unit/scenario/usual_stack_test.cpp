// The stack of a scenario that names none follows its layout, by the `default_for` of profiles.

#include "sim/scenario/usual_stack.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "sim/scenario/load.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/support.hpp"

namespace orrery::scenario::test {
namespace {

namespace fs = std::filesystem;
using layout::LayoutSpec;
using layout::Sharding;

Scenario with(const LayoutSpec& layout) {
  Scenario scenario;
  scenario.layout = layout;
  return scenario;
}

// "torchtitan-fsdp2 or megatron-core"
std::string stacks_of(const LayoutSpec& layout) {
  const std::vector<UsualStack> usual = usual_stacks(with(layout));
  EXPECT_EQ(usual.size(), 1U);
  return usual.empty() ? std::string() : usual.front().name + " or " + usual.front().other;
}

TEST(UsualStack, OfShardedGradientsWithoutAPipelineIsOneOfFsdp2) {
  for (const Sharding sharding : {Sharding::zero2, Sharding::zero3, Sharding::hsdp}) {
    LayoutSpec layout;
    layout.sharding = sharding;
    EXPECT_EQ(stacks_of(layout), "torchtitan-fsdp2 or megatron-core");
    layout.tensor = 4;
    EXPECT_EQ(stacks_of(layout), "torchtitan-fsdp2 or megatron-core");
    layout.expert = 8;
    EXPECT_EQ(stacks_of(layout), "automodel-fsdp2 or megatron-core");
    layout.pipeline = 2;
    EXPECT_EQ(stacks_of(layout), "megatron-core or nemo");
  }
}

TEST(UsualStack, OfOtherLayoutsIsMegatronCore) {
  EXPECT_EQ(stacks_of({}), "megatron-core or pytorch-ddp");
  LayoutSpec layout;
  layout.sharding = Sharding::zero1;
  EXPECT_EQ(stacks_of(layout), "megatron-core or nemo");
  layout.tensor = 8;
  EXPECT_EQ(stacks_of(layout), "megatron-core or nemo");
}

TEST(UsualStack, IsOneForEveryLayoutAndNeitherChoiceIsUnknown) {
  const std::vector<std::string> known =
      hardware::list_software_profiles(hardware::default_search({}));
  const std::set<std::string> profiles(known.begin(), known.end());
  for (const Sharding sharding :
       {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3, Sharding::hsdp}) {
    for (unsigned i = 0; i < 16; ++i) {
      LayoutSpec layout;
      layout.sharding = sharding;
      layout.tensor = (i & 1U) != 0 ? 8 : 1;
      layout.context = (i & 2U) != 0 ? 2 : 1;
      layout.pipeline = (i & 4U) != 0 ? 4 : 1;
      layout.expert = (i & 8U) != 0 ? 8 : 1;
      const std::vector<UsualStack> usual = usual_stacks(with(layout));
      ASSERT_EQ(usual.size(), 1U) << i;
      EXPECT_TRUE(profiles.contains(usual.front().name)) << usual.front().name;
      EXPECT_TRUE(profiles.contains(usual.front().other)) << usual.front().other;
    }
  }
}

// Profiles of its own before the shipped ones: `generic` under another name, with more keys.
class OwnStacks : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& keys) {
    const auto path =
        hardware::file_named(hardware::default_search({}), "software", "generic").value();
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string profile = text.str();
    profile.replace(profile.find("name: generic"), 13, "name: " + name);
    folder_.write("software/" + name + ".yaml", profile + keys);
  }

  // The stack that is taken, or what is wrong.
  std::string stack_of(const std::string& keys) {
    hardware::ProfileSearch search = hardware::default_search({});
    search.directories.insert(search.directories.begin(), folder_);
    Diagnostics diagnostics;
    const auto scenario = load_text(
        "format: orrery/1\nmodel: {preset: llama3-8b}\ncluster: {gpu: h100-sxm-80gb, nodes: 1}\n"
        "batch: {global: 8}\n" +
            keys,
        "test.yaml", diagnostics, search);
    return scenario && diagnostics.all().empty() ? scenario->software : to_string(diagnostics);
  }

 private:
  TempFolder folder_;
};

TEST_F(OwnStacks, TheEntryWithTheMostConditionsDecides) {
  write("mine",
        "default_for:\n  - when: {layout.sharding: zero3, layout.pipeline: 1, layout.tensor: "
        "\"<=2\"}\n    other: nemo\n");
  EXPECT_EQ(stack_of("layout: {sharding: zero3}\n"), "mine");
  EXPECT_EQ(stack_of("layout: {sharding: zero2}\n"), "torchtitan-fsdp2");
}

TEST_F(OwnStacks, AsManyConditionsOfTwoAreAnError) {
  write("mine",
        "default_for:\n  - when: {layout.sharding: zero3, layout.pipeline: 1}\n    other: nemo\n");
  EXPECT_EQ(stack_of("layout: {sharding: zero3}\n"),
            "test.yaml:1:1: error: software: is required: the profiles of mine and "
            "torchtitan-fsdp2 each claim to be the default for this layout (mine, "
            "torchtitan-fsdp2)\n");
}

TEST_F(OwnStacks, OtherKeysThanThoseOfTheLayoutAreRefused) {
  write("mine", "default_for:\n  - {when: {precision: bf16}, other: nemo}\n");
  EXPECT_NE(stack_of("").find("error: precision: is no key of the layout"), std::string::npos);
}

TEST_F(OwnStacks, AnAliasNamesItsStackWhateverTheCase) {
  EXPECT_EQ(stack_of("software: torchtitan\n"), "torchtitan-fsdp2");
  EXPECT_EQ(stack_of("software: {name: TorchTitan, recipe: plain}\n"), "torchtitan-fsdp2");
  EXPECT_EQ(stack_of("software: no-such-stack\n"), "no-such-stack");  // left to whoever loads it
}

TEST_F(OwnStacks, AnAliasOfTwoNamesNone) {
  write("mine", "aliases: [torchtitan]\n");
  EXPECT_EQ(stack_of("software: torchtitan\n"), "torchtitan");
}

TEST(StackNames, AreOfOneShippedProfileEach) {
  const hardware::ProfileSearch search = hardware::default_search({});
  for (const std::string& name : hardware::list_software_profiles(search)) {
    Diagnostics diagnostics;
    const auto profile = hardware::load_software_profile(name, search, {}, "", diagnostics);
    ASSERT_TRUE(profile) << to_string(diagnostics);
    for (const std::string& alias : profile->aliases) {
      EXPECT_EQ(hardware::stack_named(alias, search), name) << alias;
    }
  }
}

}  // namespace
}  // namespace orrery::scenario::test
