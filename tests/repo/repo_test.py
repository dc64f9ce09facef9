"""Every rule of rules.py holds in the repository, and catches an offending sample."""

import pathlib
import sys
import unittest

import rules
from code_view import outline_of, texts, tokens_of
from rules import MODELINE, File

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "calibrate", "cmake", "docs", "gui", "kernels", "mpi", "python", "scenarios", "scripts", "sim",
           "tests")
TEXTS = ("", ".cmake", ".cpp", ".csv", ".cu", ".cuh", ".hpp", ".json", ".md", ".py", ".svg", ".txt", ".yaml", ".yml")


def load_tree(root):
    """Every text file below `root` in the folders of the project, without build trees; pictures, which
    documents show, with empty text."""
    tree = {}
    paths = [*root.iterdir(), *(path for folder in FOLDERS for path in (root / folder).rglob("*"))]
    for path in sorted(paths):
        if path.is_symlink() or not path.is_file() or path.name == ".git":
            continue
        if path.suffix in TEXTS or path.suffix == ".png":
            text = "" if path.suffix == ".png" else path.read_text(encoding="utf-8", errors="replace")
            file = File(path.relative_to(root).as_posix(), text, bool(path.stat().st_mode & 0o100))
            tree[file] = file
    return tree


def sample(files):
    """A made-up tree: path -> text, or (text, executable)."""
    return {path: File(path, *(text if isinstance(text, tuple) else (text,)))
            for path, text in sorted(files.items())}


def offences(rule, tree):
    return sorted(f"{path}: {what}" if line is None else f"{path}:{line}: {what}" for path, line, what in rule(tree))


LATER, BROKEN, EMPTY, HOME = "TO" "DO", "FIX" "ME", "place" "holder", "/ho" "me/"
READY = "#!/usr/bin/env bash\nset -euo pipefail\n"
BODY_71 = "class A {\n int h() const noexcept {\n" + "g();\n" * 69 + "}\n};\n"
FUNCTIONS = "  void f(int x = g());\n  int h() const { return 1; }\n" * 20
MEMBERS = "  std::function<int(int)> a_;\n  int b_ = g(1);\n" * 15
REST = (" public:\n  using T = int;\n  enum class E { a };\n  struct S { int i; void f(); };\n"
        "  static constexpr int kOne = 1;\n private:\n")
FULL = "class Full {\n" + FUNCTIONS + MEMBERS + "  int c_{1};\n};\n"

