#include <fmt/format.h>

#include <set>
#include <utility>

#include "calibrate/import/import_report.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::calibration_import {

namespace {

using hardware::CollectiveTable;
using model::CollectiveKind;

// Names of operations as people write them into names of files.
constexpr std::array<std::pair<std::string_view, CollectiveKind>, 12> kFileWords = {
    {{"all_reduce", CollectiveKind::all_reduce},
     {"allreduce", CollectiveKind::all_reduce},
     {"all_gather", CollectiveKind::all_gather},
     {"allgather", CollectiveKind::all_gather},
     {"reduce_scatter", CollectiveKind::reduce_scatter},
     {"reducescatter", CollectiveKind::reduce_scatter},
     {"alltoall", CollectiveKind::all_to_all},
     {"all_to_all", CollectiveKind::all_to_all},
     {"broadcast", CollectiveKind::broadcast},
     {"sendrecv", CollectiveKind::send_receive},
     {"send_receive", CollectiveKind::send_receive},
     {"send_recv", CollectiveKind::send_receive}}};

// Reads one log with its options; every fact leaves a note.
class Resolver {
 public:
  Resolver(const CollectiveLog& log, const RigOptions& options,
           const hardware::ProfileSearch& search, Diagnostics& diagnostics)
      : log_(log), options_(options), search_(search), diagnostics_(diagnostics) {}

  std::optional<ResolvedLog> resolve() {
    result_.log = &log_;
    result_.table.rig = options_.rig;
    if (!find_operation()) {
      return std::nullopt;
    }
    if (ran_alone(log_)) {
      error("", "ranks = 1: every process ran for itself, so nothing was measured",
            "build nccl-tests with MPI=1, or use -g for the GPUs of one process");
      return std::nullopt;
    }
    const bool complete = find_gpu();  // all that is missing is reported at once
    if (!find_ranks() || !find_nodes() || !complete || !find_domain() || !find_network()) {
      return std::nullopt;
    }
    find_choices();
    return std::move(result_);
  }

 private:
  void note(std::string_view name, std::string value, FactOrigin origin, std::string why) {
    result_.facts.push_back({std::string(name), std::move(value), origin, std::move(why)});
  }

  void error(std::string_view option, std::string_view message, std::string_view allowed) {
    diagnostics_.error(log_.where, option, message, allowed);
  }

  bool find_operation() {
    CollectiveTable& table = result_.table;
    if (options_.operation) {
      table.operation = *options_.operation;
      note("operation", std::string(operation_name(table.operation)), FactOrigin::option, "");
      return true;
    }
    if (const auto named = operation_of(log_.operation_name)) {
      table.operation = *named;
      note("operation", std::string(operation_name(*named)), FactOrigin::log,
           std::string(log_.operation_name));
      return true;
    }
    if (!program_in(log_.operation_name).empty()) {
      diagnostics_.warning(
          log_.where, "",
          fmt::format("{} is left out: tables hold no such operation", log_.operation_name));
      return false;
    }
    const std::string name = lower_case(log_.operation_name);
    for (const auto& [word, kind] : kFileWords) {
      if (name.find(word) != std::string::npos) {
        table.operation = kind;
        note("operation", std::string(operation_name(kind)), FactOrigin::log, "name of the file");
        return true;
      }
    }
    error("--operation", "the log does not name its operation",
          "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_receive");
    return false;
  }

  // The ranks of the first group.
  [[nodiscard]] std::vector<LogRank> members() const {
    std::vector<LogRank> found;
    for (const LogRank& rank : log_.ranks) {
      if (rank.group == log_.ranks.front().group) {
        found.push_back(rank);
      }
    }
    return found;
  }

  bool find_gpu() {
    std::string name;
    std::set<std::string> devices;
    for (const LogRank& rank : log_.ranks) {
      if (!rank.gpu.empty()) {
        devices.insert(rank.gpu);
      }
    }
    if (options_.gpu) {
      name = *options_.gpu;
    } else if (devices.size() != 1) {
      error("--gpu",
            devices.empty() ? std::string("the log does not name the GPU")
                            : fmt::format("several GPUs took part ({})", fmt::join(devices, ", ")),
            "the name of a GPU profile, see orrery list gpus");
      return false;
    } else {
      const auto found =
          hardware::profiles_of_device(hardware::gpu_names(search_), *devices.begin());
      if (found.size() != 1) {
        error("--gpu",
              fmt::format("{} profile has the name `{}`", found.empty() ? "no" : "more than one",
                          *devices.begin()),
              found.empty() ? std::string("the name or the file of a GPU profile")
                            : fmt::format("{}", fmt::join(found, ", ")));
        return false;
      }
      name = found.front();
    }
    auto gpu = hardware::load_gpu_profile(name, search_, {}, "--gpu", diagnostics_);
    if (!gpu) {
      return false;
    }
    result_.gpu = std::move(gpu);
    CollectiveTable& table = result_.table;
    table.gpu = result_.gpu->name;
    table.arch = result_.gpu->arch;
    table.nvlink = result_.gpu->nvlink ? result_.gpu->nvlink->bandwidth.value() : BytesPerSecond();
    note("gpu", table.gpu, options_.gpu ? FactOrigin::option : FactOrigin::log,
         devices.empty() ? std::string() : fmt::format("{}", fmt::join(devices, ", ")));
    return true;
  }

