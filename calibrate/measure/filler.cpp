#include "calibrate/measure/filler.hpp"

#include <algorithm>
#include <utility>

#include "calibrate/measure/replay_timer.hpp"
#include "kernels/device/device_info.hpp"

namespace orrery::calibrate {

namespace {

constexpr Seconds kReplay = milliseconds(4.0);

}  // namespace

Filler::Filler(int device, std::unique_ptr<kernels::Runnable> load)
    : device_(device), load_(std::move(load)) {
  const int calls = calls_for(*load_, stream_.get(), kReplay, 1000);
  graph_ = std::make_unique<kernels::Graph>(stream_.get(), [&](kernels::Stream captured) {
    for (int call = 0; call < calls; ++call) {
      load_->launch(captured, call % load_->copies());
    }
  });
}

Filler::~Filler() {
  finish();
}

void Filler::start() {
  if (thread_.joinable()) {
    return;
  }
  enqueued_ = 0;
  begun_ = std::chrono::steady_clock::now();
  thread_ = std::jthread([this](const std::stop_token& stopped) { run(stopped); });
}

void Filler::run(const std::stop_token& stopped) {
  try {
    kernels::use_device(device_);
    while (!stopped.stop_requested()) {
      const kernels::Event& end = ends_[enqueued_ % ends_.size()];
      if (enqueued_ >= ends_.size()) {
        end.wait();
      }
      graph_->launch(stream_.get());
      end.record(stream_.get());
      ++enqueued_;
    }
  } catch (...) {
    trouble_ = std::current_exception();
  }
}

void Filler::finish() {
  if (!thread_.joinable()) {
    return;
  }
  thread_.request_stop();
  thread_.join();
  const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - begun_;
  loaded_ += seconds(ran.count());
}

void Filler::stop() {
  finish();
  if (trouble_) {
    std::rethrow_exception(std::exchange(trouble_, nullptr));
  }
  stream_.synchronize();
}

void Filler::hand_over(kernels::Stream stream) {
  finish();
  if (trouble_) {
    std::rethrow_exception(std::exchange(trouble_, nullptr));
  }
  if (enqueued_ > 0) {
    kernels::wait_for(stream, ends_[(enqueued_ - 1) % ends_.size()]);
  }
}

}  // namespace orrery::calibrate
