// Rules for amounts: steps and FLOPs, GPU-hours, dollars, energy, shares and sums of counts.

#include <array>
#include <cmath>
#include <numeric>

#include "sim/base/percent.hpp"
#include "sim/base/text.hpp"
#include "sim/run/published_metrics.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/run_case.hpp"

namespace orrery::validate {

namespace {

constexpr auto kAmountParameters =
    std::to_array<std::string_view>({"params", "parameters", "params_active", "n_params", "N"});
constexpr auto kBatch = std::to_array<std::string_view>(
    {"tokens_per_batch", "batch_tokens", "tokens_per_step", "global_batch_tokens"});
constexpr auto kTokens =
    std::to_array<std::string_view>({"tokens", "total_tokens", "training_tokens", "D"});
constexpr auto kRate = std::to_array<std::string_view>(
    {"tflops_per_gpu", "tflops", "tflop_s_per_gpu", "tflop_per_s_per_gpu"});
constexpr auto kPrice = std::to_array<std::string_view>({"usd_gpu_h",
                                                         "usd_per_gpu_h",
                                                         "usd_per_gpu_hour",
                                                         "usd_per_device_hour",
                                                         "price_usd_per_gpu_hour",
                                                         "price_gpu_h",
                                                         "dollars_per_gpu_hour"});
constexpr auto kGpuHours = std::to_array<std::string_view>(
    {"gpu_hours", "device_hours", "h100_hours", "gpu_h", "a100_hours"});
constexpr auto kAmountWindow = std::to_array<std::string_view>({"wall", "window", "duration", ""});

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// --- steps and FLOPs --------------------------------------------------------------------------

bool asks_step_time(const Case& asked) {
  return asked.in.number(kAmountParameters) && asked.in.number(kRate) &&
         (asked.in.number(kBatch) ||
          (asked.in.number({"global_batch", "batch"}) && asked.in.number({"seq_len", "sequence"})));
}

Figures step_time(Case& asked) {
  const double parameters = asked.in.need(kAmountParameters);
  double batch = asked.in.number(kBatch).value_or(0.0);
  if (batch <= 0.0) {
    batch = asked.in.need({"global_batch", "batch"}) * asked.in.need({"seq_len", "sequence"});
  }
  const double gpus = asked.in.need_gpus();
  const FlopPerSecond rate = teraflop_per_second(asked.in.need(kRate));
  if (!asked.in.complete()) {
    return {};
  }
  const Seconds step = run::six_nd(parameters, tokens(batch)) / (gpus * rate);
  if (asked.says_one({"tokens per second", "tokens/s"})) {
    return {figure(batch / in_seconds(step))};
  }
  return {figure(step)};
}

std::optional<Seconds> gpu_time(const CaseInputs& in) {
  if (const auto stated = in.number(kGpuHours)) {
    return hours(*stated);
  }
  const auto gpus = in.gpus();
  const auto window = in.time(kAmountWindow);
  return gpus && window ? std::optional(*gpus * *window) : std::nullopt;
}

bool asks_average_rate(const Case& asked) {
  return asked.in.number(kAmountParameters) && asked.in.number(kTokens) && gpu_time(asked.in);
}

Figures average_rate(Case& asked) {
  const double parameters = asked.in.need(kAmountParameters);
  const double trained = asked.in.need(kTokens);
  if (!asked.in.complete()) {
    return {};
  }
  const Seconds time = *gpu_time(asked.in);
  const FlopPerSecond rate = run::six_nd(parameters, tokens(trained)) / time;
  if (asked.says_one({"mfu", "utilisation", "utilization"})) {
    const double peak = asked.in.need({"peak_tflops", "peak", "tflops_peak"});
    return asked.in.complete() ? Figures{figure(rate / teraflop_per_second(peak))} : Figures{};
  }
  if (asked.says_one({"tokens per second", "tokens/s"})) {
    return {figure(trained / in_seconds(time))};
  }
  return {figure(rate)};
}

// GPU-hours, or days on so many GPUs, of so many FLOPs at a rate.
bool asks_gpu_hours(const Case& asked) {
  return asked.in.number(kAmountParameters) && asked.in.number(kTokens) && asked.in.number(kRate);
}

Figures gpu_hours(Case& asked) {
  const double parameters = asked.in.need(kAmountParameters);
  const double trained = asked.in.need(kTokens);
  const double rate = asked.in.need(kRate);
  if (!asked.in.complete()) {
    return {};
  }
  const Seconds time = run::six_nd(parameters, tokens(trained)) / teraflop_per_second(rate);
  const auto gpus = asked.in.gpus();
  return {figure(gpus && !asked.says_one({"gpu-h", "gpu h", "device"}) ? time / *gpus : time)};
}

// --- dollars -----------------------------------------------------------------------------------

bool asks_cost(const Case& asked) {
  return asked.in.number(kPrice) && (asked.in.gpus() || asked.in.number(kGpuHours));
}

// Through the run: a window without failures on one node of so many GPUs.
Figures cost(Case& asked) {
  const DollarsPerSecond price = dollars_per_hour(asked.in.need(kPrice));
  if (const auto time = asked.in.number(kGpuHours); time && asked.in.complete()) {
    return {figure(price * hours(*time))};
  }
  const double gpus = asked.in.need_gpus();
  const auto window = asked.in.time(kAmountWindow);
  if (!asked.in.complete()) {
    return {};
  }
  if (!window) {
    return {figure(gpus * price)};
  }
  const auto bill = window_cost(gpus, *window, price);
  return bill ? Figures{figure(*bill)} : Figures{};
}

// --- energy ------------------------------------------------------------------------------------

std::optional<double> kilowatts(const CaseInputs& in) {
  const double per_node = in.number({"gpus_per_node", "per_node"}).value_or(0.0);
  const auto gpus = in.gpus();
  if (const auto node = in.number({"node_kw", "kw_per_node", "server_kw"})) {
    const auto nodes = per_node > 0.0 && gpus ? std::optional(*gpus / per_node) : in.nodes();
    return nodes ? std::optional(*nodes * *node) : std::nullopt;
  }
  const auto kilo = in.number({"gpu_kw", "kw_per_gpu", "kw"});
  const auto watt =
      in.number({"gpu_w", "watts", "w_per_gpu", "watts_per_gpu", "power_w", "watts_per_module"});
  if (kilo || watt) {
    const double each = kilo ? *kilo : *watt / kKilo;
    return gpus ? std::optional(*gpus * each) : std::nullopt;
  }
  return std::nullopt;
}

bool asks_energy(const Case& asked) {
  if (kilowatts(asked.in) && asked.in.time(kAmountWindow)) {
    return true;
  }
  return asked.in.number(kGpuHours) &&
         asked.in.number(
             {"gpu_w", "watts", "w_per_gpu", "watts_per_gpu", "power_w", "gpu_kw", "kw_per_gpu"});
}

Figures energy(Case& asked) {
  double kilowatt_hours = 0.0;
  if (const auto time = asked.in.number(kGpuHours)) {
    const auto watt = asked.in.number({"gpu_w", "watts", "w_per_gpu", "watts_per_gpu", "power_w"});
    kilowatt_hours = *time * (watt ? *watt / kKilo : asked.in.need({"gpu_kw", "kw_per_gpu"}));
  } else {
    kilowatt_hours = *kilowatts(asked.in) * in_hours(asked.in.need_time(kAmountWindow));
  }
  if (!asked.in.complete()) {
    return {};
  }
  kilowatt_hours *= asked.in.number({"pue"}).value_or(1.0);
  const auto price = asked.in.number({"usd_per_kwh", "usd_kwh", "price_kwh", "price_usd_per_kwh"});
  if (price && asked.says_one({"cost", "usd", "dollar", "bill", "price"})) {
    return {figure(dollars(kilowatt_hours * *price))};
  }
  const auto carbon = asked.in.number({"kg_per_kwh", "kg_co2_per_kwh", "co2_kg_per_kwh"});
  if (carbon && asked.says_one({"co2", "carbon", "emission"})) {
    const bool tonnes = asked.unit.starts_with("t");
    return {figure(kilowatt_hours * *carbon / (tonnes ? kKilo : 1.0))};
  }
  return {energy_figure(kilowatt_hours)};
}

// --- prices of parts ---------------------------------------------------------------------------

constexpr auto kNodePrice = std::to_array<std::string_view>({"usd_per_node_hour",
                                                             "usd_node_h",
                                                             "usd_per_instance_hour",
                                                             "usd_instance_h",
                                                             "usd_per_instance_h"});

bool asks_gpu_price(const Case& asked) {
  return asked.in.number(kNodePrice) && asked.in.number({"gpus", "gpus_per_node"});
}

Figures gpu_price(Case& asked) {
  const DollarsPerSecond price = dollars_per_hour(asked.in.need(kNodePrice));
  const double gpus = asked.in.need({"gpus_per_node", "gpus"});
  return asked.in.complete() ? Figures{figure(price / gpus)} : Figures{};
}

bool asks_discount(const Case& asked) {
  return asked.in.number({"spot", "spot_usd", "reserved", "reserved_usd"}) &&
         asked.in.number({"on_demand", "on_demand_usd"});
}

Figures discount(Case& asked) {
  const double lower = asked.in.need({"spot", "spot_usd", "reserved", "reserved_usd"});
  const double full = asked.in.need({"on_demand", "on_demand_usd"});
  return asked.in.complete() ? Figures{figure(1.0 - lower / full)} : Figures{};
}

// --- wasted hours -----------------------------------------------------------------------------

constexpr auto kWasted = std::to_array<std::string_view>(
    {"wasted_gpu_hours", "lost_gpu_hours", "gpu_hours_wasted", "gpu_hours_lost", "idle_gpu_hours"});

bool asks_wasted(const Case& asked) {
  return asked.in.number(kWasted) && (gpu_time(asked.in) || asked.in.number({"total_gpu_hours"}));
}

Figures wasted(Case& asked) {
  const Seconds lost = hours(asked.in.need(kWasted));
  const auto total = asked.in.number({"total_gpu_hours"});
  return asked.in.complete() ? Figures{figure(lost / (total ? hours(*total) : *gpu_time(asked.in)))}
                             : Figures{};
}

// --- shares and sums ---------------------------------------------------------------------------

// The sum of a list whose name carries a unit of time.
std::optional<Seconds> time_list(const Case& asked) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"_min", kSecondsPerMinute},
       {"_seconds", 1.0},
       {"_s", 1.0},
       {"_h", kSecondsPerHour},
       {"_d", kSecondsPerDay}}};
  for (const auto& [ending, scale] : kUnits) {
    for (const yaml::Entry& entry : asked.in.row().value().entries) {
      const std::vector<double> numbers = asked.in.row().numbers(entry.key);
      if (lower_case(entry.key).ends_with(ending) && !numbers.empty()) {
        return seconds(scale * sum_of(numbers));
      }
    }
  }
  return std::nullopt;
}

