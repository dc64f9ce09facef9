#include "gui/timeline/load_job.hpp"

#include <exception>
#include <utility>

namespace orrery::timeline {

LoadJob::LoadJob(std::filesystem::path path, ReadOptions limits, Done done)
    : thread_([this, path = std::move(path), limits = std::move(limits), done = std::move(done)](
                  std::stop_token stop) mutable {
        limits.stop = stop;
        limits.progress = [this](double share) {
          progress_.store(share, std::memory_order_relaxed);
        };
        ReadResult result;
        try {
          result = read_chrome_trace(path, limits);
        } catch (const std::exception& error) {
          result.problem = error.what();
        }
        finished_.store(true, std::memory_order_release);
        if (!stop.stop_requested() || result.cancelled) {
          done(std::move(result));
        }
      }) {}

}  // namespace orrery::timeline
