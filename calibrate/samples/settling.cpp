#include "calibrate/samples/settling.hpp"

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

std::optional<double> or_absent(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

std::optional<SettlingCurve> settling_of(const Json& json) {
  kernels::ParsedCase parsed = kernels::parse_case(json.at("settling").get<std::string>());
  const Json& since = json.at("since_load_s");
  const std::size_t count = since.size();
  if (!parsed.kernel || count == 0 || json.at("us").size() != count ||
      json.at("sm_clock_mhz").size() != count || json.at("power_w").size() != count) {
    return std::nullopt;
  }
  SettlingCurve curve{
      .kernel = *parsed.kernel, .taken_at = json.at("at").get<std::string>(), .points = {}};
  for (std::size_t i = 0; i < count; ++i) {
    curve.points.push_back({.since_load = since.at(i).get<double>(),
                            .time = json.at("us").at(i).get<double>(),
                            .sm_clock = or_absent(json.at("sm_clock_mhz").at(i)),
                            .power = or_absent(json.at("power_w").at(i))});
    if (i > 0 && curve.points[i].since_load <= curve.points[i - 1].since_load) {
      return std::nullopt;
    }
  }
  return curve;
}

}  // namespace

std::string to_line(const SettlingCurve& curve) {
  Json json = {{"settling", kernels::to_text(curve.kernel)},
               {"at", curve.taken_at},
               {"since_load_s", Json::array()},
               {"us", Json::array()},
               {"sm_clock_mhz", Json::array()},
               {"power_w", Json::array()}};
  for (const SettlingPoint& point : curve.points) {
    json["since_load_s"].push_back(point.since_load);
    json["us"].push_back(point.time);
    json["sm_clock_mhz"].push_back(point.sm_clock);
    json["power_w"].push_back(point.power);
  }
  return json_line(json);
}

std::optional<SettlingCurve> read_settling(std::string_view line) {
  try {
    return settling_of(read_json<Json>(line).value);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace orrery::calibrate
