#include "kernels/products/grouped_call.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

constexpr std::size_t kLanesAtOnce = 4;

bool is_wide(const Product& product) {
  return product.a.element == Element::bf16 || product.a.element == Element::fp16;
}

}  // namespace

struct GroupLanes::Side {
  DeviceBuffer workspace{kWorkspaceBytes};
  OwnedStream stream;
  Event begin;
  Event end;
};

GroupLanes::GroupLanes() = default;

GroupLanes::~GroupLanes() = default;

void GroupLanes::prepare() {
  if (first_.bytes() > 0) {
    return;
  }
  first_ = DeviceBuffer(kWorkspaceBytes);
  for (std::size_t lane = 1; lane < kLanesAtOnce; ++lane) {
    sides_.push_back(std::make_unique<Side>());
  }
}

const DeviceBuffer& GroupLanes::workspace(std::size_t lane) const {
  return lane == 0 ? first_ : sides_[lane - 1]->workspace;
}

std::vector<Stream> GroupLanes::fork(Stream stream) const {
  std::vector<Stream> streams = {stream};
  for (const auto& side : sides_) {
    side->begin.record(stream);
    wait_for(side->stream.get(), side->begin);
    streams.push_back(side->stream.get());
  }
  return streams;
}

void GroupLanes::join(Stream stream) const {
  for (const auto& side : sides_) {
    side->end.record(side->stream.get());
    wait_for(stream, side->end);
  }
}

struct GroupedCall::Plan {
  Plan(std::vector<Product> given, GroupLanes& shared) : products(std::move(given)), lanes(shared) {
    ORRERY_CHECK(!products.empty(), "a grouped call has a group");
    const bool one_scale = products.front().a.scales == ScaleMode::tensor;
    if (!is_wide(products.front()) && !one_scale) {
      throw Unsupported(
          "grouped products run in bf16, fp16 and fp8_tensor: the libraries group no others, and "
          "scales by rows or blocks of each group have layouts of their own",
          "not offered");
    }
    for (const Product& product : products) {
      arguments.add(product);
    }
    lanes.prepare();
  }

  // The way is chosen once, on the operands of the first call.
  void choose(const Operands& operands, Stream stream) {
    refusal = trial(operands.addresses, stream);
    const auto prepare_each = [&] {
      make_calls();
      // Kernels are loaded at their first launch, which must not happen while a graph is captured.
      launch_each(operands.parts, stream);
      check(cudaStreamSynchronize(stream), "run the products of groups");
    };
    if (!refusal->empty()) {
      prepare_each();
      each = true;
    } else if (!trouble_of(prepare_each, device_answers)) {
      each = each_is_faster(operands, stream);
    }
  }

  // Replays of both, in turn.
  bool each_is_faster(const Operands& operands, Stream stream) {
    constexpr int kCalls = 8;  // in a graph, beside whose launch a call of small groups is short
    const auto graph_of = [&](const auto& call) {
      return Graph(stream, [&](Stream capturing) {
        for (int i = 0; i < kCalls; ++i) {
          call(capturing);
        }
      });
    };
    const std::array<Graph, 2> ways = {
        graph_of([&](Stream on) { launch_grouped(operands.addresses, on); }),
        graph_of([&](Stream on) { launch_each(operands.parts, on); })};
    const Event start;
    const Event stop;
    const CandidateTimes times = time_candidates(
        ways.size(), {},
        [&](std::size_t i) {
          start.record(stream);
          ways[i].launch(stream);
          stop.record(stream);
          return seconds_between(start, stop);
        },
        device_answers);
    if (times.seconds[0] && times.seconds[1]) {
      each_over_grouped = *times.seconds[1] / *times.seconds[0];
    }
    return times.fastest == 1U;
  }

  // Empty when cuBLAS runs, captures and replays the grouped call; else why it does not.
  std::string trial(const DeviceBuffer& addresses, Stream stream) {
    if (!is_wide(products.front())) {
      return "cuBLAS groups products of bf16 and fp16";
    }
    try {
      context = start_blas();
      launch_grouped(addresses, stream);
      check(cudaStreamSynchronize(stream), "run a grouped product");
      const Graph graph(stream, [&](Stream capturing) { launch_grouped(addresses, capturing); });
      graph.launch(stream);
      check(cudaStreamSynchronize(stream), "replay a grouped product");
      return "";
    } catch (const Unsupported& unsupported) {
      return unsupported.status();
    } catch (const Error& error) {
      static_cast<void>(cudaGetLastError());
      return error.what();
    }
  }

