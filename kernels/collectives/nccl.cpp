#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "kernels/collectives/collective.hpp"
#include "kernels/device/comparison.hpp"
#include "kernels/device/fill.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

namespace {

// NCCL's status, with the sentence it keeps about its last failure.
void check(ncclResult_t status, std::string_view what) {
  if (status == ncclSuccess) {
    return;
  }
  const char* last = ncclGetLastError(nullptr);
  const std::string detail = last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last);
  check_status(Library::nccl, status, ncclGetErrorString(status),
               fmt::format("{}{}", what, detail));
}

ncclDataType_t data_type(Element element) {
  switch (element) {
    case Element::bf16:
      return ncclBfloat16;
    case Element::fp16:
      return ncclFloat16;
    default:
      return ncclFloat32;
  }
}

// Where a rank runs, as all ranks of a group learn it.
struct PlaceRecord {
  std::array<char, 192> host;
  std::array<char, 64> gpu;
};

PlaceRecord own_place() {
  PlaceRecord record = {};
  static_cast<void>(gethostname(record.host.data(), record.host.size() - 1));
  int device = 0;
  kernels::check(cudaGetDevice(&device), "ask for the current GPU");
  cudaDeviceProp properties = {};
  kernels::check(cudaGetDeviceProperties(&properties, device), "read the properties of the GPU");
  static_assert(sizeof(properties.uuid) < sizeof(record.gpu));
  std::memcpy(record.gpu.data(), &properties.uuid, sizeof(properties.uuid));
  return record;
}

double reduced(ncclComm* communicator, double value, ncclRedOp_t operation, Stream stream) {
  const DeviceBuffer buffer(sizeof(double));
  copy_to_device(buffer.data(), &value, sizeof(value), stream);
  check(
      ncclAllReduce(buffer.data(), buffer.data(), 1, ncclFloat64, operation, communicator, stream),
      "agree on a number");
  copy_to_host(&value, buffer.data(), sizeof(value), stream);
  return value;
}

}  // namespace

CollectiveGroup::CollectiveGroup(const GroupRank& place, const std::optional<Meeting>& meeting,
                                 std::chrono::milliseconds patience)
    : rank_(place.rank), ranks_(place.ranks) {
  if (const std::string absence = absence_of(LateLibrary::nccl); !absence.empty()) {
    throw Error(ErrorKind::device, absence);
  }
  if (ranks_ > 1 && !meeting) {
    throw Error(ErrorKind::io, "several ranks need a meeting place: file:PATH or tcp:HOST:PORT");
  }
  ncclUniqueId id = {};
  if (rank_ == 0) {
    check(ncclGetUniqueId(&id), "make the id of a group");
  }
  if (ranks_ > 1) {
    const auto bytes =
        share_bytes(*meeting, place, std::as_bytes(std::span(&id, std::size_t{1})), patience);
    std::memcpy(&id, bytes.data(), sizeof(id));
  }
  check(ncclCommInitRank(&communicator_, ranks_, id, rank_), "form a group");
  if (meeting) {
    end_meeting(*meeting, place);
  }
  learn_places();
}

CollectiveGroup::~CollectiveGroup() {
  if (communicator_ != nullptr) {
    static_cast<void>(ncclCommDestroy(communicator_));
  }
}

std::unique_ptr<CollectiveGroup> CollectiveGroup::part(std::optional<int> colour) const {
  ncclComm_t communicator = nullptr;
  check(ncclCommSplit(communicator_, colour.value_or(NCCL_SPLIT_NOCOLOR), rank_, &communicator,
                      nullptr),
        "split a group");
  if (communicator == nullptr) {
    return nullptr;
  }
  std::unique_ptr<CollectiveGroup> group(new CollectiveGroup());
  group->communicator_ = communicator;
  check(ncclCommCount(communicator, &group->ranks_), "count the ranks of a group");
  check(ncclCommUserRank(communicator, &group->rank_), "find the own rank");
  group->learn_places();
  return group;
}

void CollectiveGroup::learn_places() {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(PlaceRecord));
  const OwnedStream stream;
  const DeviceBuffer own(kSize);
  const DeviceBuffer all(kSize * ranks_);
  const PlaceRecord record = own_place();
  copy_to_device(own.data(), &record, kSize, stream.get());
  check(
      ncclAllGather(own.data(), all.data(), sizeof(record), ncclChar, communicator_, stream.get()),
      "learn where the ranks are");
  std::vector<PlaceRecord> records(static_cast<std::size_t>(ranks_));
  copy_to_host(records.data(), all.data(), all.bytes(), stream.get());
  std::set<std::array<char, 192>> hosts;
  std::set<std::pair<std::array<char, 192>, std::array<char, 64>>> gpus;
  for (const PlaceRecord& at : records) {
    hosts.insert(at.host);
    gpus.insert({at.host, at.gpu});
  }
  nodes_ = static_cast<int>(hosts.size());
  functional_ = gpus.size() < records.size();
}

double CollectiveGroup::largest(double value, Stream stream) const {
  return reduced(communicator_, value, ncclMax, stream);
}

