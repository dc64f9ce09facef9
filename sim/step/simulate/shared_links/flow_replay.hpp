#pragma once

// Replay of the steps of one or more jobs, event by event, with flows that share links. Used inside
// step/ only.
//
//   piece of a task = fixed time, then a flow: FluidFlows says when it ends (max-min fair rates)
//   message         = the same, between the end of a task and the start of another
//   fixed time of compute runs at `pace` while the device communicates (paced_replay.hpp)
//
// Replicas that differ are jobs of one graph that wait for one another in collectives of data and
// in joins: these begin when the last has come, and the first carries their flows.
//
// With links that never fill, start and end of every task are those of PacedReplay, to the
// nanosecond, but that a flow inside a pass is not slowed by a collective beside it. A job begins
// its next step when all tasks of the last have ended. Order among events of one nanosecond: ends,
// arrivals, starts; rates are solved once behind them. Everything is deterministic.
//
// What is lost is booked when a rate changes: over an interval of one rate it is known from the
// loads of the bottleneck, summed over time.
//
// Complexity: O(events log pending + solves); a solve reaches the flows that a change reaches.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/step/engine/event_queue.hpp"
#include "sim/step/engine/replay.hpp"
#include "sim/step/fabric/fluid_flows.hpp"
#include "sim/step/simulate/replay/paced_replay.hpp"
#include "sim/step/simulate/shared_links/folded_fabric.hpp"

namespace orrery::step {

struct FlowJob {
  const schedule::StepGraph& graph;
  std::span<const TaskParts* const> parts;  // by class of tasks
  const NetworkWork& work;
  double slowdown = 0.0;  // of compute beside data-parallel communication
  SimTime start = {};
  std::int64_t steps = 1;
  bool joins = false;  // other replicas of the job before
  double share = 1.0;  // of the replicas of the job
};

// Of one job, or of one class of its replicas.
struct JobRun {
  engine::Timing timing;           // of its last step, from that step's begin
  std::vector<SimTime> step_ends;  // on the clock of all jobs
};

// Victims and culprits are numbered job x kTraffics + traffic, whatever the classes of its
// replicas; the culprit behind the last is the link itself.
struct FlowRun {
  std::vector<JobRun> jobs;
  std::int64_t flows = 0;
  std::vector<std::vector<Seconds>> lost;          // [victim][culprit]
  std::vector<std::vector<Seconds>> lost_on_link;  // [link][victim]
  std::vector<Bytes> carried;                      // by link
  std::vector<std::vector<LinkLoad>> loads;        // by link, where they are to be kept
};

// The edges of a graph from the side of the task that ends.
struct Successors {
  struct Edge {
    std::uint32_t task = 0;
    std::int32_t delay = engine::kNoDelay;
  };

  explicit Successors(const engine::TaskGraph& graph);

  [[nodiscard]] std::span<const Edge> of(std::uint32_t task) const {
    return std::span(edges).subspan(begin[task], begin[task + 1] - begin[task]);
  }

  std::vector<std::uint32_t> begin;  // of each task's edges, and the end of the last
  std::vector<Edge> edges;
  std::vector<std::uint32_t> predecessors;  // how many a task has
};

class FlowReplay {
 public:
  // All must outlive it. Paths of the fabric: those of the jobs, one behind the other; of replicas
  // that join, those of collectives of data are not used.
  FlowReplay(const FoldedFabric& fabric, std::span<const FlowJob> jobs,
             fabric::SolveWatch watch = nullptr);

  // From now on, what every link carries over time.
  void keep_loads() { run_.loads.resize(fabric_.capacities.size()); }

  FlowRun run();

 private:
  enum Priority : std::uint8_t { kTaskEnds, kEdgeArrives, kPieceStarts, kMessageStarts, kGapOver };

  static constexpr SimTime kNever{-1};
  static constexpr std::uint32_t kNoTask = UINT32_MAX;

  // A task while it runs.
  struct Running {
    SimTime due = kNever;  // the event of this time and priority is its own; others are stale
    std::uint8_t what = kTaskEnds;
    std::uint8_t holds = 0;   // what the end of a piece still waits for: flow, gap
    std::uint32_t piece = 0;  // the next one
  };

  // A pipeline device of a job.
  struct Device {
    std::uint32_t task = kNoTask;  // whose fixed time runs at the pace of the device
    SimTime alone;                 // when it would end
    SimTime shared;                // beside collectives that are over
    SimTime from;                  // since when it shares
    int collectives = 0;
  };

