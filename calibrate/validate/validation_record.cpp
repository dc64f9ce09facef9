#include "calibrate/validate/validation_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/base/text/untrusted_json.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/flow_text.hpp"

namespace orrery::calibrate {

namespace {

using yaml::in_quotes;

constexpr std::string_view kSchema = "orrery-hardware-validation-record/1";

void add_optional(std::string& line, std::string_view key, const std::optional<double>& value) {
  line += value ? fmt::format(", {}: {}", key, *value) : std::string();
}

std::string check_line(const RecordedCheck& entry) {
  if (!entry.status.empty()) {
    return fmt::format("  - {{shape: {}, status: {}}}\n", in_quotes(to_text(entry.shape)),
                       in_quotes(entry.status));
  }
  return fmt::format(
      "  - {{shape: {}, passed: {}, loss: {}, reference_loss: {}, worst: {}, where: {}}}\n",
      in_quotes(to_text(entry.shape)), entry.check.passed, entry.check.loss,
      entry.check.reference_loss, entry.check.worst, in_quotes(entry.check.where));
}

std::string step_line(const RecordedStep& step) {
  std::string line = fmt::format("  - {{shape: {}", in_quotes(to_text(step.shape)));
  if (!step.status.empty()) {
    return line + fmt::format(", status: {}}}\n", in_quotes(step.status));
  }
  line += fmt::format(", us: {}, p10: {}, p90: {}, n: {}", step.us, step.p10, step.p90, step.count);
  add_optional(line, "launched_us", step.launched_us);
  add_optional(line, "sm_clock_mhz", step.sm_clock);
  add_optional(line, "power_w", step.power);
  if (!step.throttled.empty()) {
    line += fmt::format(", throttled: {}", in_quotes(step.throttled));
  }
  return line + "}\n";
}

std::string kernel_line(const RecordedKernel& entry) {
  const std::string text = in_quotes(kernels::to_text(entry.kernel));
  if (!entry.status.empty()) {
    return fmt::format("  - {{case: {}, status: {}}}\n", text, in_quotes(entry.status));
  }
  std::string line = fmt::format("  - {{case: {}, us: {}, implementation: {}", text, entry.us,
                                 in_quotes(entry.implementation));
  add_optional(line, "sm_clock_mhz", entry.sm_clock);
  return line + "}\n";
}

// Entries of a mapping by name, with a diagnostic for what is missing or no number.
class Fields {
 public:
  Fields(const yaml::Value& value, Diagnostics& diagnostics)
      : value_(value), diagnostics_(diagnostics) {}

  [[nodiscard]] const yaml::Value* find(std::string_view key) const {
    for (const yaml::Entry& entry : value_.entries) {
      if (entry.key == key) {
        return &entry.value;
      }
    }
    return nullptr;
  }

  [[nodiscard]] std::string text(std::string_view key) const {
    const yaml::Value* found = find(key);
    return found == nullptr ? std::string() : found->text;
  }

  [[nodiscard]] std::optional<double> optional_number(std::string_view key) const {
    const yaml::Value* found = find(key);
    if (found == nullptr) {
      return std::nullopt;
    }
    double number = 0.0;
    const char* end = found->text.data() + found->text.size();
    const auto read = std::from_chars(found->text.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end) {
      diagnostics_.error(found->where, key, fmt::format("{} is no number", key));
      return std::nullopt;
    }
    return number;
  }

  [[nodiscard]] double number(std::string_view key) const {
    if (find(key) == nullptr) {
      diagnostics_.error(value_.where, key, fmt::format("{} is missing", key));
      return 0.0;
    }
    return optional_number(key).value_or(0.0);
  }

  [[nodiscard]] StepShape shape() const {
    const ReadShape read = read_shape(text("shape"));
    if (!read.shape) {
      diagnostics_.error(value_.where, "shape", read.problem);
    }
    return read.shape.value_or(StepShape{});
  }

  void problem(std::string_view key, std::string text) const {
    diagnostics_.error(value_.where, key, std::move(text));
  }