double CollectiveGroup::total(double value, Stream stream) const {
  return reduced(communicator_, value, ncclSum, stream);
}

void CollectiveGroup::barrier(Stream stream) const { static_cast<void>(total(0.0, stream)); }

namespace {

struct BufferSet {
  DeviceBuffer send;  // in place: the only one, as large as the larger
  DeviceBuffer receive;
  void* input = nullptr;
  void* output = nullptr;
};

class NcclCollective final : public Collective {
 public:
  NcclCollective(const CollectivePlan& plan, const CollectiveGroup& group,
                 const PrepareOptions& options);

  void launch(Stream stream, int copy) override {
    run(sets_[static_cast<std::size_t>(copy)], stream);
  }

  [[nodiscard]] int copies() const override { return static_cast<int>(sets_.size()); }

  [[nodiscard]] Verification verify(Stream stream) override;

  [[nodiscard]] std::string_view implementation() const override { return "nccl"; }

  [[nodiscard]] std::vector<Detail> details() const override {
    return {{"bytes", std::to_string(plan_.bytes)},
            {"functional", group_.functional() ? "true" : "false"}};
  }

  [[nodiscard]] std::optional<double> estimate(Stream stream) override;

  [[nodiscard]] std::int64_t bytes() const override { return plan_.bytes; }

 private:
  void add_set(std::uint64_t seed, Stream stream);
  void run(const BufferSet& set, Stream stream) const;
  void exchange(const BufferSet& set, Stream stream) const;
  void fill_pattern(const BufferSet& set, Stream stream) const;

  CollectivePlan plan_;
  const CollectiveGroup& group_;
  std::vector<BufferSet> sets_;
};

NcclCollective::NcclCollective(const CollectivePlan& plan, const CollectiveGroup& group,
                               const PrepareOptions& options)
    : plan_(plan), group_(group) {
  const std::int64_t send = aligned(bytes_of(plan.element, plan.send_elements));
  const std::int64_t receive = aligned(bytes_of(plan.element, plan.receive_elements));
  const std::int64_t set = plan.in_place ? std::max(send, receive) : send + receive;
  const OwnedStream stream;
  // All ranks rotate over as many sets as fit everywhere, and all give up where none fits on one:
  // a rank that stops alone leaves the others waiting.
  int fit = 0;
  try {
    fit = operand_sets(set, options.rotated, memory_budget(options));
  } catch (const Unsupported&) {
    fit = 0;
  }
  const int sets = static_cast<int>(-group.largest(-static_cast<double>(fit), stream.get()));
  if (sets == 0) {
    throw Unsupported(fmt::format("a rank lacks the {} bytes of memory that it needs", set),
                      "out of memory");
  }
  for (int i = 0; i < sets; ++i) {
    add_set(options.seed + static_cast<std::uint64_t>(i), stream.get());
  }
  stream.synchronize();
}

void NcclCollective::add_set(std::uint64_t seed, Stream stream) {
  BufferSet set;
  if (plan_.in_place) {
    const std::int64_t elements = std::max(plan_.send_elements, plan_.receive_elements);
    set.send = DeviceBuffer(bytes_of(plan_.element, elements));
    set.input = set.send.as<char>() + bytes_of(plan_.element, plan_.input_in_output());
    set.output = set.send.as<char>() + bytes_of(plan_.element, plan_.output_in_input());
    fill_normal(set.send.data(), plan_.element, elements, {seed, 1.0F, 0}, stream);
  } else {
    set.send = DeviceBuffer(bytes_of(plan_.element, plan_.send_elements));
    set.receive = DeviceBuffer(bytes_of(plan_.element, plan_.receive_elements));
    set.input = set.send.data();
    set.output = set.receive.data();
    fill_normal(set.input, plan_.element, plan_.send_elements, {seed, 1.0F, 0}, stream);
  }
  sets_.push_back(std::move(set));
}

// One group of sends and receives, as NCCL wants them; ncclAlltoAll is younger than the libraries
// that machines have.
void NcclCollective::exchange(const BufferSet& set, Stream stream) const {
  const ncclDataType_t type = data_type(plan_.element);
  const auto count = static_cast<std::size_t>(plan_.part);
  const std::int64_t stride = bytes_of(plan_.element, plan_.part);
  const bool everyone = plan_.operation == Operation::all_to_all;
  check(ncclGroupStart(), "start an exchange");
  for (int step = everyone ? 0 : 1; step < (everyone ? plan_.ranks : 2); ++step) {
    const int to = (plan_.rank + step) % plan_.ranks;
    const int from = (plan_.rank + plan_.ranks - step % plan_.ranks) % plan_.ranks;
    const char* out = static_cast<const char*>(set.input) + (everyone ? to * stride : 0);
    char* in = static_cast<char*>(set.output) + (everyone ? from * stride : 0);
    check(ncclSend(out, count, type, to, group_.get(), stream), "send");
    check(ncclRecv(in, count, type, from, group_.get(), stream), "receive");
  }
  check(ncclGroupEnd(), "end an exchange");
}

void NcclCollective::run(const BufferSet& set, Stream stream) const {
  const ncclDataType_t type = data_type(plan_.element);
  const auto part = static_cast<std::size_t>(plan_.part);
  switch (plan_.operation) {
    case Operation::all_reduce:
      return check(ncclAllReduce(set.input, set.output, part, type, ncclSum, group_.get(), stream),
                   "run all_reduce");
    case Operation::all_gather:
      return check(ncclAllGather(set.input, set.output, part, type, group_.get(), stream),
                   "run all_gather");
    case Operation::reduce_scatter:
      return check(
          ncclReduceScatter(set.input, set.output, part, type, ncclSum, group_.get(), stream),
          "run reduce_scatter");
    default:
      return exchange(set, stream);
  }
}

std::optional<double> NcclCollective::estimate(Stream stream) {
  if (plan_.ranks == 1) {
    return std::nullopt;
  }
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupStart(), "start a simulation");
  run(sets_.front(), stream);
  // Some calls have no estimate, and some versions refuse them: then there is none.
  const ncclResult_t status = ncclGroupSimulateEnd(&info);
  const auto microseconds = static_cast<double>(info.estimatedTime);
  if (status != ncclSuccess || !(microseconds > 0.0)) {
    return std::nullopt;
  }
  return microseconds * kMicro;
}

