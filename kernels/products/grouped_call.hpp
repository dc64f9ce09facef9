#pragma once

// Runs the products of all experts as one call: by cuBLAS's grouped product, or by one cuBLASLt
// product per group on several streams forked from the caller's and joined to it again, as training
// frameworks do. Where both are offered, the faster is taken.
//
// way   | precisions            | results                     | implementation
// ------|-----------------------|-----------------------------|-----------------
// group | bf16, fp16            | as the library says         | cublas
// each  | bf16, fp16, fp8_tensor| all that cuBLASLt offers    | cublaslt_each
//
// The way is chosen by a trial on the operands, captured and replayed as a measurement does it: a
// library that takes a call may still refuse to have it captured, and on Hopper its grouped product
// may be the slower one.
//
// symbol | meaning                                                | unit | origin
// -------|--------------------------------------------------------|------|-----------
// lane   | a stream with its own workspace; lane 0 is the caller's | -    | 4, a choice
// Source: four streams are what TransformerEngine's grouped linear layer uses.

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/products/product.hpp"
#include "kernels/products/product_call.hpp"

namespace orrery::kernels {

// Streams beside the caller's. Calls that follow each other on one stream may share them.
class GroupLanes {
 public:
  GroupLanes();
  GroupLanes(const GroupLanes&) = delete;
  GroupLanes& operator=(const GroupLanes&) = delete;
  ~GroupLanes();

  // Allocates on first use.
  void prepare();

  [[nodiscard]] const DeviceBuffer& workspace(std::size_t lane) const;

  // The streams of all lanes, after what `stream` holds; join() makes `stream` wait for them.
  [[nodiscard]] std::vector<Stream> fork(Stream stream) const;
  void join(Stream stream) const;

 private:
  struct Side;
  DeviceBuffer first_;
  std::vector<std::unique_ptr<Side>> sides_;
};

class GroupedCall {
 public:
  // Where the operands of each group lie.
  struct Operands {
    std::vector<ProductPointers> parts;
    DeviceBuffer addresses;  // of a of each group, then b, then d
  };

  // `products`: of the groups, none empty, all of one role and precision. `lanes` must outlive it.
  // Throws Unsupported for other precisions.
  GroupedCall(std::vector<Product> products, GroupLanes& lanes);
  GroupedCall(GroupedCall&& other) noexcept;
  ~GroupedCall();

  // Waits for the stream. The first call chooses the way, which runs and times the products:
  // nothing else may run. Throws Unsupported where neither is offered.
  [[nodiscard]] Operands bind(std::vector<ProductPointers> parts, Stream stream);

  // Enqueues only.
  void launch(const Operands& operands, Stream stream) const;

  [[nodiscard]] std::string_view implementation() const;

  // Why cuBLAS does not group them (not_grouped); where it does, the time of one product per group
  // over that of the grouped one (each_over_grouped).
  [[nodiscard]] std::vector<Detail> details() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace orrery::kernels
