// Names of kernels as profilers show them, of the libraries that training stacks call.

#include "sim/answer/trace/kernel_rules.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>

#include "tests/checkout.hpp"

namespace orrery::trace {
namespace {

struct Named {
  std::string_view name;
  Work work;
  Operation operation = Operation::none;
};

class KernelNames : public ::testing::TestWithParam<Named> {};

TEST_P(KernelNames, SayWhatTheKernelDoes) {
  const KernelKind kind = kind_of_kernel(GetParam().name);
  EXPECT_EQ(to_string(kind.work), to_string(GetParam().work)) << GetParam().name;
  EXPECT_EQ(to_string(kind.operation), to_string(GetParam().operation)) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Libraries, KernelNames,
    ::testing::Values(
        Named{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
              Work::communication, Operation::all_reduce},
        Named{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
              Work::communication, Operation::reduce_scatter},
        Named{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", Work::communication,
              Operation::send_receive},
        Named{"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", Work::communication,
              Operation::other},
        Named{"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", Work::gemm},
        Named{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", Work::gemm},
        Named{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(...)",
              Work::gemm},
        Named{"ampere_sgemm_128x128_tn", Work::gemm},
        Named{"Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", Work::gemm},
        Named{"void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>", Work::gemm},
        Named{"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>", Work::attention},
        Named{"void cutlass::device_kernel<flash::FlashAttnFwdSm90<...>>", Work::attention},
        Named{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", Work::attention},
        Named{"scaled_upper_triang_masked_softmax_warp_forward", Work::attention},
        Named{"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
              Work::optimizer},
        Named{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
              "TensorListMetadata<2>, FusedAdamMathFunctor<float, 4>>",
              Work::optimizer},
        Named{"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel", Work::memory},
        Named{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>",
              Work::memory},
        Named{"triton_poi_fused_add_mul_3", Work::memory},
        Named{"Memcpy HtoD (Pinned -> Device)", Work::copy},
        Named{"Memcpy DtoH (Device -> Pageable)", Work::copy},
        Named{"Memcpy DtoD (Device -> Device)", Work::memory},
        Named{"Memset (Device)", Work::memory},
        Named{"void moe::topk_gating<float, 8>(...)", Work::experts},
        Named{"my_own_kernel(float*)", Work::unknown}));

TEST(KernelRules, AreReadFromTheTopSoThatEveryRowCanDecide) {
  for (const KernelRule& rule : kernel_rules()) {
    for (const char c : rule.word) {
      EXPECT_EQ(std::isupper(static_cast<unsigned char>(c)), 0) << rule.word;
    }
    const KernelKind kind = kind_of_kernel(rule.word);
    EXPECT_EQ(to_string(kind.work), to_string(rule.work)) << rule.word << " is never reached";
    EXPECT_EQ(to_string(kind.operation), to_string(rule.operation)) << rule.word;
    EXPECT_EQ(rule.work == Work::communication, rule.operation != Operation::none) << rule.word;
    EXPECT_FALSE(rule.where.empty()) << rule.word;
  }
}

TEST(KernelRules, StandInTheDocumentWordByWord) {
  std::ifstream file(std::string(kSourceDir) + "/docs/traces.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (const KernelRule& rule : kernel_rules()) {
    EXPECT_NE(text.str().find("`" + std::string(rule.word) + "`"), std::string::npos)
        << rule.word << " is not in docs/traces.md";
  }
}

TEST(OperationOf, ReadsTheNamesThatPyTorchWrites) {
  EXPECT_EQ(operation_of("allreduce"), Operation::all_reduce);
  EXPECT_EQ(operation_of("_allgather_base"), Operation::all_gather);
  EXPECT_EQ(operation_of("_reduce_scatter_base"), Operation::reduce_scatter);
  EXPECT_EQ(operation_of("all_to_allv"), Operation::all_to_all);
  EXPECT_EQ(operation_of("send"), Operation::send_receive);
  EXPECT_EQ(operation_of("recv"), Operation::send_receive);
  EXPECT_EQ(operation_of("broadcast"), Operation::broadcast);
  EXPECT_EQ(operation_of(""), Operation::none);
}

}  // namespace
}  // namespace orrery::trace
