#pragma once

// A stop that comes after a time, or with another one.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace orrery::cli {

class TimeLimit {
 public:
  TimeLimit(std::chrono::duration<double> after, const std::stop_token& other)
      : with_other_(other, [this] { source_.request_stop(); }),
        timer_([this, after](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          wake_.wait_for(lock, done, after, [] { return false; });
          source_.request_stop();
        }) {}

  [[nodiscard]] std::stop_token token() const {
    return source_.get_token();
  }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> with_other_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread timer_;  // last: it uses the others
};

}  // namespace orrery::cli