// The whole that a quantity such as "(148 + 72) / 419" divides by, when no input states it.
double whole_in_words(const std::string& words) {
  const std::size_t slash = words.rfind('/');
  if (slash == std::string::npos) {
    return 0.0;
  }
  const std::size_t begin = words.find_first_of("0123456789", slash);
  if (begin == std::string::npos) {
    return 0.0;
  }
  const std::size_t end = words.find_first_not_of("0123456789", begin);
  double value = 0.0;
  for (const char digit : words.substr(begin, end == std::string::npos ? end : end - begin)) {
    value = 10.0 * value + static_cast<double>(digit - '0');
  }
  return value;
}

bool is_share(const Case& asked) {
  return asked.says_one({"share", "fraction of", "proportion"});
}

bool asks_share(const Case& asked) {
  return is_share(asked) && !asked.in.has_list({"printed", "percent"}) &&
         (asked.in.has_list({""}) || asked.in.number({"part", "count"}));
}

Figures share(Case& asked) {
  double part = sum_of(asked.in.list({"gpu", "counts", "part", "host", "network", "software", ""}));
  if (part <= 0.0) {
    part = asked.in.need({"part", "count"});
  }
  const double whole =
      asked.in.number({"total", "of", "failures", "unexpected", "interruptions", "all", "sum"})
          .value_or(whole_in_words(asked.words));
  if (whole <= 0.0) {
    asked.reason = "the case does not state the whole of which the share is asked";
    return {};
  }
  return {figure(part / whole)};
}