# Rule -> files that offend it, beside some that do not, and what it says.
SAMPLES = {
    "includes_against_the_arrows": ({
        "sim/step/engine/bad.cpp": '\n#include "sim/step/cost/gemm.hpp"\n#include "sim/base/units.hpp"\n',
        "sim/run/bad.cpp": '#include "sim/step/simulate/step_result.hpp"\n#include "sim/step/simulate/a.hpp"\n',
        "sim/surprise/new.hpp": "#pragma once\n",
    }, ["sim/step/engine/bad.cpp:2: engine may not include sim/step/cost/gemm.hpp (base)",
        "sim/run/bad.cpp:2: run may not include sim/step/simulate/a.hpp (*_result.hpp, base, engine, hardware)",
        "sim/surprise/new.hpp:1: sim/surprise is not in the table of arrows"]),
    "includes_between_rooms": ({
        "sim/step/cost/bad.cpp": '#include "sim/step/model/op.hpp"\n#include "sim/run/run_spec.hpp"\n',
        "sim/run/good.cpp": '#include "sim/step/engine/replay.hpp"\n#include "sim/base/units.hpp"\n',
    }, ["sim/step/cost/bad.cpp:2: room step may not include sim/run/run_spec.hpp (base)"]),
    "circles_of_folders": ({
        "sim/step/simulate/stages/a.cpp": '#include "sim/step/simulate/replay/a.hpp"\n#include "sim/step/simulate/step_input.hpp"\n',
        "sim/step/simulate/memory/a.cpp": '#include "sim/step/simulate/stages/a.hpp"\n#include "sim/step/simulate/b.hpp"\n',
        "sim/step/simulate/replay/a.cpp": '\n#include "sim/step/simulate/driver.hpp"\n',
        "sim/step/simulate/b.cpp": '#include "sim/step/simulate/c.hpp"\n',
        "sim/step/simulate/c.cpp": '#include "sim/step/simulate/b.hpp"\n',
        "sim/step/simulate/driver.cpp": '#include "sim/step/simulate/stages/a.hpp"\n#include "sim/step/simulate/memory/a.hpp"\n',
        "sim/step/simulate/step_input.hpp": '#include "sim/step/simulate/memory/a.hpp"\n',
    }, ["sim/step/simulate/driver.cpp:1: closes a circle: sim/step/simulate/stages -> sim/step/simulate/replay -> sim/step/simulate/driver -> sim/step/simulate/stages",
        "sim/step/simulate/driver.cpp:2: closes a circle: sim/step/simulate/memory -> sim/step/simulate/stages -> sim/step/simulate/replay -> "
        "sim/step/simulate/driver -> sim/step/simulate/memory",
        "sim/step/simulate/stages/a.cpp:1: closes a circle: sim/step/simulate/replay -> sim/step/simulate/driver -> sim/step/simulate/stages -> "
        "sim/step/simulate/replay"]),
    "includes_between_programs": ({
        "calibrate/samples/bad.cpp": '\n#include "sim/step/cost/gemm.hpp"\n',
        "gui/surprise/new.hpp": "#pragma once\n",
        "gui/widgets/bad.cpp": '#include "gui/models/a.hpp"\n#include "sim/step/cost/gemm.hpp"\n',
        "kernels/nvml/bad.hpp": '#include "kernels/device/runtime.hpp"\n#include <cuda.h>\n',
    }, ["calibrate/samples/bad.cpp:2: calibrate/samples may not include sim/step/cost/gemm.hpp (sim/base, sim/step/kernels)",
        "gui/surprise/new.hpp:1: gui/surprise is not in the table of arrows",
        "gui/widgets/bad.cpp:2: gui/widgets may not include sim/step/cost/gemm.hpp (gui, sim)",
        "kernels/nvml/bad.hpp:1: kernels/nvml may not include kernels/device/runtime.hpp (sim/base)"]),
    "links_against_the_arrows": ({
        "sim/step/cost/CMakeLists.txt": "# orrery::cli\norrery_component(cost PRIVATE orrery::model)\n",
        "sim/step/engine/CMakeLists.txt": "orrery_component(engine PUBLIC orrery::base orrery::cost)\n",
        "sim/scenario/CMakeLists.txt": "orrery_component(scenario PUBLIC orrery::evaluate)\n",
    }, ["sim/step/engine/CMakeLists.txt:1: engine may not link orrery::cost",
        "sim/scenario/CMakeLists.txt:1: scenario may not link orrery::evaluate"]),
    "foreign_includes": ({
        "sim/step/cost/bad.cpp": "#include <Eigen/Dense>\n#include <cuda_runtime.h>\n#include <QString>\n",
        "sim/base/yaml/bad.hpp": "#include <yaml-cpp/yaml.h>\n",
        "sim/base/yaml/good.cpp": "#include <yaml-cpp/yaml.h>\n#include <queue>\n",
    }, ["sim/step/cost/bad.cpp:1: sim/ may not include Eigen/Dense",
        "sim/step/cost/bad.cpp:2: sim/ may not include cuda_runtime.h",
        "sim/step/cost/bad.cpp:3: sim/ may not include QString",
        "sim/base/yaml/bad.hpp:1: only sim/base/yaml/*.cpp may include yaml-cpp"]),
    "includes_not_from_root": ({
        "sim/base/units.hpp": "",
        "sim/step/cost/bad.cpp": '#include "../base/units.hpp"\n#include <sim/base/units.hpp>\n'
                            '#include "sim/base/units.hpp"\n#include <vector>\n',
    }, ['sim/step/cost/bad.cpp:1: "../base/units.hpp" is no file from the repository root',
        'sim/step/cost/bad.cpp:2: write "sim/base/units.hpp" with quotes']),
    "sources_without_target": ({
        "sim/CMakeLists.txt": "add_subdirectory(cost)\n",
        "sim/step/cost/CMakeLists.txt": "orrery_component(cost SOURCES gemm.cpp) # attention.cpp\n",
        "sim/step/cost/attention.cpp": "",
        "sim/step/cost/gemm.cpp": "",
        "sim/answer/report/CMakeLists.txt": "orrery_component(a SOURCES)\norrery_component(b SOURCES)\n",
        "sim/step/simulate/step.hpp": "",
        "tests/unit/cost/CMakeLists.txt": "orrery_test(cost_test SOURCES gemm_test.cpp)\n",
        "tests/unit/cost/attention_test.cpp": "",
        "tests/unit/cost/gemm_test.cpp": "",
    }, ["sim/step/cost/attention.cpp:1: sim/step/cost/CMakeLists.txt does not list attention.cpp",
        "sim/step/simulate/step.hpp:1: its folder has no CMakeLists.txt",
        "tests/unit/cost/attention_test.cpp:1: tests/unit/cost/CMakeLists.txt does not list attention_test.cpp",
        "sim/answer/report/CMakeLists.txt:1: one folder is one component"]),
    "gathered_sources": ({
        "cmake/good.cmake": "# file(GLOB x *.cpp)\n",
        "sim/a/CMakeLists.txt": "file(GLOB x *.cpp)\nfile(GLOB_RECURSE y *.cpp)\n",
        "sim/b/CMakeLists.txt": "aux_source_directory(. x)\n",
    }, [f"sim/{place}: list the sources one by one, without GLOB"
        for place in ("a/CMakeLists.txt:1", "a/CMakeLists.txt:2", "b/CMakeLists.txt:1")]),
    "files_that_tests_share": ({
        "sim/base/good.cpp": "auto folder = std::filesystem::temp_directory_path();\n",
        "tests/bench/good.cpp": "auto folder = std::filesystem::temp_directory_path();\n",
        "tests/support.hpp": "std::string name = ::testing::TempDir() + \"orrery-XXXXXX\";\n",
        "tests/unit/run/bad.cpp": "\nauto a = ::testing::TempDir() + \"a\";\nauto b = fs::temp_directory_path() / \"b\";\n",
    }, ["tests/unit/run/bad.cpp:2: tests run at the same time: a TempFolder is one's own",
        "tests/unit/run/bad.cpp:3: tests run at the same time: a TempFolder is one's own"]),
    "tests_enabled_late": ({
        "CMakeLists.txt": "add_subdirectory(sim)\nenable_testing()\nadd_subdirectory(tests)\n",
        "tests/CMakeLists.txt": "add_subdirectory(unit)\n",
    }, ["CMakeLists.txt:1: tests of this folder are lost: enable_testing() comes later"]),
    "crowded_folders": (
        {name: "" for i in range(41)
         for name in (f"sim/run/bad/{i}.cpp", f"sim/run/good/{i}.yaml", f"tests/unit/{i}.cpp")},
        ["sim/run/bad: 41 files, at most 40"]),
    "long_files": ({
        "sim/step/cost/bad.cpp": "\n" * 601,
        "sim/step/cost/good.cpp": "\n" * 600,
    }, ["sim/step/cost/bad.cpp:601: 601 lines, at most 600"]),
    "long_functions": ({
        "sim/step/cost/a.cpp": "namespace x {\nint f() {\n" + "  g();\n" * 68 + "}\n" + BODY_71 + "}\n",
        "tests/unit/a_test.cpp": BODY_71 + "TEST(A, B) {\n" + "g();\n" * 119 + "}\n",
    }, ["sim/step/cost/a.cpp:73: h has 71 lines, at most 70", "tests/unit/a_test.cpp:74: TEST has 121 lines, at most 120"]),
    "large_classes": ({
        "sim/run/a.hpp": "class Many;\nenum class E { a };\nclass Good : Base {\n" + REST + FUNCTIONS + MEMBERS +
                         "};\nclass Many {\n" + REST + FUNCTIONS + "  Many();\n" + MEMBERS + "};\n",
        "sim/run/b.cpp": "template <class T> void f();\n" + FULL,
        "tests/unit/c.cpp": FULL,
    }, ["sim/run/a.hpp:81: class Many has 41 functions and 30 members, at most 40 and 30",
        "sim/run/b.cpp:2: class Full has 40 functions and 31 members, at most 40 and 30"]),
    "long_lines": ({
        "sim/step/cost/bad.hpp": "\n" + "x" * 101 + "\n",
        "sim/step/cost/good.hpp": "x" * 99 + "\u00b5\n",
    }, ["sim/step/cost/bad.hpp:2: 101 columns, at most 100"]),
    "headers_without_prologue": ({
        "sim/a/bad.hpp": "#pragma once\n\n#include <vector>\n",
        "sim/a/good.hpp": "#pragma once\n\n// Time of a step.\n",
        "sim/a/guard.hpp": "#ifndef GUARD\n#define GUARD\n#endif\n",
    }, ["sim/a/bad.hpp:2: a comment after #pragma once says what the header is for",
        "sim/a/guard.hpp:1: a header starts with #pragma once"]),
    "namespaces_off_folder": ({
        "sim/base/good.hpp": "namespace orrery {}\n",
        "sim/step/cost/bad.hpp": "namespace orrery::step {}\n",
        "sim/step/cost/good.hpp": "namespace orrery::cost {}\n",
    }, ["sim/step/cost/bad.hpp:1: its folder wants namespace orrery::cost"]),
    "scale_literals": ({
        "sim/base/units.hpp": "inline constexpr double kGiga = 1e9;\n",
        "sim/step/cost/bad.cpp": "double a = x / 1e9;\ndouble b = 4.05E+11;\nint c = 1'000'000 * w;\n"
                            "double d = 1024.0;\ndouble e = y * 1024;\nz /= 1000;\ndouble f = 1073741824;\n"
                            "double g = t / 3600;\n",
        "sim/step/cost/good.cpp": "int trials = 1000; int nodes = 1024; int hidden = 16384; int limit = 1'000'000;\n"
                             "double tolerance = 1e-9; double p = 2.5e2; auto bits = 0x1e9; double h = 0x1.0p53;\n"
                             "// 1e9 in a comment, \nauto s = \"1e9\";\n",
        "tests/unit/free_test.cpp": "double a = 1e9;\n",
    }, [f"sim/step/cost/bad.cpp:{line}: {digits} is a unit scale: use sim/base/units.hpp" for line, digits in
        enumerate(("1e9", "4.05E+11", "1'000'000", "1024.0", "1024", "1000", "1073741824", "3600"), 1)]),
    "foreign_randomness": ({
        "sim/run/bad.cpp": "#include <random>\nstd::normal_distribution<double> noise;\nstd::mt19937 engine;\n"
                           "int x = rand();\n",
        "sim/run/good.cpp": "Summary finish_distribution; int y = stream.rand(); int rand = 3;\n",
    }, [f"sim/run/bad.cpp:{line}: use RandomStream, not {word}" for line, word in
        enumerate(("<random>", "normal_distribution", "mt19937", "rand"), 1)]),
    "clocks": ({
        "sim/cli/good.cpp": "auto t = std::chrono::steady_clock::now();\n",
        "sim/run/bad.cpp": "auto t = std::chrono::steady_clock::now();\n// system_clock\n",
    }, ["sim/run/bad.cpp:1: results may not depend on steady_clock"]),
    "names_that_decide": ({
        "sim/step/cost/bad.cpp": 'bool norm = part_name(op.part).ends_with("_norm");\n',
        "sim/step/simulate/operations/good.cpp": "std::string name(part_name(op.part, op.role));\n",
    }, ["sim/step/cost/bad.cpp:1: what an operation is called decides nothing: use its part"]),
    "mutable_globals": ({
        "sim/run/bad.cpp": "namespace orrery::run {\nint counter = 0;\nstd::vector<int> cache;\n"
                           "const char* name = \"x\";\nclass A { static int shared; };\n"
                           "int next() { static int n = 0; return ++n; }\n"
                           "int again() { thread_local std::string buffer; return 0; }\n}\n",
        "sim/run/good.cpp":
            "namespace orrery::run {\n"
            "constexpr int kA = 1; const char* const kB = \"x\"; inline constexpr Table kC = {{1}};\n"
            "const std::map<std::string, const char*> kD = {};\n"
            "int declared(int x); [[nodiscard]] bool marked(); using T = int; class Later;\n"
            "template <typename U> U generic(U u); static_assert(true, \"x\");\n"
            "class B { static constexpr int kE = 2; int member = 3; static B make(); };\n"
            "int table() { static const std::map<int, int*> known = make(); return 1; }\n"
            "bool operator==(const B& a, const B& b);\n}\n",
    }, ["sim/run/bad.cpp:2: a namespace holds a mutable variable",
        "sim/run/bad.cpp:3: a namespace holds a mutable variable",
        "sim/run/bad.cpp:4: a namespace holds a mutable variable",
        "sim/run/bad.cpp:5: a class shares a mutable variable",
        "sim/run/bad.cpp:6: a function keeps mutable static state",
        "sim/run/bad.cpp:7: a function keeps mutable static state"]),
    "using_namespace_in_headers": ({
        "sim/a/bad.hpp": "\nusing namespace std;\n",
        "sim/a/good.cpp": "using namespace std;\n",
    }, ["sim/a/bad.hpp:2: a header opens a namespace for others"]),
    "functions_without_caller": ({
        "sim/step/cost/a.cpp": "int used() { return 1; }\nint idle() { return used(); }\n",
        "sim/step/cost/a.hpp": "int used();\nint idle();\nint gone(int x);\n",
        "sim/step/cost/b.hpp": "struct B {\n  B(int);\n  int seen() const override;\n  int idle_member() const;\n"
                          "  int watched() const;\n};\n",
        "tests/unit/a_test.cpp": "TEST(A, B) { idle(); used(); b.watched(); }\n",
    }, ["sim/step/cost/a.hpp:3: gone is named by nobody", "sim/step/cost/a.cpp:2: idle is named by tests only",
        "sim/step/cost/b.hpp:4: idle_member is named by nobody"]),
    "unfinished_words": ({
        "docs/bad.md": f"\na {EMPTY} text\n",
        "docs/good.md": "mastodons are fine\n",
        "sim/a/bad.cpp": f"// {LATER}(x): later\n// {BROKEN}\n",
    }, [f"docs/bad.md:2: unfinished: {EMPTY}", f"sim/a/bad.cpp:1: unfinished: {LATER}",
        f"sim/a/bad.cpp:2: unfinished: {BROKEN}"]),
    "machine_paths": ({
        "docs/bad.md": f"see {HOME}someone/file\n",
        "docs/good.md": f"see docs{HOME}page and ~/x\n",
    }, [f"docs/bad.md:1: path of one machine:  {HOME}"]),
    "scenarios_without_expectation": ({
        "scenarios/bad.yaml": "name: x\n",
        "scenarios/empty.yaml": "expect:\nname: x\n",
        "scenarios/good.yaml": "name: x\nexpect:\n  - mfu >= 0.38\n",
        "scenarios/profiles/gpu.yaml": "name: x\n",
    }, [f"scenarios/{name}.yaml:1: has no `expect:` with at least one expectation" for name in ("bad", "empty")]),
    "scenarios_without_modeline": ({
        "scenarios/bad.yaml": f"name: x\n{MODELINE}\n",
        "scenarios/good.yaml": f"{MODELINE}\nname: x\n",
    }, [f"scenarios/bad.yaml:1: starts without `{MODELINE}`"]),
    "broken_links": ({
        "README.md": "# Orrery\n"
                     "[a](docs/model.md) [b](docs/none.md) [c](docs/model.md#the-step-time) ![d](docs/)\n"
                     "[e](docs/model.md#nowhere) [f](#orrery) [g](#orreri) [h](https://example.org/x)\n"
                     "```\n[i](none.md)\n```\n"
                     "`[j](none.md)` and [`code`](none.md)\n",
        "docs/model.md": "## The step time\n[up](../README.md)\n```\n# nowhere\n```\n",
    }, ["README.md:2: docs/none.md leads nowhere",
        "README.md:3: docs/model.md#nowhere names no heading of docs/model.md",
        "README.md:3: #orreri names no heading of README.md", "README.md:7: none.md leads nowhere"]),
    "missing_documents": ({
        "CHANGELOG.md": "# Changelog\n",
        "CONTRIBUTING.md": "scripts/test\n",
        "LICENSE": "Apache License\n",
        "README.md": "scripts/demo\n",
        "docs/architecture.md": "",
        "docs/scenario.schema.json": '{"$schema": ""}',
        "sim/README.md": "scenario.yaml\n",
    }, ["README.md:1: does not name scripts/test", "CHANGELOG.md:1: does not name ## 0.1.0",
        "docs/model.md: is missing"]),
    "unready_scripts": ({
        ".ci/run": (READY, True),
        "scripts/demo": (READY, False),
        "scripts/test": ("#!/usr/bin/env bash\n", True),
    }, ["scripts/setup: is missing", "scripts/demo:1: has no executable bit",
        "scripts/test:1: has no `set -euo pipefail`"]),
}


