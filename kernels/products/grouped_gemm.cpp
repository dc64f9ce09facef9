#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/memory.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/families.hpp"
#include "kernels/products/grouped_call.hpp"
#include "kernels/products/product.hpp"

namespace orrery::kernels {

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

  [[nodiscard]] int copies() const override {
    return static_cast<int>(sets_.size());
  }

  [[nodiscard]] Verification verify(Stream stream) override;

  [[nodiscard]] std::string_view implementation() const override {
    return call_.implementation();
  }

  [[nodiscard]] std::vector<Detail> details() const override {
    return call_.details();
  }

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
    const Product& product = products_[g];
    void* const d = set.operands.parts[g].d;
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
    const void* const d = set.operands.parts[g].d;
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
  return std::make_unique<GroupedProduct>(products_of(kernel), options);
}

}  // namespace orrery::kernels
