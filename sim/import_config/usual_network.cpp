#include "sim/import_config/usual_network.hpp"

#include <algorithm>
#include <array>

namespace orrery::import_config {

std::string_view usual_network(std::string_view gpu) {
  struct Usual {
    std::string_view gpu;  // how the name of the profile begins
    std::string_view network;
  };

  static constexpr std::array<Usual, 13> kUsual = {{{"h100-sxm", "infiniband-400g"},
                                                    {"h200-sxm", "infiniband-400g"},
                                                    {"h800-sxm", "infiniband-400g"},
                                                    {"h20-sxm", "infiniband-400g"},
                                                    {"b200-sxm", "infiniband-400g"},
                                                    {"b300-sxm", "infiniband-400g"},
                                                    {"a100-sxm", "infiniband-200g"},
                                                    {"a800-sxm", "infiniband-200g"},
                                                    {"gb200", "nvl72"},
                                                    {"gb300", "nvl72"},
                                                    {"mi3", "roce-8x400g"},
                                                    {"gaudi2", "gaudi2-roce"},
                                                    {"gaudi3", "gaudi3-roce"}}};
  const auto* found = std::find_if(kUsual.begin(), kUsual.end(), [gpu](const Usual& usual) {
    return gpu.starts_with(usual.gpu);
  });
  return found == kUsual.end() ? std::string_view() : found->network;
}

}  // namespace orrery::import_config
