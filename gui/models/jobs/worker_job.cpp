#include "gui/models/jobs/worker_job.hpp"

namespace orrery::gui {

WorkerJob::WorkerJob(QObject* parent) : QObject(parent) {
  connect(&task_, &LatestTask::running_changed, this, &WorkerJob::running_changed);
  connect(&task_, &LatestTask::progressed, this, &WorkerJob::progressed);
  connect(&task_, &LatestTask::cancelled, this, &WorkerJob::cancelled);
  connect(&task_, &LatestTask::failed, this, &WorkerJob::failed);
}

void WorkerJob::cancel() {
  task_.cancel();
}

bool WorkerJob::running() const {
  return task_.running();
}

}  // namespace orrery::gui
