#include "calibrate/validate/torch_results.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

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
  const TorchJson& ledger = json.at("ledger_us");
  return {.shape = *shape.shape,
          .mode = json.at("mode").get<std::string>(),
          .median_us = positive(json, "median_us"),
          .p10_us = json.at("p10_us").get<double>(),
          .p90_us = json.at("p90_us").get<double>(),
          .count = whole_number(json.at("count")),
          .sdpa_backend = backend_of(json),
          .ledger = {.products = ledger.at("products").get<double>(),
                     .attention = ledger.at("attention").get<double>(),
                     .memory = ledger.at("memory").get<double>(),
                     .optimizer = ledger.at("optimizer").get<double>()},
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
  if (std::find(kTorchCalls.begin(), kTorchCalls.end(), kernel.call) == kTorchCalls.end()) {
    throw std::invalid_argument(fmt::format(
        "\"{}\" is no call that is compared ({})", kernel.call, fmt::join(kTorchCalls, ", ")));
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
