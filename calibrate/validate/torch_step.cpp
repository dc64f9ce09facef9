#include "calibrate/validate/torch_step.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sim/base/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "orrery-torch-step/1";

TorchStep read_step(const Json& json) {
  if (json.at("schema").get<std::string>() != kSchema) {
    throw std::invalid_argument(fmt::format("this is no {}", kSchema));
  }
  const ReadShape shape = read_shape(json.at("shape").get<std::string>());
  if (!shape.shape) {
    throw std::invalid_argument(shape.problem);
  }
  const Json& versions = json.at("versions");
  TorchStep step{.shape = *shape.shape,
                 .mode = json.at("mode").get<std::string>(),
                 .median_us = json.at("median_us").get<double>(),
                 .p10_us = json.at("p10_us").get<double>(),
                 .p90_us = json.at("p90_us").get<double>(),
                 .count = json.at("count").get<std::int64_t>(),
                 .torch = versions.at("torch").get<std::string>(),
                 .cuda = versions.at("cuda").get<std::string>(),
                 .device = versions.at("device").get<std::string>()};
  if (!(step.median_us > 0.0)) {
    throw std::invalid_argument("median_us is not positive");
  }
  return step;
}

}  // namespace

ReadTorch read_torch_steps(std::string_view json) {
  ReadTorch read;
  try {
    const ReadJson<Json> text = read_json(json);
    if (!text.ok()) {
      return {{}, text.problem.what};
    }
    const Json& root = text.value;
    if (root.is_array()) {
      for (const Json& entry : root) {
        read.steps.push_back(read_step(entry));
      }
    } else {
      read.steps.push_back(read_step(root));
    }
  } catch (const Json::exception& error) {
    return {{}, error.what()};
  } catch (const std::invalid_argument& error) {
    return {{}, error.what()};
  }
  return read;
}

}  // namespace orrery::calibrate
