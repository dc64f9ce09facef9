#include <algorithm>
#include <array>

#include "sim/run/failures/failure_spec.hpp"

namespace orrery::run {

namespace {

constexpr double kThousandNodes = kKilo;

FailureCause hanging(std::string_view name, double count) {
  FailureCause cause = failure_cause(name, FailureCategory::unknown, count);
  cause.symptom = Symptom::hang;
  return cause;
}

// A reset or reboot and its tests: 5 to 30 min (assumed; Delta, arXiv 2503.11901, reckons with 5
// min for a fast recovery). Hands: lognormal, as Schroeder and Gibson (DSN 2006) find repairs, with
// a median of 8 h and a mean of 25 h: one in fourteen takes more than three days, the wait for a
// part. A technician swaps a part in hours, and an exchange takes 3 to 14 working days by a
// vendor's note: the two moments are assumed from that.
RepairLaw repair_by_hand(double share) {
  return {.first = UniformDuration{minutes(5.0), minutes(30.0)},
          .by_hand = share,
          .manual = lognormal_with_mean(hours(8.0), hours(25.0))};
}

// The counts of Table 5 (they add up to the 419 of the text; the printed percentages do not).
std::vector<FailureCause> llama3_causes() {
  using enum FailureCategory;
  return {failure_cause("faulty GPU", gpu, 148),
          failure_cause("GPU HBM3 memory", gpu, 72),
          failure_cause("software bug", software, 54),
          failure_cause("network switch or cable", network, 35),
          failure_cause("host maintenance", maintenance, 32),
          failure_cause("GPU SRAM memory", gpu, 19),
          failure_cause("GPU system processor", gpu, 17),
          failure_cause("NIC", host, 7),
          hanging("NCCL watchdog timeout", 7),
          failure_cause("silent data corruption", gpu, 6),
          failure_cause("GPU thermal interface or sensor", gpu, 6),
          failure_cause("SSD", host, 3),
          failure_cause("power supply", host, 3),
          failure_cause("server chassis", host, 2),
          failure_cause("IO expansion board", host, 2),
          failure_cause("dependency", dependency, 2),
          failure_cause("CPU", host, 2),
          failure_cause("system memory", host, 2)};
}

// 419 unexpected and 47 planned interruptions in 54 days on 2,048 nodes. How long a planned stop
// took was not published: 10 min is an assumption (a published restart of 8,192 GPUs takes 6.5
// min).
FailureSpec llama3() {
  constexpr double kWindowDays = 54.0;
  constexpr double kUnexpected = 419.0;
  constexpr double kPlanned = 47.0;
  constexpr double kNodes = 2048.0;
  FailureSpec spec;
  spec.node_rate = per_day(kUnexpected / kWindowDays / kNodes);
  spec.causes = llama3_causes();
  spec.maintenance = MaintenanceSpec{per_day(kPlanned / kWindowDays), minutes(10.0)};
  return spec;
}

FailureSpec node_failures(double per_thousand, std::string_view name) {
  FailureSpec spec;
  spec.node_rate = per_thousand_node_days(per_thousand);
  spec.causes = {failure_cause(name, FailureCategory::host, 1.0)};
  return spec;
}

// About one GPU a week on 48 nodes.
FailureSpec bloom_failures() {
  constexpr double kDaysPerFailure = 7.0;
  constexpr double kNodes = 48.0;
  FailureSpec spec;
  spec.node_rate = per_day(1.0 / kDaysPerFailure / kNodes);
  spec.causes = {failure_cause("faulty GPU", FailureCategory::gpu, 1.0)};
  return spec;
}

// At least 35 manual and an estimated 70 automatic restarts in about 60 days on 124 nodes.
FailureSpec opt() {
  constexpr double kRestarts = 105.0;
  constexpr double kDays = 60.0;
  constexpr double kNodes = 124.0;
  FailureSpec spec;
  spec.node_rate = per_day(kRestarts / kDays / kNodes);
  spec.causes = {failure_cause("host failure", FailureCategory::host, 1.0)};
  return spec;
}

// At least 100 restarts in "several weeks" on more than 10,000 GPUs. The text gives neither number:
// four weeks and 10,240 GPUs are assumed (three weeks: 3.7, six weeks: 1.9 per 1,000 node-days).
FailureSpec megascale_failures() {
  constexpr double kRestarts = 100.0;
  constexpr double kAssumedDays = 28.0;
  constexpr double kAssumedNodes = 1280.0;
  FailureSpec spec = node_failures(0.0, "node failure");
  spec.node_rate = per_day(kRestarts / kAssumedDays / kAssumedNodes);
  return spec;
}

// 678 interruptions by cause; the rate is that of 32K GPUs.
FailureSpec ft_hsdp() {
  using enum FailureCategory;
  FailureSpec spec = node_failures(2.3, "");
  spec.causes = {failure_cause("GPU HBM3 memory", gpu, 155),
                 failure_cause("PCIe", host, 122),
                 hanging("NCCL watchdog timeout", 61),
                 failure_cause("GPU compute", gpu, 50),
                 failure_cause("software", software, 48),
                 failure_cause("host maintenance", maintenance, 42),
                 failure_cause("kernel", host, 39),
                 failure_cause("reboot", host, 38),
                 failure_cause("silent data corruption", gpu, 37),
                 failure_cause("network switch or cable", network, 36),
                 failure_cause("SSD", host, 30),
                 failure_cause("GPU SRAM memory", gpu, 8),
                 failure_cause("unknown", unknown, 7),
                 failure_cause("system memory", host, 2),
                 failure_cause("cooling", host, 2),
                 failure_cause("GPU thermal", gpu, 1)};
  return spec;
}

// Llama 3 rates on machines that are new. The excess of all hazards, integrated over the burn-in,
// is 3.79e-3 / d * (factor - 1) * decay per node: with 8 and 30 days 0.80 per node of 8 GPUs, the
// 10 % of GPUs that fail early.
FailureSpec new_fleet() {
  FailureSpec spec = llama3();
  spec.burn_in = BurnInSpec{8.0, days(30.0), Seconds{}};
  return spec;
}

// GPUs whose ages matter, and nothing else; `yearly` is their rate in the long run.
FailureSpec titan(double shape, double yearly) {
  constexpr double kDaysPerYear = 365.25;
  FailureSpec spec;
  FailureCause cause = failure_cause("GPU", FailureCategory::gpu);
  cause.scope = FailureScope::gpu;
  cause.life = weibull_of_mean(shape, days(kDaysPerYear / yearly));
  spec.causes = {cause};
  return spec;
}

constexpr double kRsc1Nodes = 6.50;  // node failures of RSC-1 per 1,000 node-days

// One failure in 7.9 h on 128 nodes: 23.7 per 1,000 node-days. What the node failures do not
// explain ends the job and leaves its nodes alone (assumed).
FailureSpec rsc1_jobs() {
  constexpr double kHours = 7.9;
  constexpr double kNodes = 128.0;
  FailureSpec spec;
  spec.node_rate = 1.0 / (kNodes * hours(kHours));
  const double all = in_per_thousand_node_days(*spec.node_rate);
  spec.causes = {failure_cause("node failure", FailureCategory::host, kRsc1Nodes),
                 failure_cause("other end of the job", FailureCategory::unknown, all - kRsc1Nodes)};
  return spec;
}

// About 205 failures in 4 months of 1,600 H200. Of those whose kind the slide tells, 41.5 % ended
// in the replacement of the GPU host, 12.2 % were InfiniBand hardware and 4.9 % other parts of
// hosts: these need hands. The rest were recoverable faults and other trouble with InfiniBand.
FailureSpec h200_fleet() {
  constexpr double kByHand = 0.415 + 0.122 + 0.049;
  FailureSpec spec = node_failures(8.5, "node failure");
  spec.repair = repair_by_hand(kByHand);
  return spec;
}

std::vector<FailurePreset> large_job_presets() {
  return {{.name = "llama3-2024",
           .summary = "3.79 per 1,000 node-days, 18 causes, 0.87 planned stops a day",
           .source = "Llama 3 (arXiv 2407.21783) sec. 3.3.4 and Table 5, by count: 419 unexpected "
                     "and 47 planned interruptions in 54 days on 16,384 H100; length of a planned "
                     "stop assumed",
           .spec = llama3()},
          {.name = "ft-hsdp-2026",
           .summary = "2.3 per 1,000 node-days, 16 causes",
           .source = "FT-HSDP on 32K H100 (arXiv 2602.00277), 678 interruptions by count and the "
                     "rate as quoted by surveys of the paper; at 98K GPUs they quote 2.8 times "
                     "more than in proportion",
           .spec = ft_hsdp()},
          {.name = "megascale-2024",
           .summary = "2.8 per 1,000 node-days, assuming four weeks and 10,240 GPUs",
           .source = "MegaScale (NSDI 2024): over 100 restarts in several weeks on over 10,000 "
                     "GPUs; weeks and GPUs assumed",
           .spec = megascale_failures()},
          {.name = "h200-fleet-2025",
           .summary = "8.5 per 1,000 node-days, 59 % of the nodes repaired by hand",
           .source = "Crusoe, 1,600 H200 at GTC 2025, as quoted by a reader of the slide: about "
                     "205 failures in 4 months, and what each kind of fault ended in",
           .spec = h200_fleet()},
          {.name = "opt-2022",
           .summary = "14.1 per 1,000 node-days",
           .source = "OPT-175B (arXiv 2205.01068) sec. 2.5: 35 manual and 70 automatic restarts "
                     "in 2 months on 992 A100; the chronicles give 12.8 by restarts and 16.1 by "
                     "machines",
           .spec = opt()},
          {.name = "bloom-2022",
           .summary = "2.98 per 1,000 node-days: about one GPU a week on 48 nodes",
           .source = "BigScience tr11-176B chronicles (hangs and maintenance not included)",
           .spec = bloom_failures()}};
}

std::vector<FailurePreset> fleet_presets() {
  return {{.name = "rsc1-2024",
           .summary = "6.50 per 1,000 node-days",
           .source = "Meta RSC-1, 16K A100 (HPCA 2025, arXiv 2410.21680), as quoted by several "
                     "users of the paper: the rate behind its projections for 16,384 GPUs and more",
           .spec = node_failures(kRsc1Nodes, "node failure")},
          {.name = "rsc1-jobs-2024",
           .summary = "23.7 per 1,000 node-days: jobs of 1,024 GPUs end every 7.9 h",
           .source = "Meta RSC-1 (HPCA 2025, arXiv 2410.21680), measured mean time to failure of "
                     "jobs of 1,024 GPUs; the 6.5 of rsc1-2024 take a node, assumed of the rest: "
                     "none",
           .spec = rsc1_jobs()},
          {.name = "rsc2-2024",
           .summary = "2.34 per 1,000 node-days",
           .source = "Meta RSC-2, 8K A100 (HPCA 2025, arXiv 2410.21680), as quoted by several "
                     "users of the paper",
           .spec = node_failures(2.34, "node failure")},
          {.name = "new-fleet",
           .summary = "llama3-2024 on new machines: 8 times the hazard at first, falling within "
                      "months",
           .source = "early failures of up to 10 % of new accelerators (stas00/ml-engineering, an "
                     "opinion); decay of 30 d assumed, factor derived from both",
           .spec = new_fleet()},
          {.name = "titan-worn",
           .summary = "GPUs that wear out: Weibull shape 2.64, 6.6 % a year",
           .source = "ORNL Titan GPU data, old batch with a known defect, pooled by serial number; "
                     "shape fitted (2.64 +- 0.03), mean life from the yearly rate",
           .spec = titan(2.64, 0.066)},
          {.name = "titan-reworked",
           .summary = "GPUs without memory: Weibull shape 1.02, 0.25 % a year",
           .source = "ORNL Titan GPU data, reworked batch, pooled by serial number; shape fitted "
                     "(1.02 +- 0.13), mean life from the yearly rate",
           .spec = titan(1.02, 0.0025)}};
}

std::vector<FailurePreset> make_failure_presets() {
  std::vector<FailurePreset> presets = {
      {.name = "none", .summary = "nothing ever fails", .source = "definition", .spec = {}}};
  for (const auto& part : {large_job_presets(), fleet_presets()}) {
    presets.insert(presets.end(), part.begin(), part.end());
  }
  return presets;
}

}  // namespace

std::string_view to_string(FailureCategory category) {
  constexpr std::array<std::string_view, kFailureCategoryCount> kNames = {
      "gpu", "network", "host", "maintenance", "software", "dependency", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view to_string(FailureScope scope) {
  constexpr std::array<std::string_view, kFailureScopeCount> kNames = {
      "gpu", "node", "rack", "switch", "power_domain", "storage", "job"};
  return kNames[static_cast<std::size_t>(scope)];
}

bool takes_node_by_default(FailureCategory category) {
  using enum FailureCategory;
  return category == gpu || category == network || category == host || category == maintenance;
}

FailureCause failure_cause(std::string_view name, FailureCategory category, double weight) {
  FailureCause cause;
  cause.name = name;
  cause.category = category;
  cause.weight = weight;
  return cause;
}

// Unicron (arXiv 2401.00134) counts 73 % of errors as transient, cured by a restart.
RepairLaw field_repair() {
  constexpr double kTransient = 0.73;
  return repair_by_hand(1.0 - kTransient);
}

PerSecond per_thousand_node_days(double failures) {
  return per_day(failures / kThousandNodes);
}

double in_per_thousand_node_days(PerSecond rate) {
  return in_per_day(rate) * kThousandNodes;
}

std::span<const FailurePreset> failure_presets() {
  static const std::vector<FailurePreset> kPresets = make_failure_presets();
  return kPresets;
}

const FailurePreset* find_failure_preset(std::string_view name) {
  const std::span<const FailurePreset> presets = failure_presets();
  const auto found = std::find_if(
      presets.begin(), presets.end(), [&](const FailurePreset& p) { return p.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

}  // namespace orrery::run
