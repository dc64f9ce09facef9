#include <gtest/gtest.h>

#include "tests/repo/rules.hpp"

namespace orrery::repo {
namespace {

TEST(Code, UnitScalesAreNamedOnce) {
  expect_none(scale_literals(repository()));
}

TEST(Code, AScaleLiteralIsCaught) {
  const Tree tree{{
      {"sim/base/units.hpp", "inline constexpr double kGiga = 1e9;\n"},
      {"sim/cost/bad.cpp",
       "double a = x / 1e9;\n"
       "double b = 4.05E+11;\n"
       "int c = 1'000'000 * w;\n"
       "double d = 1024.0;\n"
       "double e = y * 1024;\n"
       "z /= 1000;\n"
       "double f = 1073741824;\n"
       "double g = t / 3600;\n"},
      {"sim/cost/good.cpp",
       "int trials = 1000; int nodes = 1024; int hidden = 16384; int limit = 1'000'000;\n"
       "double tolerance = 1e-9; double p = 2.5e2; auto bits = 0x1e9; double h = 0x1.0p53;\n"
       "// 1e9 in a comment, \nauto s = \"1e9\";\n"},
      {"tests/unit/free_test.cpp", "double a = 1e9;\n"},
  }};
  expect_offences(scale_literals(tree),
                  {"sim/cost/bad.cpp:1: 1e9 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:2: 4.05E+11 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:3: 1'000'000 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:4: 1024.0 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:5: 1024 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:6: 1000 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:7: 1073741824 is a unit scale: use sim/base/units.hpp",
                   "sim/cost/bad.cpp:8: 3600 is a unit scale: use sim/base/units.hpp"});
}

TEST(Code, RandomNumbersComeFromNamedStreams) {
  expect_none(foreign_randomness(repository()));
}

TEST(Code, ForeignRandomnessIsCaught) {
  const Tree tree{{
      {"sim/run/bad.cpp",
       "#include <random>\n"
       "std::normal_distribution<double> noise;\n"
       "std::mt19937 engine;\n"
       "int x = rand();\n"},
      {"sim/run/good.cpp", "Summary finish_distribution; int y = stream.rand(); int rand = 3;\n"},
  }};
  expect_offences(foreign_randomness(tree),
                  {"sim/run/bad.cpp:1: use RandomStream, not <random>",
                   "sim/run/bad.cpp:2: use RandomStream, not normal_distribution",
                   "sim/run/bad.cpp:3: use RandomStream, not mt19937",
                   "sim/run/bad.cpp:4: use RandomStream, not rand"});
}

TEST(Code, ResultsDoNotDependOnClocks) {
  expect_none(clocks(repository()));
}

TEST(Code, AClockIsCaught) {
  const Tree tree{{
      {"sim/cli/good.cpp", "auto t = std::chrono::steady_clock::now();\n"},
      {"sim/run/bad.cpp", "auto t = std::chrono::steady_clock::now();\n// system_clock\n"},
  }};
  expect_offences(clocks(tree), {"sim/run/bad.cpp:1: results may not depend on steady_clock"});
}

TEST(Code, NamesOfOperationsAreOnlyShown) {
  expect_none(names_that_decide(repository()));
}

TEST(Code, ANameThatDecidesIsCaught) {
  const Tree tree{{
      {"sim/cost/bad.cpp", "bool norm = part_name(op.part).ends_with(\"_norm\");\n"},
      {"sim/step/operations/good.cpp", "std::string name(part_name(op.part, op.role));\n"},
  }};
  expect_offences(
      names_that_decide(tree),
      {"sim/cost/bad.cpp:1: what an operation is called decides nothing: use its part"});
}

TEST(Code, NoStateHidesOutsideOfObjects) {
  expect_none(mutable_globals(repository()));
}

TEST(Code, AMutableGlobalIsCaught) {
  const Tree tree{{
      {"sim/run/bad.cpp",
       "namespace orrery::run {\n"
       "int counter = 0;\n"
       "std::vector<int> cache;\n"
       "const char* name = \"x\";\n"
       "class A { static int shared; };\n"
       "int next() { static int n = 0; return ++n; }\n"
       "int again() { thread_local std::string buffer; return 0; }\n"
       "}\n"},
      {"sim/run/good.cpp",
       "namespace orrery::run {\n"
       "constexpr int kA = 1; const char* const kB = \"x\"; inline constexpr Table kC = {{1}};\n"
       "const std::map<std::string, const char*> kD = {};\n"
       "int declared(int x); [[nodiscard]] bool marked(); using T = int; class Later;\n"
       "template <typename U> U generic(U u); static_assert(true, \"x\");\n"
       "class B { static constexpr int kE = 2; int member = 3; static B make(); };\n"
       "int table() { static const std::map<int, int*> known = make(); return 1; }\n"
       "bool operator==(const B& a, const B& b);\n"
       "}\n"},
  }};
  expect_offences(mutable_globals(tree),
                  {"sim/run/bad.cpp:2: a namespace holds a mutable variable",
                   "sim/run/bad.cpp:3: a namespace holds a mutable variable",
                   "sim/run/bad.cpp:4: a namespace holds a mutable variable",
                   "sim/run/bad.cpp:5: a class shares a mutable variable",
                   "sim/run/bad.cpp:6: a function keeps mutable static state",
                   "sim/run/bad.cpp:7: a function keeps mutable static state"});
}

TEST(Code, HeadersOpenNoNamespace) {
  expect_none(using_namespace_in_headers(repository()));
}

TEST(Code, AnOpenedNamespaceIsCaught) {
  const Tree tree{{{"sim/a/bad.hpp", "\nusing namespace std;\n"},
                   {"sim/a/good.cpp", "using namespace std;\n"}}};
  expect_offences(using_namespace_in_headers(tree),
                  {"sim/a/bad.hpp:2: a header opens a namespace for others"});
}

}  // namespace
}  // namespace orrery::repo
