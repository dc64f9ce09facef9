#include "calibrate/samples/sample_journal.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/sealed_line.hpp"
#include "sim/base/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view kSchema = "orrery-samples/2";
constexpr std::string_view kUnsealed = "orrery-samples/1";  // whose lines have no checksum
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

std::string header_of(const Fingerprint& fingerprint) {
  return fmt::format(R"({{"schema":"{}","fingerprint":{}}})", kSchema, to_json(fingerprint));
}

using Json = nlohmann::ordered_json;

// Nothing when the line is no header of this schema.
std::optional<Fingerprint> fingerprint_of(std::string_view header, std::string_view schema) {
  const Json json = read_json<Json>(header).value;
  if (text_member(json, "schema") != schema || !json.contains("fingerprint")) {
    return std::nullopt;
  }
  return read_fingerprint(json.at("fingerprint").dump());
}

JournalFile::Rules rules_for(const Fingerprint& fingerprint,
                             const std::function<void(Sample)>& keep) {
  return {.writer = "calibration",
          .header_problem = [fingerprint](std::string_view line) -> std::string {
            const std::optional<Fingerprint> found = fingerprint_of(line, kSchema);
            if (!found) {
              return fingerprint_of(line, kUnsealed)
                         ? "was begun by an earlier version: choose another file"
                         : "is no journal of samples: choose another file";
            }
            const std::string changed = differences(*found, fingerprint);
            return changed.empty() ? std::string()
                                   : fmt::format(
                                         "was measured on another machine or with other libraries "
                                         "(it differs in: {}): remove it, or choose another file",
                                         changed);
          },
          .accept = [keep](std::string_view line) -> std::string {
            std::optional<Sample> sample = read_sample(line);
            if (!sample) {
              return "is no sample";
            }
            keep(std::move(*sample));
            return {};
          }};
}

void keep_last(Sample sample,
               std::vector<Sample>& samples,
               std::map<std::string, std::size_t>& by_key) {
  const auto [at, fresh] = by_key.try_emplace(
      key_of(sample.kernel, sample.regime, sample.condition, sample.repeat), samples.size());
  if (fresh) {
    samples.push_back(std::move(sample));
  } else {
    samples[at->second] = std::move(sample);
  }
}

}  // namespace

Measurements read_measurements(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMostBytes);
  const std::string_view all = text;
  std::size_t at = all.find('\n');
  const std::string_view first = all.substr(0, at);
  const bool has_checksums = first.find("\"crc32\"") != std::string_view::npos;
  const std::optional<Fingerprint> fingerprint =
      has_checksums ? fingerprint_of(unsealed(first).value_or(""), kSchema)
                    : fingerprint_of(first, kUnsealed);
  if (!fingerprint) {
    throw Error(ErrorKind::io, fmt::format("{}: is no journal of samples", path.string()));
  }
  Measurements measurements{.fingerprint = *fingerprint, .samples = {}};
  std::map<std::string, std::size_t> by_key;
  int line_number = 2;
  for (std::size_t begin = at + 1; at != std::string_view::npos && begin < all.size();
       begin = at + 1, ++line_number) {
    at = all.find('\n', begin);
    if (at == std::string_view::npos) {
      break;  // a line that was cut
    }
    const std::string_view line = all.substr(begin, at - begin);
    std::optional<Sample> sample =
        has_checksums ? read_sample(unsealed(line).value_or("")) : read_sample(line);
    if (!sample && has_checksums && at + 1 == all.size()) {
      break;  // a line of which the power left a part
    }
    if (!sample) {
      throw Error(
          ErrorKind::io,
          fmt::format(
              "{}:{}: is no sample, or damaged: remove the line", path.string(), line_number));
    }
    keep_last(std::move(*sample), measurements.samples, by_key);
  }
  return measurements;
}

SampleJournal::SampleJournal(std::filesystem::path path, const Fingerprint& fingerprint)
    : file_(std::move(path), header_of(fingerprint), rules_for(fingerprint, [this](Sample sample) {
              keep(sample);
            })) {}

void SampleJournal::keep(const Sample& sample) {
  keep_last(sample, samples_, by_key_);
}

bool SampleJournal::has(const kernels::KernelCase& kernel,
                        Regime regime,
                        const Condition& condition) const {
  return by_key_.contains(key_of(kernel, regime, condition));
}

void SampleJournal::append(const Sample& sample) {
  file_.append(to_line(sample));
  keep(sample);
}

void SampleJournal::close() {
  file_.close();
}

}  // namespace orrery::calibrate
