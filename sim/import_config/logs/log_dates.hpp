#pragma once

// When was a line of a log written, and by which rank? Internal to import_config/.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::import_config {

// In milliseconds, of the first date with a time: 2025-10-06 03:27:07,140, 2025-10-17T11:32:59,
// 08/31/2024 14:37:31, "time_ms": 1696565401886. Of one zone, whichever it is: only differences
// count.
[[nodiscard]] std::optional<std::int64_t> date_of(std::string_view line);

// What tells ranks and nodes apart: `7:` of srun, `[rank7]:` of torchrun, `node-7:` of pdsh in
// front of a line, `[Rank 7]` of DeepSpeed, `|DP=0|PP=7|TP=0` of nanotron. Empty where nothing
// does.
[[nodiscard]] std::string writer_of(std::string_view line);

}  // namespace orrery::import_config