bool asks_sum(const Case& asked) {
  return asked.says_one({"sum", "total", "printed", "all "}) || is_share(asked);
}

// What a printed total leaves over beside its printed parts.
bool asks_rest(const Case& asked) {
  return asked.says_one({"unattributed", "unexplained", "remainder", "not itemised", "missing"}) &&
         asked.in.has_list({""}) && asked.in.time({"total", "printed_total"});
}

Figures rest(Case& asked) {
  const Seconds total = asked.in.need_time({"total", "printed_total"});
  const auto parts = time_list(asked);
  return parts && asked.in.complete() ? Figures{figure(total - *parts)} : Figures{};
}

// Lists of times become a time, percentages a share, and everything else a number.
Figures sum(Case& asked) {
  if (const auto times = time_list(asked)) {
    return {figure(*times)};
  }
  const std::vector<double> numbers = asked.in.all_numbers();
  if (numbers.empty()) {
    return {};
  }
  const bool percent = asked.unit.starts_with("percent") || asked.unit == "%";
  return {figure(sum_of(numbers) / (percent ? kPercent : 1.0))};
}

constexpr std::array<CaseRule, 11> kAmountRules = {{
    {"step time", asks_step_time, step_time},
    {"average rate", asks_average_rate, average_rate},
    {"GPU-hours", asks_gpu_hours, gpu_hours},
    {"cost", asks_cost, cost},
    {"cost", asks_gpu_price, gpu_price},
    {"cost", asks_discount, discount},
    {"energy", asks_energy, energy},
    {"wasted time", asks_wasted, wasted},
    {"sums", asks_rest, rest},
    {"shares of causes", asks_share, share},
    {"sums", asks_sum, sum},
}};

}  // namespace

std::span<const CaseRule> amount_rules() {
  return kAmountRules;
}

}  // namespace orrery::validate