  // A count from the log and from an option must agree.
  bool agree(std::string_view option, const std::optional<std::int64_t>& given, std::int64_t read,
             std::string_view what) {
    if (!given || *given == read) {
      return true;
    }
    error(option, fmt::format("is {}, but the log says {} {}", *given, read, what), "");
    return false;
  }

  bool find_ranks() {
    std::int64_t& ranks = result_.table.ranks;
    const auto listed = static_cast<std::int64_t>(log_.ranks.empty() ? 0 : members().size());
    const model::CollectiveKind operation = result_.table.operation;
    const bool more = options_.ranks && *options_.ranks > listed &&
                      figures_allow(log_, operation, *options_.ranks);
    cut_ = !log_.stated_ranks && listed > 0 && (listed == 1 || more) &&
           !figures_allow(log_, operation, listed);
    if (cut_) {
      diagnostics_.warning(log_.where, "",
                           fmt::format("the list of devices is cut off: it has {}, and the figures "
                                       "are those of more ranks",
                                       listed));
    } else if (listed > 0 || log_.stated_ranks) {
      ranks = log_.stated_ranks.value_or(static_cast<std::int64_t>(members().size()));
      note("ranks", fmt::format("{}", ranks), FactOrigin::log,
           log_.stated_ranks ? "column ranks" : "list of devices");
      return agree("--ranks", options_.ranks, ranks, "ranks");
    }
    if (options_.ranks) {
      ranks = *options_.ranks;
      note("ranks", fmt::format("{}", ranks), FactOrigin::option, "");
      return true;
    }
    if (const auto found = ranks_by_figures(log_, result_.table.operation)) {
      ranks = *found;
      note("ranks", fmt::format("{}", ranks), FactOrigin::log,
           "the only number that its sizes, algbw and busbw allow");
      return true;
    }
    error("--ranks", "the log does not say how many ranks took part", "such as 16");
    return false;
  }

  // Two ranks on one device of one host: hosts that share a name, or a GPU that is shared.
  [[nodiscard]] bool hosts_are_ambiguous() const {
    std::set<std::pair<std::string, std::string>> places;
    for (const LogRank& rank : members()) {
      if (!places.insert({rank.host, rank.device}).second) {
        return true;
      }
    }
    return false;
  }

  bool find_nodes() {
    CollectiveTable& table = result_.table;
    std::set<std::string> hosts;
    if (!log_.ranks.empty() && !cut_) {
      for (const LogRank& rank : members()) {
        hosts.insert(rank.host);
      }
    }
    const bool readable = log_.stated_nodes || (!hosts.empty() && !hosts_are_ambiguous());
    if (readable) {
      table.nodes = log_.stated_nodes.value_or(static_cast<std::int64_t>(hosts.size()));
      note("nodes", fmt::format("{}", table.nodes), FactOrigin::log,
           log_.stated_nodes ? "column nodes" : "hosts in the list of devices");
      if (!agree("--nodes", options_.nodes, table.nodes, "hosts")) {
        return false;
      }
    } else if (options_.nodes) {
      table.nodes = *options_.nodes;
      note("nodes", fmt::format("{}", table.nodes), FactOrigin::option, "");
    } else {
      error(
          "--nodes",
          hosts.empty()
              ? fmt::format("the log does not say on how many hosts its {} ranks ran", table.ranks)
              : std::string("two ranks are on the same device of a host of the same name"),
          hosts.empty() ? "such as 2" : "the number of hosts, if they share a name");
      return false;
    }
    if (table.ranks % table.nodes != 0) {
      error("--nodes",
            fmt::format("{} ranks do not spread evenly over {} hosts", table.ranks, table.nodes),
            "");
      return false;
    }
    return true;
  }

  bool find_domain() {
    CollectiveTable& table = result_.table;
    const std::int64_t on_host = table.ranks / table.nodes;
    if (!result_.gpu->nvlink) {
      table.nvlink_domain = 1;
      note("nvlink_domain", "1", FactOrigin::log, "the GPU has no NVLink");
      return true;
    }
    // Only superchips are built into domains of several hosts.
    const bool superchip = table.gpu.starts_with("gb") || table.gpu.starts_with("gh");
    if (options_.nvlink_domain) {
      table.nvlink_domain = *options_.nvlink_domain;
      note("nvlink_domain", fmt::format("{}", table.nvlink_domain), FactOrigin::option, "");
      if (table.nodes > 1 && table.nvlink_domain > on_host && !superchip) {
        error("--nvlink-domain",
              fmt::format("is {}, but a host holds {} ranks and NVLink of {} ends there",
                          table.nvlink_domain, on_host, table.gpu),
              fmt::format("{}", on_host));
        return false;
      }
      return true;
    }
    if (superchip && table.nodes > 1) {
      error(
          "--nvlink-domain", fmt::format("hosts with {} may or may not share NVLink", table.gpu),
          fmt::format("72 in a rack that is one domain, {} where every host is its own", on_host));
      return false;
    }
    table.nvlink_domain = on_host;
    note("nvlink_domain", fmt::format("{}", on_host), FactOrigin::assumed,
         "the ranks of one host reach one another over NVLink, and no others");
    return true;
  }

