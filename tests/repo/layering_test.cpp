#include <gtest/gtest.h>

#include "tests/repo/rules.hpp"

namespace orrery::repo {
namespace {

TEST(Layering, IncludesFollowTheArrows) {
  expect_none(includes_against_the_arrows(repository()));
}

TEST(Layering, AnIncludeAgainstTheArrowsIsCaught) {
  const Tree tree{{
      {"sim/engine/bad.cpp", "\n#include \"sim/cost/gemm.hpp\"\n#include \"sim/base/units.hpp\"\n"},
      {"sim/run/bad.cpp", "#include \"sim/step/step_result.hpp\"\n#include \"sim/step/a.hpp\"\n"},
      {"sim/scenario/bad.hpp",
       "#include \"sim/cost/cost_spec.hpp\"\n#include \"sim/cost/gemm.hpp\"\n"},
      {"sim/surprise/new.hpp", "#pragma once\n"},
  }};
  expect_offences(
      includes_against_the_arrows(tree),
      {"sim/engine/bad.cpp:2: engine may not include sim/cost/gemm.hpp (base)",
       "sim/run/bad.cpp:2: run may not include sim/step/a.hpp (*_result.hpp, base, engine, "
       "hardware)",
       "sim/scenario/bad.hpp:2: scenario may not include sim/cost/gemm.hpp (*_spec.hpp, "
       "*presets.hpp, base, hardware/gpu_profile.hpp, hardware/profile_reader.hpp, "
       "hardware/profile_search.hpp, hardware/software_profile.hpp, yaml)",
       "sim/surprise/new.hpp:1: sim/surprise is not in the table of arrows"});
}

TEST(Layering, IncludesFollowTheArrowsInsideAComponent) {
  expect_none(includes_against_the_inner_arrows(repository()));
}

TEST(Layering, AnIncludeAgainstAnInnerArrowIsCaught) {
  const Tree tree{{
      {"sim/step/costs/bad.cpp",
       "#include \"sim/step/costs/bad.hpp\"\n#include \"sim/step/step_input.hpp\"\n"
       "#include \"sim/step/replay/a.hpp\"\n#include \"sim/step/step_simulator.hpp\"\n"},
      {"sim/step/replay/good.cpp", "#include \"sim/step/costs/bad.hpp\"\n"},
      {"sim/step/step_simulator.cpp", "#include \"sim/step/replay/a.hpp\"\n"},
  }};
  expect_offences(includes_against_the_inner_arrows(tree),
                  {"sim/step/costs/bad.cpp:3: step/costs may not include sim/step/replay/a.hpp "
                   "(*_input.hpp, *_result.hpp, *_spec.hpp)",
                   "sim/step/costs/bad.cpp:4: step/costs may not include "
                   "sim/step/step_simulator.hpp (*_input.hpp, *_result.hpp, *_spec.hpp)"});
}

TEST(Layering, ProgramsIncludeOnlyWhatStandsBelowThem) {
  expect_none(includes_between_programs(repository()));
}

TEST(Layering, AnIncludeOfAProgramAgainstTheArrowsIsCaught) {
  const Tree tree{{
      {"kernels/nvml/bad.hpp", "#include \"kernels/device/memory.hpp\"\n#include <cuda.h>\n"},
      {"calibrate/samples/bad.cpp", "\n#include \"sim/cost/gemm.hpp\"\n"},
      {"gui/widgets/bad.cpp", "#include \"gui/models/a.hpp\"\n#include \"sim/cost/gemm.hpp\"\n"},
      {"gui/surprise/new.hpp", "#pragma once\n"},
  }};
  expect_offences(
      includes_between_programs(tree),
      {"kernels/nvml/bad.hpp:1: kernels/nvml may not include "
       "kernels/device/memory.hpp (sim/base)",
       "calibrate/samples/bad.cpp:2: calibrate/samples may not include "
       "sim/cost/gemm.hpp (sim/base, sim/kernels)",
       "gui/widgets/bad.cpp:2: gui/widgets may not include sim/cost/gemm.hpp (gui, sim)",
       "gui/surprise/new.hpp:1: gui/surprise is not in the table of arrows"});
}

TEST(Layering, LinksFollowTheArrows) {
  expect_none(links_against_the_arrows(repository()));
}

TEST(Layering, ALinkAgainstTheArrowsIsCaught) {
  const Tree tree{{
      {"sim/engine/CMakeLists.txt", "orrery_component(engine PUBLIC orrery::base orrery::cost)\n"},
      {"sim/cost/CMakeLists.txt", "# orrery::cli\norrery_component(cost PRIVATE orrery::model)\n"},
      {"sim/scenario/CMakeLists.txt", "orrery_component(scenario PUBLIC orrery::evaluate)\n"},
  }};
  expect_offences(links_against_the_arrows(tree),
                  {"sim/engine/CMakeLists.txt:1: engine may not link orrery::cost",
                   "sim/scenario/CMakeLists.txt:1: scenario may not link orrery::evaluate"});
}

TEST(Layering, TheSimulatorIncludesNeitherCudaNorQtNorEigenAndHidesYamlCpp) {
  expect_none(foreign_includes(repository()));
}

TEST(Layering, AForeignIncludeIsCaught) {
  const Tree tree{{
      {"sim/cost/bad.cpp",
       "#include <Eigen/Dense>\n#include <cuda_runtime.h>\n#include <QString>\n"},
      {"sim/scenario/bad.cpp", "#include <yaml-cpp/yaml.h>\n"},
      {"sim/yaml/bad.hpp", "#include <yaml-cpp/yaml.h>\n"},
      {"sim/yaml/good.cpp", "#include <yaml-cpp/yaml.h>\n#include <queue>\n"},
  }};
  expect_offences(foreign_includes(tree),
                  {"sim/cost/bad.cpp:1: sim/ may not include Eigen/Dense",
                   "sim/cost/bad.cpp:2: sim/ may not include cuda_runtime.h",
                   "sim/cost/bad.cpp:3: sim/ may not include QString",
                   "sim/scenario/bad.cpp:1: only sim/yaml/*.cpp may include yaml-cpp",
                   "sim/yaml/bad.hpp:1: only sim/yaml/*.cpp may include yaml-cpp"});
}

TEST(Layering, IncludesAreWrittenFromTheRepositoryRoot) {
  expect_none(includes_not_from_root(repository()));
}

TEST(Layering, ARelativeIncludeIsCaught) {
  const Tree tree{{
      {"sim/cost/bad.cpp",
       "#include \"gemm.hpp\"\n#include \"../base/units.hpp\"\n#include <sim/base/units.hpp>\n"
       "#include \"sim/base/units.hpp\"\n#include <vector>\n"},
      {"sim/base/units.hpp", ""},
  }};
  expect_offences(includes_not_from_root(tree),
                  {"sim/cost/bad.cpp:1: \"gemm.hpp\" is no file from the repository root",
                   "sim/cost/bad.cpp:2: \"../base/units.hpp\" is no file from the repository root",
                   "sim/cost/bad.cpp:3: write \"sim/base/units.hpp\" with quotes"});
}

TEST(Targets, EverySourceBelongsToTheTargetOfItsFolder) {
  expect_none(sources_without_target(repository()));
}

TEST(Targets, AnOrphanIsCaught) {
  const Tree tree{{
      {"sim/CMakeLists.txt", "add_subdirectory(cost)\n"},
      {"sim/cost/CMakeLists.txt", "orrery_component(cost SOURCES gemm.cpp) # attention.cpp\n"},
      {"sim/cost/attention.cpp", ""},
      {"sim/cost/gemm.cpp", ""},
      {"sim/report/CMakeLists.txt", "orrery_component(a SOURCES)\norrery_component(b SOURCES)\n"},
      {"sim/step/step.hpp", ""},
      {"tests/unit/cost/CMakeLists.txt", "orrery_test(cost_test SOURCES gemm_test.cpp)\n"},
      {"tests/unit/cost/attention_test.cpp", ""},
      {"tests/unit/cost/gemm_test.cpp", ""},
  }};
  expect_offences(
      sources_without_target(tree),
      {"sim/cost/attention.cpp:1: sim/cost/CMakeLists.txt does not list attention.cpp",
       "sim/step/step.hpp:1: its folder has no CMakeLists.txt",
       "tests/unit/cost/attention_test.cpp:1: tests/unit/cost/CMakeLists.txt does not list "
       "attention_test.cpp",
       "sim/report/CMakeLists.txt:1: one folder is one component"});
}

TEST(Targets, SourcesAreListedOneByOne) {
  expect_none(gathered_sources(repository()));
}

TEST(Targets, AGlobIsCaught) {
  const Tree tree{{
      {"cmake/good.cmake", "# file(GLOB x *.cpp)\n"},
      {"sim/a/CMakeLists.txt", "file(GLOB x *.cpp)\nfile(GLOB_RECURSE y *.cpp)\n"},
      {"sim/b/CMakeLists.txt", "aux_source_directory(. x)\n"},
  }};
  expect_offences(gathered_sources(tree),
                  {"sim/a/CMakeLists.txt:1: list the sources one by one, without GLOB",
                   "sim/a/CMakeLists.txt:2: list the sources one by one, without GLOB",
                   "sim/b/CMakeLists.txt:1: list the sources one by one, without GLOB"});
}

TEST(Targets, TestsAreEnabledBeforeTheFirstFolder) {
  expect_none(tests_enabled_late(repository()));
}

TEST(Targets, AFolderWhoseTestsAreLostIsCaught) {
  const Tree tree{{
      {"CMakeLists.txt", "add_subdirectory(sim)\nenable_testing()\nadd_subdirectory(tests)\n"},
      {"tests/CMakeLists.txt", "add_subdirectory(unit)\n"},
  }};
  expect_offences(
      tests_enabled_late(tree),
      {"CMakeLists.txt:1: tests of this folder are lost: enable_testing() comes later"});
}

}  // namespace
}  // namespace orrery::repo