  // One call for each shape on each lane: a call keeps its lane's workspace.
  void make_calls() {
    for (std::size_t g = 0; g < products.size(); ++g) {
      const std::size_t lane = g % kLanesAtOnce;
      const Product& product = products[g];
      const auto key = std::tuple(product.m, product.n, product.k, lane);
      if (!calls.contains(key)) {
        calls.emplace(key, ProductCall(product, lanes.workspace(lane)));
      }
      of_group.push_back(&calls.at(key));
    }
  }

  void launch_grouped(const DeviceBuffer& addresses, Stream stream) const {
    run_grouped(context, arguments, addresses, lanes.workspace(0), stream);
  }

  void launch_each(const std::vector<ProductPointers>& parts, Stream stream) const {
    const std::vector<Stream> streams = lanes.fork(stream);
    for (std::size_t g = 0; g < parts.size(); ++g) {
      of_group[g]->launch(parts[g], streams[g % kLanesAtOnce]);
    }
    lanes.join(stream);
  }

  std::vector<Product> products;
  GroupLanes& lanes;
  GroupedArguments arguments;
  BlasContext context;
  std::optional<std::string> refusal;  // absent: not tried yet
  std::optional<double> each_over_grouped;
  bool each = false;  // one product per group, not the library's grouped call
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::size_t>, ProductCall> calls;
  std::vector<const ProductCall*> of_group;
};

GroupedCall::GroupedCall(std::vector<Product> products, GroupLanes& lanes)
    : plan_(std::make_unique<Plan>(std::move(products), lanes)) {}

GroupedCall::GroupedCall(GroupedCall&& other) noexcept = default;

GroupedCall::~GroupedCall() = default;

GroupedCall::Operands GroupedCall::bind(std::vector<ProductPointers> parts, Stream stream) {
  ORRERY_CHECK(parts.size() == plan_->products.size(), "every group has its operands");
  std::vector<const void*> all;
  for (const ProductPointers& part : parts) {
    all.push_back(part.a);
  }
  for (const ProductPointers& part : parts) {
    all.push_back(part.b);
  }
  for (const ProductPointers& part : parts) {
    all.push_back(part.d);
  }
  const auto bytes = static_cast<std::int64_t>(all.size() * sizeof(void*));
  Operands operands{.parts = std::move(parts), .addresses = DeviceBuffer(bytes)};
  copy_to_device(operands.addresses.data(), all.data(), bytes, stream);
  if (!plan_->refusal) {
    plan_->choose(operands, stream);
  }
  return operands;
}

void GroupedCall::launch(const Operands& operands, Stream stream) const {
  if (plan_->each) {
    plan_->launch_each(operands.parts, stream);
  } else {
    plan_->launch_grouped(operands.addresses, stream);
  }
}

std::string_view GroupedCall::implementation() const {
  return plan_->each ? "cublaslt_each" : "cublas";
}

std::vector<Detail> GroupedCall::details() const {
  std::vector<Detail> details;
  if (plan_->refusal && !plan_->refusal->empty()) {
    details.push_back({"not_grouped", *plan_->refusal});
  }
  if (plan_->each_over_grouped) {
    details.push_back({"each_over_grouped", fmt::format("{:.4f}", *plan_->each_over_grouped)});
  }
  return details;
}

namespace {

constexpr int kSampled = 12;  // rows and columns of a checked group

// The operands of all groups lie in three buffers, each group aligned, as experts do in one tensor.
struct OperandSet {
  DeviceBuffer a;
  DeviceBuffer b;
  DeviceBuffer d;
  DeviceBuffer scales;  // of a and of b of each group, where they have one
  GroupedCall::Operands operands;
  std::vector<ProductSeeds> seeds;
};

struct Extents {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t d = 0;
};

Extents extents_of(const std::vector<Product>& products) {
  Extents bytes;
  for (const Product& product : products) {
    bytes.a += aligned(bytes_of(product.a.element, product.a.count()));
    bytes.b += aligned(bytes_of(product.b.element, product.b.count()));
    bytes.d += aligned(bytes_of(product.result, product.m * product.n));
  }
  return bytes;
}

class GroupedProduct final : public Runnable {
 public:
  GroupedProduct(std::vector<Product> products, const PrepareOptions& options);

  void launch(Stream stream, int copy) override {
    call_.launch(sets_[static_cast<std::size_t>(copy)].operands, stream);
  }

  [[nodiscard]] int copies() const override { return static_cast<int>(sets_.size()); }

  [[nodiscard]] Verification verify(Stream stream) override;

  [[nodiscard]] std::string_view implementation() const override { return call_.implementation(); }

  [[nodiscard]] std::vector<Detail> details() const override { return call_.details(); }

 private:
  void add_set(std::uint64_t seed, Stream stream);

