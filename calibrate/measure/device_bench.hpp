#pragma once

// The bench of a real GPU: prepares, verifies and times one case after another.
//
// Operands are rotated over more than 4 x L2 and hold random data by a seed of the case, so that a
// case draws the same power in every run. A result that is verified is compared before it is timed.

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/sweep/timing_protocol.hpp"
#include "kernels/device/device_info.hpp"
#include "kernels/device/occupier.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

// Times a kernel on this GPU by replays of a graph between two events, following the protocol of
// calibrate/sweep/timing_protocol.hpp.
//
//   calls  = max(operand sets, replay / single), at most 2,000
//   sample = (time between the events around one replay) / calls
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|----------
// single | one call, timed after three that are not                       | s    | measured
// replay | 2 ms: long against the resolution of events (0.5 us)           | s    | protocol
// sets   | operand sets, used in turn, more than 4 x L2 together          | 1    | runnable
//
// Under a condition (calibrate/samples/sample.hpp)
//   enqueued       2,000 calls in a row on the stream, without a graph: what the host can launch
//   graph          a graph of exactly n calls; sample = time of one replay / n
//   multiprocessors removed, streaming
//                  while an Occupier holds multiprocessors (kernels/device/occupier.hpp)
//   beside         the other case is enqueued on a second stream, so that its first call has ended
//                  when the replay begins and its last has not when the replay ends;
//                  which is checked;
//                  15 samples
//
// While one replay runs the next is enqueued: the launch of a graph (some 10 us, half a per cent of
// a replay) is part of no sample, and the GPU never idles between two. In a burst the launch is
// part of a sample, as it is under the condition `graph`, which measures it. The clock is counted
// over each replay (occupier.hpp), what NVML knows is read while replays run; the medians are
// kept. Inside a graph the gaps between calls are those of a captured training step.

// Keeps the GPU busy while the host prepares the next case: replays of a large product on a
// separate stream, launched by a separate thread. Without them every case would start from the
// clock of an idle GPU, and exceed for a while what the power limit allows later.
//
// Two replays of some 4 ms are enqueued ahead: memory may be freed meanwhile, which waits for them.

class Filler {
 public:
  // Calls of `load` on GPU `device`.
  Filler(int device, std::unique_ptr<kernels::Runnable> load);
  ~Filler();
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  void start();

  // Waits until nothing of it runs. Throws what a replay threw.
  void stop();

  // Ends it in such a way that `stream` goes on where it ends, without a rest.
  void hand_over(kernels::Stream stream);

  // How long it has run since the GPU last rested, as rested() says.
  [[nodiscard]] Seconds loaded() const { return loaded_; }

  void rested() { loaded_ = Seconds{}; }

 private:
  void run(const std::stop_token& stopped);
  void finish();

  int device_;
  std::unique_ptr<kernels::Runnable> load_;
  kernels::OwnedStream stream_;
  std::unique_ptr<kernels::Graph> graph_;
  std::array<kernels::Event, 2> ends_;
  std::size_t enqueued_ = 0;  // replays since start()
  std::chrono::steady_clock::time_point begun_;
  Seconds loaded_;
  std::exception_ptr trouble_;
  std::jthread thread_;  // the last member: it uses all others
};

// Where and by which rules something is timed. `filler`: keeps the GPU busy until the first replay;
// null where nothing does.
struct Timer {
  kernels::Stream stream;
  const kernels::Nvml& nvml;
  const TimingRules& rules;
  Filler* filler = nullptr;
};

// Calls that last `replay` together, one of each operand set at least.
[[nodiscard]] int calls_for(kernels::Runnable& runnable, kernels::Stream stream, Seconds replay,
                            int most);

[[nodiscard]] Timing time_calls(kernels::Runnable& runnable, const Timer& timer, Regime regime);

// While `occupier` holds multiprocessors; its kernel runs on `other`.
[[nodiscard]] Timing time_occupied(kernels::Runnable& runnable, const Timer& timer,
                                   kernels::Occupier& occupier, kernels::Stream other);

// One call after the other, by the host.
[[nodiscard]] Timing time_enqueued(kernels::Runnable& runnable, const Timer& timer);

// Replays of a graph of `calls` calls.
[[nodiscard]] Timing time_graph(kernels::Runnable& runnable, const Timer& timer, int calls);

// What runs beside: `stream` is not that of the case. Where several processes must agree on counts
// and on the slowest time, `largest` gives the largest of their values.
struct Beside {
  kernels::Runnable& other;
  kernels::Stream stream;
  std::function<double(double)> largest;  // empty: this process alone
};

// Throws Error(device) when the other case cannot be made to last as long as a replay.
[[nodiscard]] Timing time_beside(kernels::Runnable& runnable, const Timer& timer,
                                 const Beside& beside);

// Calls without pause for `duration`, on a GPU that was idle: how clock and time settle.
[[nodiscard]] std::vector<SettlingPoint> settle(kernels::Runnable& runnable, const Timer& timer,
                                                Seconds duration);

// The machine as a profile keeps it.
[[nodiscard]] Fingerprint fingerprint_of(const kernels::DeviceInfo& info,
                                         const kernels::Nvml& nvml);

// UTC, as Sample::taken_at.
[[nodiscard]] std::string utc_now();

class DeviceBench : public Bench {
 public:
  // Throws Error(device) with one clear sentence where there is no GPU.
  explicit DeviceBench(int device, const TimingRules& rules = {});

  [[nodiscard]] const Fingerprint& fingerprint() const override { return fingerprint_; }

  [[nodiscard]] Sample measure(const kernels::KernelCase& kernel,
                               const MeasureOptions& options) override;
  [[nodiscard]] std::string now() const override;
  [[nodiscard]] SettlingCurve soak(Seconds duration) override;

  [[nodiscard]] kernels::Verification verify(const kernels::KernelCase& kernel) override;
  [[nodiscard]] bool usable() override;

 private:
  // What differs from a case with operands past L2.
  struct Preparation {
    bool search = false;
    bool rotated = true;
  };

  [[nodiscard]] std::unique_ptr<kernels::Runnable> prepare(const kernels::KernelCase& kernel,
                                                           const Preparation& how);
  [[nodiscard]] Timing time_occupied(kernels::Runnable& runnable, const Timer& timer,
                                     Sample& sample);
  [[nodiscard]] Timing time(kernels::Runnable& runnable, const MeasureOptions& options,
                            Sample& sample);

  kernels::DeviceInfo info_;
  TimingRules rules_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
  kernels::OwnedStream other_stream_;  // of what runs beside
  Fingerprint fingerprint_;
  std::unique_ptr<Filler> filler_;  // from the first soak on
};

// Times collectives between the GPUs of this job: one process per GPU, all of them in step; rank 0
// keeps the samples.
//
//   sample = slowest rank's time per call, of `calls` in a row after a barrier
//   calls  = 20 ms / time of a call, 5 to 200, the same on every rank
//
// With `choices` nothing is timed: one call of each case that the journal has, whose algorithm and
// protocol NCCL logs, join its sample.
//
// NCCL's own estimate is stored with each time (`nccl_estimate_us`). Ranks that share a GPU, and a
// job of one rank, show that the calls work and no more: their samples are `functional`, and fits
// refuse them. The first size of each operation is checked against the exact result.

// Throws Error(device) where there is no GPU, the ranks contradict each other or a result is wrong,
// Error(io) when the ranks do not meet.
[[nodiscard]] CollectiveOutcome run_collectives(const CollectiveRequest& request,
                                                const OpenJournal& open_journal);

}  // namespace orrery::calibrate
