#include <cublasLt.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"
#include "kernels/products/product.hpp"
#include "kernels/products/product_call.hpp"

namespace orrery::kernels {

namespace {

constexpr int kSampled = 40;  // rows and columns of a checked result

std::int32_t library_mode(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::none:
    case ScaleMode::tensor:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case ScaleMode::row:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case ScaleMode::vec128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case ScaleMode::blk128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    case ScaleMode::vec32:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    case ScaleMode::vec16:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

struct OperandSet {
  DeviceBuffer a;
  DeviceBuffer b;
  DeviceBuffer a_scales;
  DeviceBuffer b_scales;
  DeviceBuffer d;
  ProductSeeds seeds;
  LtDescription description;  // holds the pointers of the scales
};

class LtProduct final : public Runnable {
 public:
  LtProduct(const Product& product, const PrepareOptions& options);

  void launch(Stream stream, int copy) override {
    run(sets_[static_cast<std::size_t>(copy)], chosen_.algo, stream);
  }

  [[nodiscard]] int copies() const override { return static_cast<int>(sets_.size()); }

  [[nodiscard]] Verification verify(Stream stream) override;

  [[nodiscard]] std::string_view implementation() const override { return "cublaslt"; }

  [[nodiscard]] std::vector<Detail> details() const override { return details_; }

 private:
  void add_set(std::uint64_t seed, Stream stream);
  [[nodiscard]] LtDescription describe(const OperandSet& set) const;
  void choose(Stream stream);
  void search(Stream stream);
  void run(const OperandSet& set, const cublasLtMatmulAlgo_t& algorithm, Stream stream) const;

  LtPlan plan_;
  const Product& product_ = plan_.product;
  DeviceBuffer workspace_;
  std::vector<OperandSet> sets_;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  std::size_t chosen_index_ = 0;
  std::vector<Detail> details_;
};

LtProduct::LtProduct(const Product& product, const PrepareOptions& options) : plan_(product) {
  workspace_ = DeviceBuffer(kWorkspaceBytes);
  // Ask before operands are allocated: most unsupported cases end here.
  OperandSet asked;
  asked.description = describe(asked);
  sets_.push_back(std::move(asked));
  candidates_ = plan_.candidates(sets_.front().description, kCandidates);
  sets_.clear();

  const OwnedStream stream;
  const int sets =
      operand_sets(set_bytes(product), options.rotated, memory_budget(options) - kWorkspaceBytes);
  for (int i = 0; i < sets; ++i) {
    add_set(options.seed + static_cast<std::uint64_t>(i), stream.get());
  }
  stream.synchronize();
  candidates_ = plan_.candidates(sets_.front().description,
                                 kCandidates);  // again, now with the pointers of the scales
  choose(stream.get());
  for (Detail& detail :
       algorithm_details(chosen_.algo, chosen_.workspaceSize, chosen_.wavesCount)) {
    details_.push_back(std::move(detail));
  }
  details_.push_back({"candidates", std::to_string(candidates_.size())});
  details_.push_back({"fast_accumulation", product.fast ? "true" : "false"});
  if (options.search) {
    if (options.before_search) {
      options.before_search();
    }
    search(stream.get());
  }
}

void fill_operand(const DeviceBuffer& data, const DeviceBuffer& scales,
                  const ProductOperand& operand, std::uint64_t seed, std::uint64_t scale_seed,
                  Stream stream) {
  fill_normal(data.data(), operand.element, operand.count(), contents(operand, seed), stream);
  fill_uniform(scales.data(), scale_element(operand.scales), scale_count(operand.scaled_shape()),
               scale_contents(operand, scale_seed), stream);
}

DeviceBuffer scales_buffer(const ProductOperand& operand) {
  return DeviceBuffer(bytes_of(scale_element(operand.scales), scale_count(operand.scaled_shape())));
}

void LtProduct::add_set(std::uint64_t seed, Stream stream) {
  OperandSet set;
  set.seeds = seeds_of(seed);
  set.a = DeviceBuffer(bytes_of(product_.a.element, product_.a.count()));
  set.b = DeviceBuffer(bytes_of(product_.b.element, product_.b.count()));
  set.a_scales = scales_buffer(product_.a);
  set.b_scales = scales_buffer(product_.b);
  set.d = DeviceBuffer(bytes_of(product_.result, product_.m * product_.n));
  fill_operand(set.a, set.a_scales, product_.a, set.seeds.a, set.seeds.a_scales, stream);
  fill_operand(set.b, set.b_scales, product_.b, set.seeds.b, set.seeds.b_scales, stream);
  fill_normal(set.d.data(), product_.result, product_.m * product_.n, {set.seeds.c, 1.0F, 0},
              stream);
  set.description = describe(set);
  sets_.push_back(std::move(set));
}

LtDescription LtProduct::describe(const OperandSet& set) const {
  LtDescription description = plan_.describe();
  if (product_.a.scales == ScaleMode::none) {
    return description;
  }
  kernels::set(description, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, library_mode(product_.a.scales));
  kernels::set(description, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, library_mode(product_.b.scales));
  // The heuristic looks at the alignment of these pointers and reads nothing through them.
  const bool filled = set.a_scales.data() != nullptr;
  const void* a_scales = filled ? set.a_scales.data() : workspace_.data();
  const void* b_scales = filled ? set.b_scales.data() : workspace_.data();
  kernels::set(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a_scales);
  kernels::set(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b_scales);
  return description;
}

// The library's first choice, as frameworks take it without a search; the next where that fails
// when it runs. Kernels are loaded at their first launch, which must not happen while a graph is
// captured.
void LtProduct::choose(Stream stream) {
  chosen_index_ = first_that_runs(
      candidates_.size(),
      [&](std::size_t i) {
        run(sets_.front(), candidates_[i].algo, stream);
        check(cudaStreamSynchronize(stream), "finish a product");
      },
      device_answers);
  chosen_ = candidates_[chosen_index_];
  if (chosen_index_ > 0) {
    details_.push_back({"candidates_that_fail", std::to_string(chosen_index_)});
  }
}

void LtProduct::run(const OperandSet& set, const cublasLtMatmulAlgo_t& algorithm,
                    Stream stream) const {
  plan_.run(set.description, set.a.data(), set.b.data(), set.d.data(), algorithm, workspace_,
            stream);
}

// Times all candidates; the chosen one stays chosen.
void LtProduct::search(Stream stream) {
  const Event start;
  const Event stop;
  std::size_t calls = 0;
  const CandidateTimes times = time_candidates(
      candidates_.size(), {},
      [&](std::size_t i) {
        start.record(stream);
        run(sets_[calls++ % sets_.size()], candidates_[i].algo, stream);
        stop.record(stream);
        return seconds_between(start, stop);
      },
      device_answers);
  const std::optional<double>& chosen = times.seconds[chosen_index_];
  if (!times.fastest || !chosen) {
    return;
  }
  const auto& fastest = candidates_[*times.fastest];
  const double ratio = *chosen / *times.seconds[*times.fastest];
  details_.push_back({"heuristic0_over_best", fmt::format("{:.4f}", ratio)});
  for (Detail& detail :
       algorithm_details(fastest.algo, fastest.workspaceSize, fastest.wavesCount)) {
    details_.push_back({"best_" + detail.name, std::move(detail.value)});
  }
}

Verification LtProduct::verify(Stream stream) {
  const OperandSet& set = sets_.front();
  reset_result(product_, set.seeds, set.d.data(), stream);
  run(set, chosen_.algo, stream);
  return verify_result(product_, set.seeds, set.d.data(), kSampled, stream);
}

}  // namespace

std::unique_ptr<Runnable> make_gemm(const KernelCase& kernel, const PrepareOptions& options) {
  const Product product = product_of(kernel.role, kernel.precision, extent(kernel, "m"),
                                     extent(kernel, "n"), extent(kernel, "k"));
  return std::make_unique<LtProduct>(product, options);
}

}  // namespace orrery::kernels
