#include "sim/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "sim/base/check.hpp"

#ifdef ORRERY_USE_STD_THREAD
#include <exception>
#include <mutex>
#include <vector>
#else
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace orrery {

namespace {

int thread_count(int requested) {
  const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return requested > 0 ? requested : hardware;
}

#ifdef ORRERY_USE_STD_THREAD
// Debian's oneTBB is not built for ThreadSanitizer and raises false reports there.
void for_each_chunk(std::int64_t chunks, int threads,
                    const std::function<void(std::int64_t)>& run_chunk) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  std::vector<std::jthread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      try {
        for (std::int64_t i = next.fetch_add(1); i < chunks; i = next.fetch_add(1)) {
          run_chunk(i);
        }
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
        next = chunks;
      }
    });
  }
  workers.clear();  // joins
  if (failure) {
    std::rethrow_exception(failure);
  }
}
#else
void for_each_chunk(std::int64_t chunks, int threads,
                    const std::function<void(std::int64_t)>& run_chunk) {
  // Without it oneTBB ignores requests above the number of cores, and says so on stderr.
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          static_cast<std::size_t>(threads));
  oneapi::tbb::task_arena arena(threads);
  arena.execute([&] { oneapi::tbb::parallel_for(std::int64_t{0}, chunks, run_chunk); });
}
#endif

}  // namespace

bool parallel_for(std::int64_t n, const ParallelOptions& options,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  ORRERY_CHECK(options.grain >= 1, "grain must be at least 1, is {}", options.grain);
  const std::int64_t chunks = (n + options.grain - 1) / options.grain;
  std::atomic<bool> complete{true};
  const auto run_chunk = [&](std::int64_t chunk) {
    if (options.stop.stop_requested()) {
      complete = false;
      return;
    }
    const std::int64_t begin = chunk * options.grain;
    body(begin, std::min(n, begin + options.grain));
  };
  const int threads = thread_count(options.threads);
  if (threads == 1 || chunks <= 1) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      run_chunk(chunk);
    }
  } else {
    for_each_chunk(chunks, threads, run_chunk);
  }
  return complete;
}

}  // namespace orrery
