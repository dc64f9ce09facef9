#pragma once

// Records found in the imported files, of every kind that some format can hold.
//
// A new kind of import (descriptions of models, say) adds a member here and a row to the table of
// formats (formats.hpp).

#include <vector>

#include "calibrate/import/collective_log.hpp"
#include "calibrate/import/copy_log.hpp"

namespace orrery::calibration_import {

struct Findings {
  std::vector<CollectiveLog> collectives;
  std::vector<CopyLog> copies;
};

}  // namespace orrery::calibration_import
