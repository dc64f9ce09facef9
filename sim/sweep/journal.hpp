#pragma once

// Which points are finished already, whatever happened to the program? A file of one line per
// point.
//
//   line 1   {"schema": "orrery-sweep-journal/1", what decides the figures of a point}
//   line n   {"point": [values], "status": ..., "reason": ..., "cells": [...]}
//
// How it survives a killed program: sim/base/journal_file.hpp. A journal of something else (other
// scenario, profiles, program, metrics, trials, seed) is refused, and so is one that another
// program writes at the moment. Points are known by their values: with more of them, those that are
// there still count.
//
// All functions throw Error(io).

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/journal_file.hpp"
#include "sim/sweep/point_result.hpp"
#include "sim/sweep/sweep.hpp"

namespace orrery::sweep {

// One line with what decides the figures of a point, without its newline. `version`: of the
// program. Reads the profiles.
[[nodiscard]] std::string journal_header(const Sweep& sweep, const std::string& version);

// A result and the values of its point as a line, without its newline; and back: nothing when it is
// no such line. Doubles come back bit for bit.
[[nodiscard]] std::string journal_line(const Point& point, const PointResult& result);

struct JournalEntry {
  Point point;
  PointResult result;
};

[[nodiscard]] std::optional<JournalEntry> read_journal_line(std::string_view line);

class Journal {
 public:
  // Opens or creates it. An existing one is read when `resume`, and refused otherwise.
  Journal(std::filesystem::path path, const std::string& header, bool resume);

  [[nodiscard]] const std::map<Point, PointResult>& finished() const {
    return finished_;
  }

  // One thread at a time.
  void append(const Point& point, const PointResult& result);

  // Waits until all lines are on the disk.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const {
    return file_.path();
  }

 private:
  [[nodiscard]] JournalFile::Rules rules(const std::string& header);

  std::map<Point, PointResult> finished_;
  JournalFile file_;
};

}  // namespace orrery::sweep
