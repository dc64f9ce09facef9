#include <algorithm>

#include "sim/base/text/text.hpp"
#include "sim/run/published_metrics.hpp"
#include "sim/validate/rows/case_inputs.hpp"
#include "sim/validate/whole_runs/whole_runs.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

// The value under a dotted path; {value: ...} is opened on the way.
const yaml::Value* at(const yaml::Value& root, std::string_view path) {
  const yaml::Value* value = &root;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = DataRow(*value).find(path.substr(0, dot));
    if (value == nullptr) {
      return nullptr;
    }
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  const yaml::Value* inner = DataRow(*value).find("value");
  return inner != nullptr ? inner : value;
}

}  // namespace

std::optional<double> PublishedRun::number(std::string_view path) const {
  const yaml::Value* value = at(row_.value(), path);
  const bool scalar = value != nullptr && value->kind == yaml::Value::Kind::scalar;
  return scalar ? yaml::parse_number(value->text).value : std::nullopt;
}

std::vector<double> PublishedRun::numbers(std::string_view path) const {
  std::vector<double> list;
  const yaml::Value* value = at(row_.value(), path);
  if (value == nullptr) {
    return list;
  }
  for (const yaml::Value& item : value->items) {
    if (const auto number = yaml::parse_number(item.text).value) {
      list.push_back(*number);
    }
  }
  return list;
}

std::string PublishedRun::text(std::string_view path) const {
  const yaml::Value* value = at(row_.value(), path);
  return value != nullptr && value->kind == yaml::Value::Kind::scalar ? value->text : std::string();
}

std::optional<double> PublishedRun::devices() const {
  return number("hardware.count");
}

std::optional<double> PublishedRun::nodes() const {
  constexpr double kUsualNode = 8.0;
  const auto count = devices();
  return count ? std::optional(*count / number("hardware.per_node").value_or(kUsualNode))
               : std::nullopt;
}

std::optional<Flop> PublishedRun::flops() const {
  const auto active = number("model.params_active");
  const auto parameters = active ? active : number("model.params");
  const auto trained = number("model.tokens");
  if (!parameters || !trained) {
    return std::nullopt;
  }
  return run::six_nd(*parameters, tokens(*trained));
}

std::optional<TokensPerSecond> PublishedRun::steady_rate() const {
  if (const auto rate = number("steady.tokens_per_s_per_device")) {
    return tokens_per_second(*rate);
  }
  if (const auto hours_each = number("steady.device_hours_per_1e12_tokens")) {
    return tokens(kTera) / hours(*hours_each);
  }
  const auto step = number("steady.step_time_s");
  const auto batch = number("model.batch_tokens");
  const auto count = devices();
  if (step && batch && count) {
    return tokens(*batch) / seconds(*step) / *count;
  }
  return std::nullopt;
}

std::optional<Seconds> PublishedRun::wall() const {
  if (const auto printed = number("wall_days")) {
    return days(*printed);
  }
  if (const auto printed = number("wall_hours")) {
    return hours(*printed);
  }
  const auto printed = number("wall_s");
  return printed ? std::optional(seconds(*printed)) : std::nullopt;
}

std::optional<FlopPerSecond> published_peak(const yaml::Value& document,
                                            const std::string& device) {
  const DataRow peaks =
      DataRow(document).row("meta").row("conventions").row("peaks_tflops_dense_16bit");
  for (const yaml::Entry& entry : peaks.value().entries) {
    if (device.find(entry.key) != std::string::npos) {
      if (const auto peak = peaks.number(entry.key)) {
        return teraflop_per_second(*peak);
      }
    }
  }
  return std::nullopt;
}

run::HoursKind hours_kind(std::string_view words) {
  using run::HoursKind;
  const std::string text = lower_case(words);
  const auto says = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  if (says("throughput") || says("step_time") || says("plan") || says("rate_only")) {
    return HoursKind::throughput_derived;
  }
  if (text == "measured" || says("productive")) {
    return HoursKind::productive;
  }
  return says("wallclock") || says("wall clock") || says("billed") || says("including_restarts") ||
                 text.starts_with("wall")
             ? HoursKind::billed
             : HoursKind::unknown;
}

}  // namespace orrery::validate
