#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "kernels/device/memory.hpp"
#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/families.hpp"
#include "kernels/library_call.hpp"
#include "kernels/product.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

constexpr int kSampled = 12;  // rows and columns of a checked group

GroupedArguments arguments_of(const std::vector<Product>& products) {
  GroupedArguments arguments;
  for (const Product& product : products) {
    arguments.add(product);
  }
  return arguments;
}

// The operands of all groups lie in three buffers, each group aligned, as experts do in one tensor.
struct OperandSet {
  DeviceBuffer a;
  DeviceBuffer b;
  DeviceBuffer d;
  DeviceBuffer pointers;  // a of each group, then b, then d
  std::vector<ProductSeeds> seeds;
  std::vector<std::int64_t> d_offsets;  // bytes
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

  void launch(Stream stream, int copy) override;

  [[nodiscard]] int copies() const override {
    return static_cast<int>(sets_.size());
  }

  [[nodiscard]] Verification verify(Stream stream) override;

  [[nodiscard]] std::string_view implementation() const override {
    return "cublas";
  }

 private:
  void add_set(std::uint64_t seed, Stream stream);
  void require_capture(Stream stream);

  std::vector<Product> products_;
  GroupedArguments arguments_;
  BlasContext context_;
  DeviceBuffer workspace_;
  std::vector<OperandSet> sets_;
};

GroupedProduct::GroupedProduct(std::vector<Product> products, const PrepareOptions& options)
    : products_(std::move(products)), arguments_(arguments_of(products_)) {
  context_ = start_blas();
  workspace_ = DeviceBuffer(kWorkspaceBytes);
  if (options.multiprocessors > 0) {
    check(cublasSetSmCountTarget(context_.get(), options.multiprocessors),
          "limit the multiprocessors");
  }
  const Extents bytes = extents_of(products_);
  const int sets = operand_sets(
      bytes.a + bytes.b + bytes.d, options.rotated, memory_budget(options) - kWorkspaceBytes);
  const OwnedStream stream;
  for (int i = 0; i < sets; ++i) {
    add_set(options.seed + static_cast<std::uint64_t>(i), stream.get());
  }
  stream.synchronize();
  launch(stream.get(), 0);  // cuBLAS says only now whether it offers the case
  stream.synchronize();
  require_capture(stream.get());
}

// Measurement replays calls from a graph; a call that copies host arguments may refuse to be
// captured.
void GroupedProduct::require_capture(Stream stream) {
  try {
    const Graph graph(stream, [this](Stream capturing) { launch(capturing, 0); });
    graph.launch(stream);
    check(cudaStreamSynchronize(stream), "replay a grouped product");
  } catch (const Error& error) {
    static_cast<void>(cudaGetLastError());
    throw Unsupported(fmt::format("a grouped product cannot be replayed: {}", error.what()),
                      "not captured");
  }
}

void GroupedProduct::add_set(std::uint64_t seed, Stream stream) {
  const Extents bytes = extents_of(products_);
  OperandSet set;
  set.a = DeviceBuffer(bytes.a);
  set.b = DeviceBuffer(bytes.b);
  set.d = DeviceBuffer(bytes.d);
  std::vector<void*> a;
  std::vector<void*> b;
  std::vector<void*> d;
  Extents offset;
  for (const Product& product : products_) {
    const auto group = static_cast<std::uint64_t>(a.size());
    const ProductSeeds seeds = seeds_of(seed * products_.size() + group);
    const std::int64_t results = product.m * product.n;
    a.push_back(set.a.as<char>() + offset.a);
    b.push_back(set.b.as<char>() + offset.b);
    d.push_back(set.d.as<char>() + offset.d);
    fill_normal(
        a.back(), product.a.element, product.a.count(), contents(product.a, seeds.a), stream);
    fill_normal(
        b.back(), product.b.element, product.b.count(), contents(product.b, seeds.b), stream);
    fill_normal(d.back(), product.result, results, {seeds.c, 1.0F, 0}, stream);
    set.seeds.push_back(seeds);
    set.d_offsets.push_back(offset.d);
    offset.a += aligned(bytes_of(product.a.element, product.a.count()));
    offset.b += aligned(bytes_of(product.b.element, product.b.count()));
    offset.d += aligned(bytes_of(product.result, results));
  }
  std::vector<void*> pointers = a;
  pointers.insert(pointers.end(), b.begin(), b.end());
  pointers.insert(pointers.end(), d.begin(), d.end());
  const auto size = static_cast<std::int64_t>(pointers.size() * sizeof(void*));
  set.pointers = DeviceBuffer(size);
  copy_to_device(set.pointers.data(), pointers.data(), size, stream);
  sets_.push_back(std::move(set));
}

void GroupedProduct::launch(Stream stream, int copy) {
  const OperandSet& set = sets_[static_cast<std::size_t>(copy)];
  run_grouped(context_, arguments_, set.pointers, workspace_, stream);
}

Verification GroupedProduct::verify(Stream stream) {
  const OperandSet& set = sets_.front();
  for (std::size_t g = 0; g < products_.size(); ++g) {
    const Product& product = products_[g];
    char* d = set.d.as<char>() + set.d_offsets[g];
    const std::int64_t count = product.m * product.n;
    if (product.accumulates) {
      fill_normal(d, product.result, count, {set.seeds[g].c, 1.0F, 0}, stream);
    } else {
      fill_unwritten(d, bytes_of(product.result, count), stream);
    }
  }
  // As it is measured: what a replay leaves out of the arguments would show here.
  const Graph graph(stream, [this](Stream capturing) { launch(capturing, 0); });
  graph.launch(stream);
  Verification worst;
  worst.passed = true;
  for (std::size_t g = 0; g < products_.size(); ++g) {
    const Product& product = products_[g];
    const char* d = set.d.as<char>() + set.d_offsets[g];
    const std::int64_t count = product.m * product.n;
    const int bytes = static_cast<int>(bytes_of(product.result, 1));
    const std::int64_t unwritten =
        product.accumulates ? 0 : count_unwritten(d, bytes, count, stream);
    if (unwritten > 0) {
      return {.where = fmt::format("group {}: {} elements were not written", g, unwritten)};
    }
    const ProductSample sample = sample_of(product, set.seeds[g].a, kSampled);
    std::vector<std::vector<float>> found;
    for (const std::int64_t row : sample.rows) {
      const auto line = read_elements(d, product.result, row * product.n, product.n, stream);
      std::vector<float>& values = found.emplace_back();
      for (const std::int64_t column : sample.columns) {
        values.push_back(line[static_cast<std::size_t>(column)]);
      }
    }
    Verification checked = compare_product(product, set.seeds[g], sample, found);
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
  if (kernel.precision != Precision::bf16 && kernel.precision != Precision::fp16) {
    throw Unsupported(
        fmt::format("cuBLAS groups products of bf16 and fp16, not {}", to_string(kernel.precision)),
        status_text(Library::cublas, CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"));
  }
  return std::make_unique<GroupedProduct>(products_of(kernel), options);
}

}  // namespace orrery::kernels