 private:
  const yaml::Value& value_;
  Diagnostics& diagnostics_;
};

RecordedCheck read_check(const Fields& fields) {
  RecordedCheck entry{.shape = fields.shape(), .check = {}, .status = fields.text("status")};
  if (entry.status.empty()) {
    entry.check = {.passed = fields.text("passed") == "true",
                   .loss = fields.number("loss"),
                   .reference_loss = fields.number("reference_loss"),
                   .worst = fields.number("worst"),
                   .where = fields.text("where")};
  }
  return entry;
}

RecordedStep read_step(const Fields& fields) {
  RecordedStep step;
  step.shape = fields.shape();
  step.status = fields.text("status");
  if (step.status.empty()) {
    step.us = fields.number("us");
    step.p10 = fields.number("p10");
    step.p90 = fields.number("p90");
    step.count = static_cast<std::int64_t>(fields.number("n"));
    step.launched_us = fields.optional_number("launched_us");
    step.sm_clock = fields.optional_number("sm_clock_mhz");
    step.power = fields.optional_number("power_w");
    step.throttled = fields.text("throttled");
  }
  return step;
}

RecordedKernel read_kernel(const Fields& fields) {
  const kernels::ParsedCase parsed = kernels::parse_case(fields.text("case"));
  if (!parsed.kernel) {
    fields.problem("case", parsed.problem);
  }
  RecordedKernel entry{.kernel = parsed.kernel.value_or(kernels::KernelCase{}),
                       .us = 0.0,
                       .implementation = fields.text("implementation"),
                       .sm_clock = fields.optional_number("sm_clock_mhz"),
                       .status = fields.text("status")};
  if (entry.status.empty()) {
    entry.us = fields.number("us");
  }
  return entry;
}

template <typename Entry, typename Read>
std::vector<Entry> read_list(const yaml::Value* list, Read read, Diagnostics& diagnostics) {
  std::vector<Entry> entries;
  if (list != nullptr) {
    for (const yaml::Value& item : list->items) {
      entries.push_back(read(Fields(item, diagnostics)));
    }
  }
  return entries;
}

}  // namespace

std::string to_yaml(const ValidationRecord& record) {
  std::string text = fmt::format("schema: {}\nfingerprint: {}\ngpu: {}\nmeasured_at: {}\n", kSchema,
                                 in_quotes(record.fingerprint), in_quotes(record.gpu),
                                 in_quotes(record.measured_at));
  text += record.checks.empty() ? "checks: []\n" : "checks:\n";
  for (const RecordedCheck& entry : record.checks) {
    text += check_line(entry);
  }
  text += record.steps.empty() ? "steps: []\n" : "steps:\n";
  for (const RecordedStep& step : record.steps) {
    text += step_line(step);
  }
  text += record.kernels.empty() ? "kernels: []\n" : "kernels:\n";
  for (const RecordedKernel& entry : record.kernels) {
    text += kernel_line(entry);
  }
  return text;
}

std::optional<ValidationRecord> read_record(std::string_view yaml, std::string file,
                                            Diagnostics& diagnostics) {
  const auto root = yaml::parse(yaml, std::move(file), {}, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  Diagnostics found;
  const Fields fields(*root, found);
  if (fields.text("schema") != kSchema) {
    fields.problem("schema", fmt::format("this is no {}", kSchema));
  }
  ValidationRecord record{
      .fingerprint = fields.text("fingerprint"),
      .gpu = fields.text("gpu"),
      .measured_at = fields.text("measured_at"),
      .checks = read_list<RecordedCheck>(fields.find("checks"), read_check, found),
      .steps = read_list<RecordedStep>(fields.find("steps"), read_step, found),
      .kernels = read_list<RecordedKernel>(fields.find("kernels"), read_kernel, found)};
  const bool sound = !found.has_errors();
  diagnostics.add(found);
  return sound ? std::optional(std::move(record)) : std::nullopt;
}

namespace {

using TorchJson = nlohmann::json;

constexpr std::string_view kStepSchema = "orrery-torch-step/2";
constexpr std::string_view kKernelSchema = "orrery-torch-kernel/1";
constexpr std::string_view kAttention = "scaled_dot_product_attention";

double positive(const TorchJson& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!(value > 0.0)) {
    throw std::invalid_argument(fmt::format("{} is not positive", key));
  }
  return value;
}

std::string backend_of(const TorchJson& json) {
  const auto at = json.find("sdpa_backend");
  if (at == json.end() || !at->is_string() || at->get<std::string>().empty()) {
    throw std::invalid_argument(
        "sdpa_backend is missing: without the name of the attention that ran its time means "
        "nothing");
  }
  return at->get<std::string>();
}

TorchStep torch_step(const TorchJson& json) {
  const ReadShape shape = read_shape(json.at("shape").get<std::string>());
  if (!shape.shape) {
    throw std::invalid_argument(shape.problem);
  }
  const TorchJson& versions = json.at("versions");
  const auto spent = [&ledger = json.at("ledger_us")](const char* kind) {
    return microseconds(ledger.at(kind).get<double>());
  };
  return {.shape = *shape.shape,
          .mode = json.at("mode").get<std::string>(),
          .median_us = positive(json, "median_us"),
          .p10_us = json.at("p10_us").get<double>(),
          .p90_us = json.at("p90_us").get<double>(),
          .count = whole_number(json.at("count")),
          .sdpa_backend = backend_of(json),
          .ledger = {.products = spent("products"),
                     .attention = spent("attention"),
                     .memory = spent("memory"),
                     .optimizer = spent("optimizer")},
          .torch = versions.at("torch").get<std::string>(),
          .cuda = versions.at("cuda").get<std::string>(),
          .device = versions.at("device").get<std::string>()};
}

TorchKernel torch_kernel(const TorchJson& json) {
  const kernels::ParsedCase parsed = kernels::parse_case(json.at("case").get<std::string>());
  if (!parsed.kernel) {
    throw std::invalid_argument(parsed.problem);
  }
  TorchKernel kernel{.kernel = *parsed.kernel,
                     .call = json.at("call").get<std::string>(),
                     .us = positive(json, "us"),
                     .bytes = {},
                     .sdpa_backend = {},
                     .torch = json.at("versions").at("torch").get<std::string>()};
  if (std::ranges::find(kTorchCalls, kernel.call) == kTorchCalls.end()) {
    throw std::invalid_argument(fmt::format("\"{}\" is no call that is compared ({})", kernel.call,
                                            fmt::join(kTorchCalls, ", ")));
  }
  if (const auto moved = json.find("bytes"); moved != json.end() && !moved->is_null()) {
    kernel.bytes = positive(json, "bytes");
  }
  if (kernel.call == kAttention) {
    kernel.sdpa_backend = backend_of(json);
  }
  return kernel;
}

void read_entry(const TorchJson& json, ReadTorch& read) {
  const std::string schema = json.at("schema").get<std::string>();
  if (schema == kStepSchema) {
    read.steps.push_back(torch_step(json));
  } else if (schema == kKernelSchema) {
    read.kernels.push_back(torch_kernel(json));
  } else {
    throw std::invalid_argument(
        fmt::format("{} is neither {} nor {}: time it again", schema, kStepSchema, kKernelSchema));
  }
}

}  // namespace

ReadTorch read_torch(std::string_view json) {
  ReadTorch read;
  try {
    const ReadJson<TorchJson> text = read_json<TorchJson>(json);
    if (!text.ok()) {
      return {.steps = {}, .kernels = {}, .problem = text.problem.what};
    }
    const TorchJson& root = text.value;
    if (root.is_array()) {
      for (const TorchJson& entry : root) {
        read_entry(entry, read);
      }
    } else {
      read_entry(root, read);
    }
  } catch (const TorchJson::exception& error) {
    return {.steps = {}, .kernels = {}, .problem = error.what()};
  } catch (const std::invalid_argument& error) {
    return {.steps = {}, .kernels = {}, .problem = error.what()};
  }
  return read;
}

}  // namespace orrery::calibrate
