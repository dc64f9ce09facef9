#include "calibrate/samples/fingerprint.hpp"

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

template <typename T>
std::optional<T> or_absent(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<T>());
}

std::optional<std::int64_t> or_no_number(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(whole_number(json));
}

Json versions_json(const LibraryVersions& versions) {
  return {{"header", versions.header}, {"runtime", versions.runtime}};
}

LibraryVersions read_versions(const Json& json) {
  return {or_no_number(json.at("header")), or_no_number(json.at("runtime"))};
}

Json topology_json(const std::optional<NvlinkTopology>& nvlink) {
  if (!nvlink) {
    return nullptr;
  }
  return {{"links", nvlink->links},
          {"version", nvlink->version},
          {"switched", nvlink->switched},
          {"peers", nvlink->peers}};
}

std::vector<std::int64_t> whole_numbers(const Json& json) {
  std::vector<std::int64_t> numbers;
  for (const Json& one : json) {
    numbers.push_back(whole_number(one));
  }
  return numbers;
}

std::optional<NvlinkTopology> read_topology(const Json& json) {
  if (json.is_null()) {
    return std::nullopt;
  }
  return NvlinkTopology{.links = whole_number(json.at("links")),
                        .version = or_absent<std::string>(json.at("version")),
                        .switched = json.at("switched").get<bool>(),
                        .peers = whole_numbers(json.at("peers"))};
}

Fingerprint from_json(const Json& json) {
  Fingerprint f;
  f.gpu = json.at("gpu").get<std::string>();
  f.gpu_uuid = or_absent<std::string>(json.at("gpu_uuid"));
  f.gpus = whole_number(json.at("gpus"));
  f.compute_capability = json.at("compute_capability").get<std::string>();
  f.multiprocessors = whole_number(json.at("multiprocessors"));
  f.l2_bytes = whole_number(json.at("l2_bytes"));
  f.memory_bytes = whole_number(json.at("memory_bytes"));
  f.pcie_generation = or_no_number(json.at("pcie_generation"));
  f.pcie_width = or_no_number(json.at("pcie_width"));
  f.mig = or_absent<bool>(json.at("mig"));
  f.ecc = or_absent<bool>(json.at("ecc"));
  f.driver = or_absent<std::string>(json.at("driver"));
  f.cuda_compiled = json.at("cuda_compiled").get<std::string>();
  f.cuda_runtime = json.at("cuda_runtime").get<std::string>();
  f.cuda_driver = json.at("cuda_driver").get<std::string>();
  f.cublaslt = read_versions(json.at("cublaslt"));
  f.cudnn = read_versions(json.at("cudnn"));
  f.nccl = read_versions(json.at("nccl"));
  f.nvlink = read_topology(json.at("nvlink"));
  f.power_limit = or_absent<double>(json.at("power_limit_w"));
  f.most_sm_clock = or_absent<double>(json.at("most_sm_clock_mhz"));
  f.cpu = json.at("cpu").get<std::string>();
  f.cores = whole_number(json.at("cores"));
  f.tool = json.at("tool").get<std::string>();
  return f;
}

}  // namespace

Json json_of(const Fingerprint& f) {
  return {{"gpu", f.gpu},
          {"gpu_uuid", f.gpu_uuid},
          {"gpus", f.gpus},
          {"compute_capability", f.compute_capability},
          {"multiprocessors", f.multiprocessors},
          {"l2_bytes", f.l2_bytes},
          {"memory_bytes", f.memory_bytes},
          {"pcie_generation", f.pcie_generation},
          {"pcie_width", f.pcie_width},
          {"mig", f.mig},
          {"ecc", f.ecc},
          {"driver", f.driver},
          {"cuda_compiled", f.cuda_compiled},
          {"cuda_runtime", f.cuda_runtime},
          {"cuda_driver", f.cuda_driver},
          {"cublaslt", versions_json(f.cublaslt)},
          {"cudnn", versions_json(f.cudnn)},
          {"nccl", versions_json(f.nccl)},
          {"nvlink", topology_json(f.nvlink)},
          {"power_limit_w", f.power_limit},
          {"most_sm_clock_mhz", f.most_sm_clock},
          {"cpu", f.cpu},
          {"cores", f.cores},
          {"tool", f.tool}};
}

std::string to_json(const Fingerprint& fingerprint) {
  return json_line(json_of(fingerprint));
}

std::optional<Fingerprint> read_fingerprint(std::string_view json) {
  try {
    return from_json(read_json<Json>(json).value);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string differences(const Fingerprint& a, const Fingerprint& b) {
  const Json first = json_of(a);
  const Json second = json_of(b);
  std::string names;
  for (const auto& [key, value] : first.items()) {
    if (value != second.at(key)) {
      names += names.empty() ? key : ", " + key;
    }
  }
  return names;
}

}  // namespace orrery::calibrate