  struct Job {
    const FlowJob* of = nullptr;
    std::shared_ptr<const Successors> successors;
    std::size_t first = 0;         // where its replicas begin
    std::size_t classes = 0;       // of these; with the first
    std::uint32_t number = 0;      // without those that join
    std::uint32_t first_task = 0;  // of all jobs
    std::uint32_t first_path = 0;
    std::size_t first_device = 0;
    Pace pace;
    std::size_t left = 0;  // tasks of this step that have not ended; of all its replicas
    std::int64_t steps_left = 0;
    SimTime begun = {};
  };

  struct Sending {  // a message on an edge
    std::uint32_t job = 0;
    std::uint32_t receiver = 0;
    std::uint32_t message = 0;
  };

  struct Moving {             // by id of the flow
    std::uint32_t owner = 0;  // a task, or an entry of sending_
    bool message = false;
    std::uint32_t kind = 0;  // job x kTraffics + traffic
    std::uint32_t path = 0;
    double bound = 0.0;  // bytes / alone: what a flow reaches that meets no other
    double share = 1.0;
    bool living = false;
    double rate = 0.0;  // since then:
    SimTime since = {};
    fabric::LinkId bottleneck = fabric::kNoLink;
  };

  // What flows of one kind put on a link.
  struct KindOnLink {
    double load = 0.0;   // weight x rate
    double bytes = 0.0;  // of it, until the link was looked at last
    std::uint32_t flows = 0;
  };

  [[nodiscard]] std::size_t index_of(const Job& job) const;
  [[nodiscard]] const schedule::StepTask& task_of(const Job& job, std::uint32_t task) const;
  [[nodiscard]] const TaskNetwork& network_of(const Job& job, std::uint32_t task) const;
  [[nodiscard]] Device& device_of(const Job& job, std::uint32_t task);
  [[nodiscard]] static bool is_paced(const Job& job, const schedule::StepTask& task);

  // Whether the task begins when all replicas of its job have come to it.
  [[nodiscard]] bool meets(const Job& job, std::uint32_t task) const;

  void begin_step(std::size_t first);
  void begin_task(Job& job, std::uint32_t task);
  void go_on(Job& job, std::uint32_t task);
  void wait(Job& job, std::uint32_t task, SimTime time, Priority what);
  void start_piece(Job& job, std::uint32_t task);
  void end_piece(Job& job, std::uint32_t task);
  void end_task(Job& job, std::uint32_t task);
  void finish(Job& job, std::uint32_t task);
  void end_step(std::size_t first);
  void arrive(Job& job, std::uint32_t task);
  void communicate(Job& job, std::uint32_t task, int change);
  void send(std::uint32_t job, std::uint32_t receiver, std::uint32_t message);
  void start_message(std::uint32_t token);
  void start_flow(const Job& job, const NetworkPiece& piece, Traffic traffic, Moving moving);
  void end_flows(SimTime time);
  void handle(const engine::Event& event);
  void change_links(SimTime time);
  void account(SimTime time);
  void book(fabric::FlowId id, SimTime until);
  void change_load(const Moving& moving, double change, int flows, SimTime at);
  void look_at(std::size_t link, SimTime time);
  void keep_loads_from(SimTime time);

  const FoldedFabric& fabric_;
  fabric::FluidFlows flows_;
  std::vector<Job> jobs_;
  engine::EventQueue queue_;
  SimTime now_;
  std::vector<std::uint32_t> job_of_;   // by task of all jobs
  std::vector<std::uint32_t> missing_;  // by task of all jobs, predecessors that have not arrived
  std::vector<Running> running_;
  std::vector<Device> devices_;
  std::vector<Sending> sending_;
  std::vector<std::uint32_t> free_;  // of sending_
  std::vector<Moving> moving_;
  std::vector<Moving> ended_;
  std::size_t living_ = 0;
  std::vector<std::uint32_t> arrived_;  // by task of all jobs: replicas that wait in it
  std::size_t next_change_ = 0;
  std::size_t unfinished_ = 0;  // jobs

  SimTime accounted_;
  std::size_t kinds_ = 0;
  std::vector<KindOnLink> on_link_;     // [link][kind]
  std::vector<SimTime> looked_at_;      // by link
  std::vector<double> bytes_at_start_;  // [flow][kind]: of its bottleneck, when its rate changed
  std::vector<std::size_t> touched_;    // links whose loads have changed
  FlowRun run_;
};

}  // namespace orrery::step
