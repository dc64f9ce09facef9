#pragma once

// Describes the algorithm that cuBLASLt chose, for samples: number, tile, stages, split, cluster.
//
// name           | meaning                                                       | unit
// ---------------|---------------------------------------------------------------|------
// algorithm      | number of the algorithm                                       | -
// tile, cluster  | rows x columns of the library's column-major result           | 1
// stages         | depth of reduced elements x buffers                           | 1
// split_k        | blocks that share one tile of the result                      | 1
// waves          | tiles / tiles that fit on the GPU at once, as the library says | 1
// workspace      | bytes taken                                                   | byte

#include <cublasLt.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

[[nodiscard]] std::vector<Detail> algorithm_details(const cublasLtMatmulAlgo_t& algorithm,
                                                    std::size_t workspace,
                                                    float waves);

// "128x256" of 23; the number itself when this header does not know it.
[[nodiscard]] std::string tile_name(int tile);
[[nodiscard]] std::string stages_name(int stages);
[[nodiscard]] std::string cluster_name(int cluster);

}  // namespace orrery::kernels
