#pragma once

// What frozen weights, low-rank adapters and a reference model make of the passes of a layer. Used
// inside model/ only.
//
//   Y = X W + s (X A) B      A: k x r, B: r x n;  W is frozen
//
// pass           | frozen W    | its adapter
// ---------------|-------------|--------------------------------------------------------------
// forward        | 2 T k n     | 2 T r (k + n), and the passes that scale and add the result
// input gradient | 2 T k n     | 2 T r (k + n), and the passes that scale and add the gradient
// weight gradient| nothing     | 2 T r (k + n)
//
// Of t tensor ranks a column-parallel layer holds r / t columns of A and n / t of B, and gathers
// T r between them; a row-parallel one sums T r and gathers the T n results of B. What only weight
// gradients need goes: second gathers of the input, transposed 8-bit copies, the backward of the
// embedding. 4-bit weights are unpacked before each product, forward and backward.
//
// DoRA scales the outputs by m / ||W + s A B||, a norm over k n weights in every forward. A
// bottleneck of the width r stands behind a layer of n outputs, with n in place of k and an
// activation between its products. Layers that tensor ranks split have LoRA alone.
//
// A reference model is a frozen one of the same shape: its forward, without dropout, follows that
// of the trained one. With adapters it is the same model, without them.
//
// symbol | meaning                                  | unit     | origin
// -------|------------------------------------------|----------|------------------
// T      | tokens of a micro-batch on the rank      | tokens   | ShardDims
// k, n   | inputs and outputs of the linear layer   | elements | ModelSpec, layout
// r      | rank of the adapters                     | elements | AdapterSpec
//
// Source: LinearWithFrozenWeight and the parallel adapters of Megatron-Core and Megatron-Bridge
// (unfused, as PEFT runs them); DoraLinearLayer of PEFT.

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/parameters.hpp"

namespace orrery::model {

enum class FrozenPart { layer, embedding, head };

// Without effect unless weights are frozen (ModelSpec::trains). Modules that are trained whole keep
// their weight gradients; a layer with one keeps the transposed copies of its 8-bit casts.
void freeze_forward(Pass& pass, const LayerContext& context, FrozenPart part);
void freeze_backward(LayerPasses& passes, const LayerContext& context, FrozenPart part);

// The passes that `passes_of(model, options)` gives, the reference's forward behind the forward.
template <typename PassesOf>
LayerPasses with_reference(ModelSpec model, OpOptions options, const PassesOf& passes_of) {
  model.reference = false;
  LayerPasses passes = passes_of(model, options);
  if (model.lora) {
    model.lora->targets = {false, false, false, false};
  }
  options.dropout = false;
  const Pass reference = passes_of(model, options).forward;
  passes.forward.insert(passes.forward.end(), reference.begin(), reference.end());
  return passes;
}

}  // namespace orrery::model
