#include "gui/models/jobs/latest_task.hpp"

#include <exception>
#include <utility>

#include "sim/base/error.hpp"

namespace orrery::gui {

LatestTask::LatestTask(QObject* parent)
    : QObject(parent), worker_([this](const std::stop_token& end) { serve(end); }) {}

LatestTask::~LatestTask() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.reset();
    current_.request_stop();
  }
  worker_.request_stop();
  worker_.join();
}

void LatestTask::start(Work work) {
  ++newest_;
  {
    const std::lock_guard lock(mutex_);
    current_.request_stop();
    waiting_ = Request{std::move(work), newest_, std::stop_source()};
  }
  wake_.notify_one();
  set_running(true);
}

void LatestTask::cancel() {
  if (!running_) {
    return;
  }
  ++newest_;
  {
    const std::lock_guard lock(mutex_);
    waiting_.reset();
    current_.request_stop();
  }
  set_running(false);
  emit cancelled();
}

void LatestTask::serve(const std::stop_token& end) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait(lock, end, [this] { return waiting_.has_value(); })) {
      return;
    }
    Request request = std::move(*waiting_);
    waiting_.reset();
    current_ = request.stop;
    lock.unlock();
    perform(request);
  }
}

void LatestTask::perform(Request& request) {
  Delivery delivery;
  QString failure;
  const std::uint64_t number = request.number;
  const Report report = [this, number](std::int64_t done, std::int64_t all) {
    QMetaObject::invokeMethod(
        this,
        [this, number, done, all] {
          if (number == newest_) {
            emit progressed(done, all);
          }
        },
        Qt::QueuedConnection);
  };
  try {
    delivery = request.work(request.stop.get_token(), report);
  } catch (const Error& error) {
    failure = error.kind() == ErrorKind::interrupted ? QString() : QString::fromUtf8(error.what());
  } catch (const std::exception& error) {
    failure = QString::fromUtf8(error.what());
  }
  QMetaObject::invokeMethod(
      this, [this, number, delivery, failure] { deliver(number, delivery, failure); },
      Qt::QueuedConnection);
}

void LatestTask::deliver(std::uint64_t number, const Delivery& delivery, const QString& failure) {
  if (number != newest_) {
    return;
  }
  set_running(false);
  if (!failure.isEmpty()) {
    emit failed(failure);
  } else if (delivery) {
    delivery();
  }
}

void LatestTask::set_running(bool running) {
  if (running_ != running) {
    running_ = running;
    emit running_changed(running);
  }
}

}  // namespace orrery::gui
