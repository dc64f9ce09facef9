#pragma once

// Base class of the jobs on a worker thread: the newest request wins, progress is reported,
// cancel() ends it. A derived job adds its request and the signal that delivers its result.

#include <QObject>
#include <QString>
#include <utility>

#include "gui/models/jobs/latest_task.hpp"

namespace orrery::gui {

class WorkerJob : public QObject {
  Q_OBJECT

 public:
  explicit WorkerJob(QObject* parent = nullptr);

  void cancel();
  [[nodiscard]] bool running() const;

 signals:
  void running_changed(bool running);
  void progressed(qint64 done, qint64 all);
  void cancelled();
  void failed(const QString& sentence);

 protected:
  // `produce(stop, report)` runs on the worker; `deliver(result)` on the thread of this object.
  template <typename Produce, typename Deliver>
  void run(Produce produce, Deliver deliver) {
    task_.start([produce = std::move(produce), deliver = std::move(deliver)](
                    const std::stop_token& stop, const LatestTask::Report& report) mutable {
      return LatestTask::Delivery([deliver, result = produce(stop, report)] { deliver(result); });
    });
  }

 private:
  LatestTask task_;
};

}  // namespace orrery::gui
