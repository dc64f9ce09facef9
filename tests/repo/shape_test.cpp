#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

TEST(Shape, FoldersHoldAtMost40Files) {
  expect_none(crowded_folders(repository()));
}

TEST(Shape, ACrowdedFolderIsCaught) {
  Tree tree;
  for (int i = 0; i < 41; ++i) {
    const std::string name = std::to_string(i);
    tree.files.push_back({"sim/run/bad/" + name + ".cpp", ""});
    tree.files.push_back({"sim/run/good/" + name + ".yaml", ""});
    tree.files.push_back({"tests/unit/" + name + ".cpp", ""});
  }
  expect_offences(crowded_folders(tree), {"sim/run/bad: 41 files, at most 40"});
}

TEST(Shape, FilesStayWithin600Lines) {
  expect_none(long_files(repository()));
}

TEST(Shape, ALongFileIsCaught) {
  const Tree tree{{{"sim/cost/bad.cpp", repeated("\n", 601)},
                   {"sim/cost/good.cpp", repeated("\n", 600)},
                   {"tests/unit/bad_test.cpp", repeated("\n", 602)}}};
  expect_offences(long_files(tree),
                  {"sim/cost/bad.cpp:601: 601 lines, at most 600",
                   "tests/unit/bad_test.cpp:602: 602 lines, at most 600"});
}

TEST(Shape, FunctionsStayWithin70LinesAndTestsWithin120) {
  expect_none(long_functions(repository()));
}

TEST(Shape, ALongFunctionIsCaught) {
  const std::string body70 = "int f() {\n" + repeated("  g();\n", 68) + "}\n";
  const std::string body71 =
      "class A {\n int h() const noexcept {\n" + repeated("g();\n", 69) + "}\n};\n";
  const std::string test121 = "TEST(A, B) {\n" + repeated("g();\n", 119) + "}\n";
  const Tree tree{{{"sim/cost/a.cpp", "namespace x {\n" + body70 + body71 + "}\n"},
                   {"tests/unit/a_test.cpp", body71 + test121}}};
  expect_offences(long_functions(tree),
                  {"sim/cost/a.cpp:73: h has 71 lines, at most 70",
                   "tests/unit/a_test.cpp:74: TEST has 121 lines, at most 120"});
}

TEST(Shape, ClassesStayWithin40FunctionsAnd30Members) {
  expect_none(large_classes(repository()));
}

TEST(Shape, ALargeClassIsCaughtWhateverItsFunctionsLookLike) {
  const std::string functions =
      repeated("  void f(int x = g());\n  int h() const { return 1; }\n", 20);
  const std::string members = repeated("  std::function<int(int)> a_;\n  int b_ = g(1);\n", 15);
  const std::string rest =
      " public:\n  using T = int;\n  enum class E { a };\n  struct S { int i; void f(); };\n"
      "  static constexpr int kOne = 1;\n private:\n";
  const std::string good = "class Good : Base {\n" + rest + functions + members + "};\n";
  const std::string many = "class Many {\n" + rest + functions + "  Many();\n" + members + "};\n";
  const std::string full = "class Full {\n" + functions + members + "  int c_{1};\n};\n";
  const Tree tree{{{"sim/run/a.hpp", "class Many;\nenum class E { a };\n" + good + many},
                   {"sim/run/b.cpp", "template <class T> void f();\n" + full},
                   {"tests/unit/c.cpp", full}}};
  expect_offences(
      large_classes(tree),
      {"sim/run/a.hpp:81: class Many has 41 functions and 30 members, at most 40 and 30",
       "sim/run/b.cpp:2: class Full has 40 functions and 31 members, at most 40 and 30"});
}

TEST(Shape, LinesStayWithin100Columns) {
  expect_none(long_lines(repository()));
}

