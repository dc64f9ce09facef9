#pragma once

// The repository's coding rules. One function per rule; each returns all offences of a tree.
//
// The reasons are in CONTRIBUTING.md and docs/decisions/. Product means sim/, calibrate/, gui/
// and kernels/; tests are held to the looser limits that their rule states.

#include "tests/repo/tree.hpp"

namespace orrery::repo {

// Layering: which folder of sim/ may include or link which (layering_rules.cpp has the table).
[[nodiscard]] Offences includes_against_the_arrows(const Tree& tree);
[[nodiscard]] Offences includes_against_the_inner_arrows(const Tree& tree);  // between sub-folders
[[nodiscard]] Offences links_against_the_arrows(const Tree& tree);
[[nodiscard]] Offences includes_between_programs(const Tree& tree);  // kernels, calibrate, gui, mpi
[[nodiscard]] Offences foreign_includes(const Tree& tree);  // CUDA, Qt, Eigen, yaml-cpp in sim/
[[nodiscard]] Offences includes_not_from_root(const Tree& tree);
[[nodiscard]] Offences sources_without_target(const Tree& tree);
[[nodiscard]] Offences gathered_sources(const Tree& tree);    // file(GLOB) in CMake
[[nodiscard]] Offences tests_enabled_late(const Tree& tree);  // add_test without enable_testing

// Shape: sizes and the head of a file.
[[nodiscard]] Offences crowded_folders(const Tree& tree);  // of the product: > 40 files
[[nodiscard]] Offences long_files(const Tree& tree);       // > 500 lines
[[nodiscard]] Offences long_functions(const Tree& tree);   // > 70 lines, tests > 120
[[nodiscard]] Offences large_classes(
    const Tree& tree);                                // of the product: > 40 functions, 30 members
[[nodiscard]] Offences long_lines(const Tree& tree);  // > 100 columns
[[nodiscard]] Offences headers_without_prologue(const Tree& tree);
[[nodiscard]] Offences namespaces_off_folder(const Tree& tree);

// Code of sim/.
[[nodiscard]] Offences scale_literals(const Tree& tree);
[[nodiscard]] Offences foreign_randomness(const Tree& tree);
[[nodiscard]] Offences clocks(const Tree& tree);
[[nodiscard]] Offences names_that_decide(const Tree& tree);  // of operations: they are shown only
[[nodiscard]] Offences mutable_globals(const Tree& tree);
[[nodiscard]] Offences using_namespace_in_headers(const Tree& tree);

// Functions of the product that no other product code names: dead, or an oracle that belongs to its
// test.
[[nodiscard]] Offences functions_without_caller(const Tree& tree);

// Text: documents, scenarios, scripts.
[[nodiscard]] Offences unfinished_words(const Tree& tree);
[[nodiscard]] Offences machine_paths(const Tree& tree);
[[nodiscard]] Offences scenarios_without_expectation(const Tree& tree);
[[nodiscard]] Offences scenarios_without_modeline(const Tree& tree);
[[nodiscard]] Offences broken_links(const Tree& tree);
[[nodiscard]] Offences missing_documents(const Tree& tree);
[[nodiscard]] Offences unready_scripts(const Tree& tree);

}  // namespace orrery::repo
