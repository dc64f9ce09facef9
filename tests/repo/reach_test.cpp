#include <gtest/gtest.h>

#include "tests/repo/rules.hpp"

namespace orrery::repo {
namespace {

TEST(Reach, EveryFunctionOfTheProductHasAUserInTheProduct) {
  expect_none(functions_without_caller(repository()));
}

TEST(Reach, AFunctionThatOnlyTestsOrNobodyNamesIsCaught) {
  const Tree tree{{{"sim/cost/a.cpp", "int used() { return 1; }\nint idle() { return used(); }\n"},
                   {"sim/cost/a.hpp", "int used();\nint idle();\nint gone(int x);\n"},
                   {"sim/cost/b.hpp",
                    "struct B {\n  B(int);\n  int seen() const override;\n  int idle_member() "
                    "const;\n  int watched() const;\n};\n"},
                   {"tests/unit/a_test.cpp", "TEST(A, B) { idle(); used(); b.watched(); }\n"}}};
  expect_offences(functions_without_caller(tree),
                  {"sim/cost/a.hpp:3: gone is named by nobody",
                   "sim/cost/a.cpp:2: idle is named by tests only",
                   "sim/cost/b.hpp:4: idle_member is named by nobody"});
}

}  // namespace
}  // namespace orrery::repo
