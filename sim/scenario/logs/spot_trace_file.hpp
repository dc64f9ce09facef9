#pragma once

// Reader of the files of `capacity.spot.traces`: a trace in one of two formats, distinguished by
// the first character.
//
// format | begins with | what it holds
// -------|-------------|--------------------------------------------------------------------------
// CSV    | anything    | a header line `time,available` or `time,available,price`, then one row per
//        |             | change; lines that begin with `#` are comments; the last row ends it
// JSON   | {           | {"metadata": {"gap_seconds": G}, "data": [n0, n1, ...]}: nodes that could
//        |             | be had, one sample per G seconds, as in skypilot-org/spot-traces
//
// Each sample holds until the next one, the last for G too. Other keys of the JSON are not read;
// `prices` there are dollars per instance, not per GPU, and give a warning.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/run/capacity/capacity_spec.hpp"

namespace orrery::scenario {

// A trace of samples at equal distances. At least one sample; the gap is above 0.
[[nodiscard]] run::SpotTrace trace_of_samples(Seconds gap,
                                              const std::vector<std::int64_t>& available);

// The trace in `text`, which was read from `file`; nothing after an error. `where` and `key` are
// those of the scenario that names the file.
[[nodiscard]] std::optional<run::SpotTrace> read_spot_trace_text(std::string_view text,
                                                                 const std::string& file,
                                                                 const SourceLocation& where,
                                                                 std::string_view key,
                                                                 Diagnostics& diagnostics);

}  // namespace orrery::scenario
