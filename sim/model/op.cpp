#include "sim/model/op.hpp"

#include "sim/model/shard_dims.hpp"

namespace orrery::model {

namespace {

constexpr double kFusedBackwardFactor = 2.5;  // five products where the forward has two

struct FlopVisitor {
  Flop operator()(const GemmOp& op) const {
    return flop_count(op);
  }

  Flop operator()(const AttentionOp& op) const {
    return flop_count(op);
  }

  Flop operator()(const MemoryOp&) const {
    return flop(0.0);
  }

  Flop operator()(const CollectiveOp&) const {
    return flop(0.0);
  }
};

}  // namespace

Bytes bytes_per_element(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return bytes(4.0);
    case Dtype::bf16:
    case Dtype::fp16:
      return bytes(2.0);
    case Dtype::fp8:
      return bytes(1.0);
    case Dtype::fp4:
      return bytes(0.5);
  }
  return bytes(0.0);  // not reached: every enumerator returns above
}

Flop flop_count(const GemmOp& op) {
  return flop(product(2, op.m, op.n, op.k, op.batch));
}

double keys_in_window(const AttentionOp& op) {
  const auto length = static_cast<double>(op.key_length);
  const auto window = static_cast<double>(op.window);
  const bool limited = op.window > 0 && op.window < op.key_length;
  return limited ? window - window * window / (2.0 * length) : length;
}

Flop flop_count(const AttentionOp& op) {
  const double full =
      product(2, op.sequences, op.heads, op.query_length, op.head_dim_qk + op.head_dim_v) *
      keys_in_window(op);
  const bool limited = op.window > 0 && op.window < op.key_length;
  const double counted = op.causal && !limited ? full / 2.0 : full;
  return flop(op.backward ? kFusedBackwardFactor * counted : counted);
}

Flop flop_count(const Op& op) {
  return std::visit(FlopVisitor{}, op);
}

}  // namespace orrery::model
