#pragma once

// Runs work on one background thread for the GUI thread; the newest request wins.
//
// start() asks the running task to stop and replaces the one waiting. The work gets a stop token
// and a function for its progress, and returns what is to be done with its result: that is called
// on the thread of this object, unless a newer request or cancel() came first. Errors of the work
// become failed(); an interruption becomes nothing.

#include <QObject>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace orrery::gui {

class LatestTask : public QObject {
  Q_OBJECT

 public:
  using Report = std::function<void(std::int64_t done, std::int64_t all)>;
  using Delivery = std::function<void()>;
  using Work = std::function<Delivery(std::stop_token stop, const Report& report)>;

  explicit LatestTask(QObject* parent = nullptr);
  ~LatestTask() override;

  void start(Work work);
  void cancel();

  [[nodiscard]] bool running() const { return running_; }

 signals:
  void running_changed(bool running);
  void progressed(qint64 done, qint64 all);
  void cancelled();
  void failed(const QString& sentence);

 protected:
  // For jobs, which add their request and the signal that delivers its result: `produce(stop,
  // report)` runs on the worker, `deliver(result)` on the thread of this object.
  template <typename Produce, typename Deliver>
  void run(Produce produce, Deliver deliver) {
    start([produce = std::move(produce), deliver = std::move(deliver)](
              const std::stop_token& stop, const Report& report) mutable {
      return Delivery([deliver, result = produce(stop, report)] { deliver(result); });
    });
  }

 private:
  struct Request {
    Work work;
    std::uint64_t number = 0;
    std::stop_source stop;
  };

  void serve(const std::stop_token& end);
  void perform(Request& request);
  void deliver(std::uint64_t number, const Delivery& delivery, const QString& failure);
  void set_running(bool running);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Request> waiting_;
  std::stop_source current_{std::nostopstate};
  std::uint64_t newest_ = 0;  // of the thread of the object
  bool running_ = false;      // likewise
  std::jthread worker_;
};

}  // namespace orrery::gui
