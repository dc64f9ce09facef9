#pragma once

// Runs long work beside the interpreter: it runs in a thread of its own without the interpreter's
// lock, while the caller's thread checks for Ctrl-C and calls the progress function a few times a
// second.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <stop_token>
#include <utility>

namespace orrery::python {

namespace nb = nanobind;

struct Progress {
  std::atomic<std::int64_t> done{0};
  std::atomic<std::int64_t> all{0};
};

// `work` in another thread. After Ctrl-C, or an exception of the progress function, it is asked to
// stop and waited for; then that exception is raised.
template <typename Work>
auto attended(const nb::object& callback, const Work& work) {
  using Result = decltype(work(std::stop_token(), std::declval<Progress&>()));
  std::stop_source stop;
  Progress progress;
  std::future<Result> result;
  {
    const nb::gil_scoped_release release;
    result = std::async(std::launch::async, [&] { return work(stop.get_token(), progress); });
  }
  constexpr std::chrono::milliseconds kLook{50};
  std::int64_t told = -1;
  const auto ready = [&result](std::chrono::milliseconds wait) {
    const nb::gil_scoped_release release;
    return result.wait_for(wait) == std::future_status::ready;
  };
  const auto give_up = [&]() {
    stop.request_stop();
    const nb::gil_scoped_release release;
    result.wait();
  };
  while (!ready(kLook)) {
    if (PyErr_CheckSignals() != 0) {
      nb::python_error raised;
      give_up();
      throw raised;
    }
    const std::int64_t done = progress.done;
    if (!callback.is_none() && done != told) {
      told = done;
      try {
        callback(done, progress.all.load());
      } catch (nb::python_error&) {
        give_up();
        throw;
      }
    }
  }
  if (!callback.is_none() && progress.all > 0) {
    callback(progress.done.load(), progress.all.load());
  }
  return result.get();
}

inline std::function<void(std::int64_t, std::int64_t)> recorder(Progress& progress) {
  return [&progress](std::int64_t done, std::int64_t all) {
    progress.done = done;
    progress.all = all;
  };
}

}  // namespace orrery::python
