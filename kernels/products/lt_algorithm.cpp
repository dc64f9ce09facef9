#include "kernels/products/lt_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace orrery::kernels {

namespace {

enum class Kind { TILE, STAGES, CLUSTER_SHAPE };

struct Name {
  Kind kind;
  int number;
  std::string_view text;
};

constexpr Name kNames[] = {
#include <orrery_cublaslt_names.inc>
};

std::string name_of(Kind kind, int number) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [kind, number](const Name& name) {
        return name.kind == kind && name.number == number;
      });
  return found == std::end(kNames) ? std::to_string(number) : std::string(found->text);
}

// Attributes have 2 or 4 bytes; one that the library does not answer reads 0.
template <typename T>
int attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  T value = 0;
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
}

}  // namespace

std::string tile_name(int tile) {
  return name_of(Kind::TILE, tile);
}

std::string stages_name(int stages) {
  return name_of(Kind::STAGES, stages);
}

std::string cluster_name(int cluster) {
  return cluster == CUBLASLT_CLUSTER_SHAPE_AUTO ? "auto" : name_of(Kind::CLUSTER_SHAPE, cluster);
}

std::vector<Detail> algorithm_details(const cublasLtMatmulAlgo_t& algorithm,
                                      std::size_t workspace,
                                      float waves) {
  const auto number = [&algorithm](cublasLtMatmulAlgoConfigAttributes_t which) {
    return attribute<std::int32_t>(algorithm, which);
  };
  return {
      {"algorithm", std::to_string(number(CUBLASLT_ALGO_CONFIG_ID))},
      {"tile", tile_name(number(CUBLASLT_ALGO_CONFIG_TILE_ID))},
      {"stages", stages_name(number(CUBLASLT_ALGO_CONFIG_STAGES_ID))},
      {"split_k", std::to_string(number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM))},
      {"cluster",
       cluster_name(attribute<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID))},
      {"waves", fmt::format("{:.3f}", static_cast<double>(waves))},
      {"workspace", std::to_string(workspace)}};
}

}  // namespace orrery::kernels
