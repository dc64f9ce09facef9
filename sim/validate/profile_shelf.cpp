#include "sim/validate/profile_shelf.hpp"

namespace orrery::validate {

namespace {

template <typename Profile>
const Profile* pointer_to(const std::optional<Profile>& profile) {
  return profile ? &*profile : nullptr;
}

}  // namespace

const hardware::GpuProfile* ProfileShelf::gpu(const std::string& name, Diagnostics& diagnostics,
                                              const SourceLocation& where) {
  const auto [it, is_new] = gpus_.try_emplace(name);
  if (is_new) {
    it->second = hardware::load_gpu_profile(name, search_, where, "cluster.gpu", diagnostics);
  }
  return pointer_to(it->second);
}

const hardware::GpuProfile* ProfileShelf::gpu_named(std::string_view words,
                                                    Diagnostics& diagnostics) {
  if (!gpu_names_) {
    gpu_names_ = hardware::gpu_names(search_);
  }
  const auto profile = hardware::profile_in_text(*gpu_names_, words);
  return profile ? gpu(*profile, diagnostics) : nullptr;
}

const hardware::SoftwareProfile* ProfileShelf::software(const std::string& name,
                                                        Diagnostics& diagnostics,
                                                        const SourceLocation& where) {
  const auto [it, is_new] = software_.try_emplace(name);
  if (is_new) {
    it->second = hardware::load_software_profile(name, search_, where, "software", diagnostics);
  }
  return pointer_to(it->second);
}

const hardware::SharedCollectiveTables& ProfileShelf::collectives(Diagnostics& diagnostics) {
  if (!collectives_) {
    hardware::NetworkSpec network;
    // Files with errors are named in the diagnostics; the model then stands alone.
    static_cast<void>(
        hardware::load_collective_tables(network, search_, {}, "collectives", diagnostics));
    collectives_ = network.tables;
  }
  return *collectives_;
}

}  // namespace orrery::validate
