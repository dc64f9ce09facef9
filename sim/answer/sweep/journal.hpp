#pragma once

// The journal of a sweep: a file of one line per finished point, from which a sweep that was ended
// resumes.
//
//   line 1   {"schema": "orrery-sweep-journal/2", what decides the figures of a point}
//   line n   {"point": [values], "status": ..., "reason": ..., "cells": [...],
//             "files": {path: SHA-256}}
//
// How it survives a killed program, and how a damaged line is found:
// sim/base/files/journal_file.hpp. A journal of something else (other scenario, profiles, program,
// metrics, trials, seed) is refused, and so is one whose points read files that hold something else
// by now (traces, failure logs, profiles by path), and one that another program writes at the
// moment. Points are known by their values: with more of them, those that are there still count.
// Invalid points do not: what was wrong may have been in a file.
//
// All functions throw Error(io).

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "sim/answer/sweep/sweep.hpp"
#include "sim/base/files/journal_file.hpp"

namespace orrery::sweep {

// One line with what decides the figures of a point, without its newline. `version`: of the
// program. Reads the profiles.
[[nodiscard]] std::string journal_header(const Sweep& sweep, const std::string& version);

// A result and the values of its point as a line, without its newline. Doubles come back bit for
// bit.
[[nodiscard]] std::string journal_line(const Point& point, const PointResult& result);

// How many values a line holds.
struct LineShape {
  std::size_t values = 0;  // of a point
  std::size_t cells = 0;   // of its result; an invalid point has none
};

[[nodiscard]] LineShape line_shape(const Sweep& sweep);

struct JournalEntry {
  Point point = {};
  PointResult result = {};
  std::string problem = {};  // why the line is none of this shape; empty: it is one
};

[[nodiscard]] JournalEntry read_journal_line(std::string_view line, const LineShape& shape);

class Journal {
 public:
  // Opens or creates it. An existing one is read when `resume`, and refused otherwise.
  Journal(std::filesystem::path path, const std::string& header, const LineShape& shape,
          bool resume, const FileSystem& files = real_files());

  [[nodiscard]] const std::map<Point, PointResult>& finished() const { return finished_; }

  // One thread at a time.
  void append(const Point& point, const PointResult& result);

  // Waits until all lines are on the disk.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

 private:
  [[nodiscard]] JournalFile::Rules rules(const std::string& header, const LineShape& shape);
  void check_files() const;

  std::map<Point, PointResult> finished_;
  JournalFile file_;
};

}  // namespace orrery::sweep
