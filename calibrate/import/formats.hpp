#pragma once

// Table of log formats, which identifies a file by its content and never by its name.
//
// format            | recognised by                              | source file
// ------------------|--------------------------------------------|--------------------
// nccl-tests JSON   | an object with "results" and "nccl_version"| nccl_json.cpp
// nvbandwidth JSON  | an object with "nvbandwidth"               | nvbandwidth.cpp
// nvbandwidth text  | `Running ..._memcpy_ce.`                   | nvbandwidth.cpp
// nccl-tests CSV    | a heading with commas                      | nccl_csv.cpp
// nccl-tests text   | a heading or a row of results              | nccl_text.cpp
//
// One more format is one more row and one more file; it writes into Findings.

#include <span>
#include <string_view>
#include <vector>

#include "calibrate/import/collective_log.hpp"
#include "calibrate/import/copy_log.hpp"
#include "calibrate/import/log_text.hpp"

namespace orrery::calibration_import {

// Records found in the imported files, of every kind that some format can hold.
//
// A new kind of import (descriptions of models, say) adds a member here and a row to the table of
// formats (formats.hpp).

struct Findings {
  std::vector<CollectiveLog> collectives;
  std::vector<CopyLog> copies;
};

struct LogFormat {
  std::string_view name;
  bool (*recognises)(const LogFile& file);
  void (*read)(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
};

// Reads the file in its format, or reports that it has none; returns the format's name, "" then.
std::string_view read_log(const LogFile& file, Findings& findings, Diagnostics& diagnostics);

[[nodiscard]] bool is_nccl_json(const LogFile& file);
[[nodiscard]] bool is_nccl_csv(const LogFile& file);
[[nodiscard]] bool is_nccl_text(const LogFile& file);
[[nodiscard]] bool is_nvbandwidth_json(const LogFile& file);
[[nodiscard]] bool is_nvbandwidth_text(const LogFile& file);

void read_nccl_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nccl_csv(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nccl_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nvbandwidth_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nvbandwidth_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics);

}  // namespace orrery::calibration_import