class Rules(unittest.TestCase):
    maxDiff = None

    def test_the_repository_keeps_every_rule(self):
        tree = load_tree(ROOT)
        # A loader that misses folders would let every rule pass.
        for path in ("README.md", "LICENSE", "CMakeLists.txt", ".ci/run", "sim/base/units.hpp", "scripts/demo",
                     "tests/repo/repo_test.py", "docs/decisions/0001-units-and-time.md"):
            self.assertIn(path, tree)
        for rule in rules.RULES:
            with self.subTest(rule.__name__):
                self.assertEqual("\n".join(offences(rule, tree)), "")

    def test_every_rule_catches_its_sample(self):
        for rule in rules.RULES:
            with self.subTest(rule.__name__):
                files, expected = SAMPLES[rule.__name__]
                self.assertEqual(offences(rule, sample(files)), sorted(expected))


class View(unittest.TestCase):
    def test_finds_functions_of_every_form(self):
        text = r"""
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
    }  // namespace
    extern "C" {
    void linked() {}
    }
    }  // namespace a
    TEST(Suite, Case) {
      auto text = R"(raw } brace)";
    }
"""
        self.assertEqual([function.name for function in outline_of(text).functions],
                         ["plain", "S", "operator", "(unnamed)", "linked", "TEST"])

    def test_keeps_namespace_and_class_statements_apart(self):
        outline = outline_of("int a = 3;\nclass B { static int c; void d() { int e; } };")
        self.assertEqual([texts(s) for s in outline.namespace_statements], [["int", "a", "=", "3"]])
        self.assertEqual([texts(s) for s in outline.class_statements], [["static", "int", "c"]])

    def test_skips_comments_strings_and_preprocessor_lines(self):
        tokens = tokens_of("a // b\n/* c\n */ d \"e // f\" g\n#if h \\\n i\n1'000.5e+3")
        self.assertEqual([f"{token.text}@{token.line}" for token in tokens],
                         ["a@1", "d@3", '"@3', "g@3", "1'000.5e+3@6"])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