  template <typename T>
  bool choose(std::string_view name, std::string_view option, const std::optional<T>& given,
              const std::optional<T>& read, const T* preset, T& target,
              std::string (*text)(const T&)) {
    if (given) {
      target = *given;
      note(name, text(target), FactOrigin::option, "");
    } else if (read) {
      target = *read;
      note(name, text(target), FactOrigin::log, "NCCL_DEBUG lines");
    } else if (preset != nullptr) {
      target = *preset;
      note(name, text(target), FactOrigin::option,
           fmt::format("--network {}", options_.network->preset));
    } else {
      error(option,
            fmt::format("{} hosts are joined by a network whose {} the log does not say",
                        result_.table.nodes, name),
            name == "fabric" ? "infiniband, roce, efa, tcpx, tcp; or --network PRESET"
                             : (name == "nic_rate" ? "such as 400Gbps; or --network PRESET"
                                                   : "NICs of one host; or --network PRESET"));
      return false;
    }
    return true;
  }

  bool find_network() {
    CollectiveTable& table = result_.table;
    if (table.nodes == 1 || table.domains() == 1) {
      return true;
    }
    const hardware::NetworkSpec* preset = options_.network ? &*options_.network : nullptr;
    const bool fabric =
        choose<hardware::FabricKind>("fabric", "--fabric", options_.fabric, log_.fabric,
                                     preset == nullptr ? nullptr : &preset->fabric, table.fabric,
                                     [](const hardware::FabricKind& kind) {
                                       return std::string(name_of(hardware::kFabricNames, kind));
                                     });
    const bool rate =
        choose<BytesPerSecond>("nic_rate", "--nic-rate", options_.nic_rate, std::nullopt,
                               preset == nullptr ? nullptr : &preset->nic_rate, table.nic_rate,
                               [](const BytesPerSecond& value) {
                                 return fmt::format("{:g}Gbps", in_gigabits_per_second(value));
                               });
    const bool nics = choose<std::int64_t>(
        "nics_per_node", "--nics", options_.nics, log_.nics,
        preset == nullptr ? nullptr : &preset->nics_per_node, table.nics_per_node,
        [](const std::int64_t& count) { return fmt::format("{}", count); });
    warn_of_idle_nics();
    return fabric && rate && nics;
  }

  // A test with a few ranks on each host drives the NICs beside them, not all that a preset has.
  void warn_of_idle_nics() {
    const CollectiveTable& table = result_.table;
    const std::int64_t on_host = table.ranks / table.nodes;
    constexpr std::int64_t kWholeHost = 8;
    if (on_host < kWholeHost && table.nics_per_node > on_host) {
      diagnostics_.warning(
          log_.where, "--nics",
          fmt::format("{} NICs for {} on a host: count those beside its ranks", table.nics_per_node,
                      on_host == 1 ? "1 rank" : fmt::format("{} ranks", on_host)));
    }
  }

  void find_choices() {
    CollectiveTable& table = result_.table;
    table.algorithm = options_.algorithm.value_or(log_.algorithm.value_or(table.algorithm));
    table.sharp = options_.sharp || log_.sharp;
    table.nvls = result_.gpu->nvlink && result_.gpu->nvlink->nvls && !log_.nvls_off;
    if (table.algorithm != hardware::CollectiveAlgorithm::automatic) {
      note("algorithm", std::string(name_of(hardware::kForcedAlgorithms, table.algorithm)),
           options_.algorithm ? FactOrigin::option : FactOrigin::log,
           "holds for scenarios with the same cluster.network.algorithm");
    }
    if (table.sharp) {
      note("sharp", "true", options_.sharp ? FactOrigin::option : FactOrigin::log,
           "holds for scenarios with cluster.network.sharp");
    }
    if (log_.nvls_off) {
      note("nvls", "false", FactOrigin::log,
           "NCCL_NVLS_ENABLE=0; holds for GPU profiles with nvls: false");
    }
  }

  bool cut_ = false;  // the list of devices ends before the last one
  const CollectiveLog& log_;
  const RigOptions& options_;
  const hardware::ProfileSearch& search_;
  Diagnostics& diagnostics_;
  ResolvedLog result_;
};

}  // namespace

std::string_view to_string(FactOrigin origin) {
  switch (origin) {
    case FactOrigin::log:
      return "read";
    case FactOrigin::option:
      return "given";
    case FactOrigin::assumed:
      break;
  }
  return "assumed";
}

std::optional<ResolvedLog> resolve_log(const CollectiveLog& log, const RigOptions& options,
                                       const hardware::ProfileSearch& search,
                                       Diagnostics& diagnostics) {
  return Resolver(log, options, search, diagnostics).resolve();
}

}  // namespace orrery::calibration_import