// The pattern of this rank's input: one period from the host, then doubled on the device.
void NcclCollective::fill_pattern(const BufferSet& set, Stream stream) const {
  const std::int64_t period = std::min(kPatternPeriod, plan_.send_elements);
  const std::int64_t width = bytes_of(plan_.element, 1);
  std::vector<unsigned char> pattern(static_cast<std::size_t>(period * width));
  for (std::int64_t i = 0; i < period; ++i) {
    const std::uint32_t bits = encode(plan_.element, input_value(plan_, plan_.rank, i));
    std::memcpy(pattern.data() + i * width, &bits, static_cast<std::size_t>(width));
  }
  auto* const input = static_cast<char*>(set.input);
  copy_to_device(input, pattern.data(), period * width, stream);
  for (std::int64_t filled = period; filled < plan_.send_elements; filled *= 2) {
    const std::int64_t more = std::min(filled, plan_.send_elements - filled);
    kernels::check(
        cudaMemcpyAsync(input + filled * width, input, static_cast<std::size_t>(more * width),
                        cudaMemcpyDeviceToDevice, stream),
        "repeat a pattern");
  }
}

Verification NcclCollective::verify(Stream stream) {
  const BufferSet& set = sets_.front();
  const std::int64_t received = bytes_of(plan_.element, plan_.receive_elements);
  if (!plan_.in_place || plan_.operation == Operation::all_gather) {
    fill_unwritten(set.output, received, stream);
  }
  fill_pattern(set, stream);
  run(set, stream);
  Comparison compared;
  compared.check_written(set.output, plan_.element, plan_.receive_elements, "the output", stream);
  const std::string what = fmt::format("rank {} ", plan_.rank);
  for (const std::int64_t i : sampled_elements(plan_)) {
    const double expected = expected_value(plan_, i);
    const auto found =
        static_cast<double>(read_elements(set.output, plan_.element, i, 1, stream).front());
    // Right or wrong: where nothing is allowed there is no error to count in tolerances.
    const bool right = std::abs(found - expected) <= allowed_error(plan_, expected);
    compared.add_error(what, 0, i, found, expected, right ? 0.0 : HUGE_VAL);
  }
  Verification result = compared.result();
  // One rank that fails is a failure of the call everywhere.
  if (group_.total(result.passed ? 0.0 : 1.0, stream) > 0.0 && result.passed) {
    result.passed = false;
    result.where = "another rank received wrong values";
  }
  return result;
}

}  // namespace

std::unique_ptr<Collective> make_collective(const KernelCase& kernel, const CollectiveGroup& group,
                                            const PrepareOptions& options) {
  const PlannedCollective planned =
      plan_collective(kernel, group.rank(), group.ranks(), group.nodes());
  if (!planned.plan) {
    throw Unsupported(planned.problem, "not offered");
  }
  return std::make_unique<NcclCollective>(*planned.plan, group, options);
}

CollectiveTime time_collective(Collective& collective, const CollectiveGroup& group, int calls,
                               Stream stream) {
  ORRERY_CHECK(calls > 0, "at least one call is timed");
  const Event start;
  const Event stop;
  group.barrier(stream);
  start.record(stream);
  for (int i = 0; i < calls; ++i) {
    collective.launch(stream, i % collective.copies());
  }
  stop.record(stream);
  CollectiveTime time;
  time.own = seconds_between(start, stop) / calls;
  ncclResult_t asynchronous = ncclSuccess;
  check(ncclCommGetAsyncError(group.get(), &asynchronous), "ask for the state of a group");
  check(asynchronous, "run a collective");
  time.mean = group.total(time.own, stream) / group.ranks();
  time.slowest = group.largest(time.own, stream);
  return time;
}

}  // namespace orrery::kernels