TEST(Shape, ALongLineIsCaughtAndUmlautsCountOnce) {
  const Tree tree{{{"sim/cost/bad.hpp", "\n" + std::string(101, 'x') + "\n"},
                   {"sim/cost/good.hpp", std::string(99, 'x') + "\u00b5\n"}}};
  expect_offences(long_lines(tree), {"sim/cost/bad.hpp:2: 101 columns, at most 100"});
}

TEST(Shape, HeadersSayWhichQuestionTheyAnswer) {
  expect_none(headers_without_prologue(repository()));
}

TEST(Shape, AHeaderWithoutPrologueIsCaught) {
  const Tree tree{{{"sim/a/bad.hpp", "#pragma once\n\n#include <vector>\n"},
                   {"sim/a/good.hpp", "#pragma once\n\n// What is it?\n"},
                   {"sim/a/guard.hpp", "#ifndef GUARD\n#define GUARD\n#endif\n"}}};
  expect_offences(headers_without_prologue(tree),
                  {"sim/a/bad.hpp:2: a comment after #pragma once says what the header is for",
                   "sim/a/guard.hpp:1: a header starts with #pragma once"});
}

TEST(Shape, NamespacesFollowFolders) {
  expect_none(namespaces_off_folder(repository()));
}

TEST(Shape, AForeignNamespaceIsCaught) {
  const Tree tree{{{"sim/base/good.hpp", "namespace orrery {}\n"},
                   {"sim/cost/bad.hpp", "namespace orrery::step {}\n"},
                   {"sim/cost/good.hpp", "namespace orrery::cost {}\n"}}};
  expect_offences(namespaces_off_folder(tree),
                  {"sim/cost/bad.hpp:1: its folder wants namespace orrery::cost"});
}

std::vector<std::string> function_names(std::string_view text) {
  std::vector<std::string> names;
  for (const Function& function : outline_of(text).functions) {
    names.push_back(function.name);
  }
  return names;
}

TEST(Outline, FindsFunctionsOfEveryForm) {
  constexpr std::string_view kText = R"cpp(
#define MACRO(x) \
      { x }

    namespace a {
    namespace {
    constexpr std::array<int, size(3)> kTable = {{1, 2}};
    enum class Colour { red, green };

    template <typename T = int>
    [[nodiscard]] auto plain(T x, Options o = {}) -> int {
      return x;
    }

    struct S : Base<int> {
      S() : a_{1}, b_(2), c_{} {
        call();
      }

      bool operator==(const S&) const = default;

      S& operator=(S&& other) noexcept {
        if (x) {
          y();
        }
        return *this;
      }

      int a_ = 3;
    };

    const auto kLambda = [](int x) { return "}" + std::string(1, '{'); };  // } not a brace
    }                                                                      // namespace

    extern "C" {
    void linked() {}
    }
    }  // namespace a

    TEST(Suite, Case) {
      auto text = R"(raw } brace)";
    }
  )cpp";
  EXPECT_EQ(function_names(kText),
            (std::vector<std::string>{"plain", "S", "operator", "(unnamed)", "linked", "TEST"}));
}

TEST(Outline, KeepsNamespaceAndClassStatementsApart) {
  const Outline outline = outline_of("int a = 3;\nclass B { static int c; void d() { int e; } };");
  ASSERT_EQ(outline.namespace_statements.size(), 1U);
  EXPECT_EQ(outline.namespace_statements[0][1].text, "a");
  ASSERT_EQ(outline.class_statements.size(), 1U);
  EXPECT_EQ(outline.class_statements[0][2].text, "c");
}

TEST(Lexer, SkipsCommentsStringsAndPreprocessorLines) {
  std::string words;
  for (const Token& token :
       tokens_of("a // b\n/* c\n */ d \"e // f\" g\n#if h \\\n i\n1'000.5e+3")) {
    words += std::string(token.text) + "@" + std::to_string(token.line) + " ";
  }
  EXPECT_EQ(words, "a@1 d@3 \"@3 g@3 1'000.5e+3@6 ");
}

}  // namespace
}  // namespace orrery::repo
