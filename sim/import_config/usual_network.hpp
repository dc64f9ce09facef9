#pragma once

// Between hosts of these GPUs, which network is there usually, when nobody states one? Internal to
// import_config/.
//
// GPU                                     | network         | because
// ----------------------------------------|-----------------|-------------------------------------
// H100, H200, H800, H20, B200, B300 (SXM) | infiniband-400g | NVIDIA DGX SuperPOD architectures
// A100, A800 (SXM)                        | infiniband-200g | NVIDIA DGX SuperPOD A100 (RA-09950)
// GB200, GB300                            | nvl72           | their rack
// MI300X, MI325X, MI355X                  | roce-8x400g     | ROCm documentation
// Gaudi 2, Gaudi 3                        | their ports     | Intel Gaudi documentation
//
// Always an assumption: the same GPUs stand behind other networks in clouds.

#include <string_view>

namespace orrery::import_config {

// Name of a preset; empty for a GPU without a usual one, such as a PCIe card.
[[nodiscard]] std::string_view usual_network(std::string_view gpu);

}  // namespace orrery::import_config
