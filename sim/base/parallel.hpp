#pragma once

// Parallel loops over independent work: one interface over oneTBB, or std::thread under TSan.
//
// parallel_for splits [0, n) into chunks of `grain` and calls body(begin, end) for each, on at most
// `threads` threads (0: all cores). Chunks are independent and write to their own slots, so results
// must not depend on the number of threads; callers reduce sequentially afterwards. A stop request
// is honoured between chunks: chunks that have not started are skipped and the function returns
// false.

#include <cstdint>
#include <functional>
#include <stop_token>

namespace orrery {

struct ParallelOptions {
  int threads = 0;            // 0: as many as the machine has
  std::int64_t grain = 1;     // indices per chunk, >= 1
  std::stop_token stop = {};  // cancels between chunks
};

// Returns true when every chunk ran.
bool parallel_for(std::int64_t n, const ParallelOptions& options,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace orrery