  std::vector<Product> products_;
  GroupLanes lanes_;
  GroupedCall call_;
  std::vector<OperandSet> sets_;
};

GroupedProduct::GroupedProduct(std::vector<Product> products, const PrepareOptions& options)
    : products_(std::move(products)), call_(products_, lanes_) {
  const Extents bytes = extents_of(products_);
  const int sets =
      operand_sets(bytes.a + bytes.b + bytes.d, options.rotated, memory_budget(options));
  const OwnedStream stream;
  if (options.before_search) {
    options.before_search();  // two ways of running them are timed
  }
  for (int i = 0; i < sets; ++i) {
    add_set(options.seed + static_cast<std::uint64_t>(i), stream.get());
  }
  stream.synchronize();
}

void GroupedProduct::add_set(std::uint64_t seed, Stream stream) {
  const Extents bytes = extents_of(products_);
  const bool scaled = products_.front().a.scales == ScaleMode::tensor;
  OperandSet set;
  set.a = DeviceBuffer(bytes.a);
  set.b = DeviceBuffer(bytes.b);
  set.d = DeviceBuffer(bytes.d);
  const auto groups = static_cast<std::int64_t>(products_.size());
  set.scales = DeviceBuffer(scaled ? 2 * groups * kMemoryAlignment : 0);
  std::vector<ProductPointers> parts;
  Extents offset;
  for (const Product& product : products_) {
    const auto group = static_cast<std::int64_t>(parts.size());
    const ProductSeeds seeds =
        seeds_of(seed * products_.size() + static_cast<std::uint64_t>(group));
    const std::int64_t results = product.m * product.n;
    void* const a = set.a.as<char>() + offset.a;
    void* const b = set.b.as<char>() + offset.b;
    void* const d = set.d.as<char>() + offset.d;
    fill_normal(a, product.a.element, product.a.count(), contents(product.a, seeds.a), stream);
    fill_normal(b, product.b.element, product.b.count(), contents(product.b, seeds.b), stream);
    fill_normal(d, product.result, results, {seeds.c, 1.0F, 0}, stream);
    ProductPointers part{.a = a, .b = b, .d = d};
    if (scaled) {
      auto* const scale = set.scales.as<char>() + 2 * group * kMemoryAlignment;
      auto* const other = scale + kMemoryAlignment;
      fill_uniform(scale, Element::fp32, 1, scale_contents(product.a, seeds.a_scales), stream);
      fill_uniform(other, Element::fp32, 1, scale_contents(product.b, seeds.b_scales), stream);
      part.a_scale = reinterpret_cast<const float*>(scale);
      part.b_scale = reinterpret_cast<const float*>(other);
    }
    parts.push_back(part);
    set.seeds.push_back(seeds);
    offset.a += aligned(bytes_of(product.a.element, product.a.count()));
    offset.b += aligned(bytes_of(product.b.element, product.b.count()));
    offset.d += aligned(bytes_of(product.result, results));
  }
  set.operands = call_.bind(std::move(parts), stream);
  sets_.push_back(std::move(set));
}

Verification GroupedProduct::verify(Stream stream) {
  const OperandSet& set = sets_.front();
  for (std::size_t g = 0; g < products_.size(); ++g) {
    reset_result(products_[g], set.seeds[g], set.operands.parts[g].d, stream);
  }
  // As it is measured: what a replay leaves out of the arguments would show here.
  const Graph graph(stream, [this](Stream capturing) { launch(capturing, 0); });
  graph.launch(stream);
  Verification worst;
  worst.passed = true;
  for (std::size_t g = 0; g < products_.size(); ++g) {
    Verification checked =
        verify_result(products_[g], set.seeds[g], set.operands.parts[g].d, kSampled, stream);
    if (checked.compared == 0) {
      return {.where = fmt::format("group {}: {}", g, checked.where)};
    }
    checked.compared += worst.compared;
    if (checked.worst_error >= worst.worst_error) {
      checked.where = fmt::format("group {} {}", g, checked.where);
      worst = checked;
    } else {
      worst.compared = checked.compared;
    }
  }
  return worst;
}

std::vector<Product> products_of(const KernelCase& kernel) {
  const bool wgrad = kernel.role == Role::wgrad || kernel.role == Role::wgrad_accumulate;
  std::vector<Product> products;
  for (const std::int64_t rows : group_rows(kernel)) {
    const std::int64_t m = wgrad ? extent(kernel, "m") : rows;
    const std::int64_t k = wgrad ? rows : extent(kernel, "k");
    // An expert without tokens has no product; its weight gradient is left as it is.
    if (rows > 0) {
      products.push_back(product_of(kernel.role, kernel.precision, m, extent(kernel, "n"), k));
    }
  }
  return products;
}

}  // namespace

std::unique_ptr<Runnable> make_grouped_gemm(const KernelCase& kernel,
                                            const PrepareOptions& options) {
  return std::make_unique<GroupedProduct>(products_of(kernel), options);
}

}  // namespace orrery::kernels
