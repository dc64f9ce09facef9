#include "sim/answer/trace/kernel_rules.hpp"

#include <string>

#include "sim/base/text/text.hpp"

namespace orrery::trace {

namespace {

constexpr auto kMessages = Work::communication;

// Words are lower case. Narrow words stand above wide ones: what a kernel is part of (an optimizer,
// an attention) before what it is made of (a GEMM, a reduction).
constexpr std::array<KernelRule, 100> kKernelRules = {{
    // Communication
    {"nccldevkernel_allreduce", kMessages, Operation::all_reduce, "NCCL, RCCL"},
    {"nccldevkernel_reducescatter", kMessages, Operation::reduce_scatter, "NCCL, RCCL"},
    {"nccldevkernel_allgather", kMessages, Operation::all_gather, "NCCL, RCCL"},
    {"nccldevkernel_alltoall", kMessages, Operation::all_to_all, "NCCL, RCCL"},
    {"nccldevkernel_sendrecv", kMessages, Operation::send_receive, "NCCL, RCCL"},
    {"nccldevkernel_broadcast", kMessages, Operation::broadcast, "NCCL, RCCL"},
    {"ncclkernel_allreduce", kMessages, Operation::all_reduce, "NCCL before 2.19"},
    {"ncclkernel_reducescatter", kMessages, Operation::reduce_scatter, "NCCL before 2.19"},
    {"ncclkernel_allgather", kMessages, Operation::all_gather, "NCCL before 2.19"},
    {"ncclkernel_alltoall", kMessages, Operation::all_to_all, "NCCL before 2.19"},
    {"ncclkernel_sendrecv", kMessages, Operation::send_receive, "NCCL before 2.19"},
    {"ncclkernel_broadcast", kMessages, Operation::broadcast, "NCCL before 2.19"},
    {"nccl", kMessages, Operation::other, "NCCL"},
    {"rccl", kMessages, Operation::other, "RCCL"},
    {"deep_ep", kMessages, Operation::all_to_all, "DeepEP"},
    {"nvshmem", kMessages, Operation::other, "NVSHMEM"},
    {"userbuffers", kMessages, Operation::other, "Transformer Engine"},
    {"multimem_all_gather", kMessages, Operation::all_gather, "PyTorch symmetric memory"},
    {"_shot_all_reduce", kMessages, Operation::all_reduce, "PyTorch symmetric memory"},
    {"multimem_all_reduce", kMessages, Operation::all_reduce, "PyTorch symmetric memory"},
    {"cross_device_reduce", kMessages, Operation::all_reduce, "custom all-reduce"},
    // Copies and fills
    {"memcpy dtod", Work::memory, Operation::none, "CUDA, HIP: copy on the device"},
    {"memcpy", Work::copy, Operation::none, "CUDA, HIP: copy to or from the device"},
    {"memset", Work::memory, Operation::none, "CUDA, HIP: fill"},
    {"copydevicetodevice", Work::memory, Operation::none, "HIP: copy on the device"},
    {"copyhosttodevice", Work::copy, Operation::none, "HIP"},
    {"copydevicetohost", Work::copy, Operation::none, "HIP"},
    // Optimizer
    {"multi_tensor_apply", Work::optimizer, Operation::none, "Apex, PyTorch foreach"},
    {"adam", Work::optimizer, Operation::none, "Apex, Megatron-Core, DeepSpeed"},
    {"l2norm", Work::optimizer, Operation::none, "gradient clipping"},
    {"lpnorm", Work::optimizer, Operation::none, "gradient clipping"},
    {"lambfunctor", Work::optimizer, Operation::none, "Apex"},
    {"adagrad", Work::optimizer, Operation::none, "FBGEMM: update with the backward pass"},
    // Attention
    {"flash", Work::attention, Operation::none, "FlashAttention"},
    {"fmha", Work::attention, Operation::none, "cuDNN, xFormers, CUTLASS"},
    {"sdpa", Work::attention, Operation::none, "cuDNN"},
    {"attention", Work::attention, Operation::none, "any"},
    {"_attn_", Work::attention, Operation::none, "Triton, AITER"},
    {"attn_fwd", Work::attention, Operation::none, "Triton, AITER"},
    {"attn_bwd", Work::attention, Operation::none, "Triton, AITER"},
    {"triang_masked_softmax", Work::attention, Operation::none, "Megatron: unfused attention"},
    {"scaled_masked_softmax", Work::attention, Operation::none, "Megatron: unfused attention"},
    {"scaled_softmax", Work::attention, Operation::none, "Megatron: unfused attention"},
    // Experts
    {"permute_kernel", Work::experts, Operation::none, "Transformer Engine, grouped GEMM"},
    {"moe", Work::experts, Operation::none, "any"},
    {"topk", Work::experts, Operation::none, "routing"},
    {"router", Work::experts, Operation::none, "routing"},
    // Matrix multiplication
    {"gemm", Work::gemm, Operation::none, "cuBLAS, CUTLASS, DeepGEMM"},
    {"nvjet", Work::gemm, Operation::none, "cuBLAS from 12.6"},
    {"cublas", Work::gemm, Operation::none, "cuBLAS"},
    {"xmma", Work::gemm, Operation::none, "cuBLAS, cuDNN"},
    {"cijk_", Work::gemm, Operation::none, "Tensile (rocBLAS, hipBLASLt)"},
    {"splitkreduce", Work::gemm, Operation::none, "cuBLAS"},
    {"grouped_mm", Work::gemm, Operation::none, "PyTorch"},
    {"matmul", Work::gemm, Operation::none, "any"},
    {"_mm_", Work::gemm, Operation::none, "Triton templates of Inductor"},
    {"winograd", Work::gemm, Operation::none, "cuDNN"},
    {"implicit_convolve", Work::gemm, Operation::none, "cuDNN"},
    {"scudnn", Work::gemm, Operation::none, "cuDNN"},
    {"convolution", Work::gemm, Operation::none, "cuDNN, CUTLASS"},
    {"dgrad", Work::gemm, Operation::none, "cuDNN"},
    {"wgrad", Work::gemm, Operation::none, "cuDNN"},
    {"epilogue::impl", Work::gemm, Operation::none, "cuBLASLt"},
    {"cutlass", Work::gemm, Operation::none, "CUTLASS"},
    // Memory-bound
    {"layer_norm", Work::memory, Operation::none, "any"},
    {"layernorm", Work::memory, Operation::none, "any"},
    {"rmsnorm", Work::memory, Operation::none, "any"},
    {"rms_norm", Work::memory, Operation::none, "any"},
    {"ln_fwd", Work::memory, Operation::none, "Transformer Engine, Apex"},
    {"ln_bwd", Work::memory, Operation::none, "Transformer Engine, Apex"},
    {"bn_fw", Work::memory, Operation::none, "cuDNN"},
    {"bn_bw", Work::memory, Operation::none, "cuDNN"},
    {"elementwise", Work::memory, Operation::none, "PyTorch"},
    {"reduce", Work::memory, Operation::none, "PyTorch, CUB"},
    {"softmax", Work::memory, Operation::none, "PyTorch"},
    {"cross_entropy", Work::memory, Operation::none, "any"},
    {"nll_loss", Work::memory, Operation::none, "PyTorch"},
    {"dropout", Work::memory, Operation::none, "any"},
    {"embedding", Work::memory, Operation::none, "any"},
    {"rope", Work::memory, Operation::none, "any"},
    {"rotary", Work::memory, Operation::none, "any"},
    {"swiglu", Work::memory, Operation::none, "any"},
    {"gelu", Work::memory, Operation::none, "any"},
    {"silu", Work::memory, Operation::none, "any"},
    {"transpose", Work::memory, Operation::none, "any"},
    {"quantize", Work::memory, Operation::none, "FP8 recipes"},
    {"amax", Work::memory, Operation::none, "FP8 recipes"},
    {"cast", Work::memory, Operation::none, "FP8 recipes"},
    {"copy", Work::memory, Operation::none, "PyTorch"},
    {"index", Work::memory, Operation::none, "PyTorch"},
    {"gather", Work::memory, Operation::none, "PyTorch"},
    {"scatter", Work::memory, Operation::none, "PyTorch"},
    {"fill", Work::memory, Operation::none, "PyTorch"},
    {"sort", Work::memory, Operation::none, "CUB"},
    {"scan", Work::memory, Operation::none, "CUB"},
    {"nchw", Work::memory, Operation::none, "cuDNN: change of the layout in memory"},
    {"permute", Work::memory, Operation::none, "any"},
    {"pool", Work::memory, Operation::none, "PyTorch, cuDNN"},
    {"at::native", Work::memory, Operation::none, "PyTorch, the rest"},
    {"triton_", Work::memory, Operation::none, "Inductor's fused kernels"},
}};

}  // namespace

std::span<const KernelRule> kernel_rules() { return kKernelRules; }

KernelKind kind_of_kernel(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const KernelRule& rule : kKernelRules) {
    if (lower.find(rule.word) != std::string::npos) {
      return {rule.work, rule.operation};
    }
  }
  return {};
}

Operation operation_of(std::string_view collective_name) {
  std::string plain = lower_case(collective_name);
  std::erase(plain, '_');

  struct Word {
    std::string_view word;
    Operation operation;
  };

  constexpr std::array<Word, 8> kWords = {{{"allreduce", Operation::all_reduce},
                                           {"reducescatter", Operation::reduce_scatter},
                                           {"allgather", Operation::all_gather},
                                           {"alltoall", Operation::all_to_all},
                                           {"send", Operation::send_receive},
                                           {"recv", Operation::send_receive},
                                           {"broadcast", Operation::broadcast},
                                           {"reduce", Operation::other}}};
  for (const Word& word : kWords) {
    if (plain.find(word.word) != std::string::npos) {
      return word.operation;
    }
  }
  return Operation::none;
}

}  // namespace orrery::trace
