#include "calibrate/samples/sample_journal.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view kSchema = "orrery-samples/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

std::string header_of(const Fingerprint& fingerprint) {
  return fmt::format(R"({{"schema":"{}","fingerprint":{}}})", kSchema, to_json(fingerprint));
}

// Nothing when the line is no header.
std::optional<Fingerprint> fingerprint_of(std::string_view header) {
  const auto json = nlohmann::ordered_json::parse(header.begin(), header.end(), nullptr, false);
  if (!json.is_object() || json.value("schema", std::string()) != kSchema ||
      !json.contains("fingerprint")) {
    return std::nullopt;
  }
  return read_fingerprint(json.at("fingerprint").dump());
}

JournalFile::Rules rules_for(const Fingerprint& fingerprint,
                             const std::function<void(Sample)>& keep) {
  return {.writer = "calibration",
          .header_problem = [fingerprint](std::string_view line) -> std::string {
            const std::optional<Fingerprint> found = fingerprint_of(line);
            if (!found) {
              return "is no journal of samples: choose another file";
            }
            const std::string changed = differences(*found, fingerprint);
            return changed.empty() ? std::string()
                                   : fmt::format(
                                         "was measured on another machine or with other libraries "
                                         "(it differs in: {}): remove it, or choose another file",
                                         changed);
          },
          .accept =
              [keep](std::string_view line) {
                std::optional<Sample> sample = read_sample(line);
                if (sample) {
                  keep(std::move(*sample));
                }
                return sample.has_value();
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
  const std::optional<Fingerprint> fingerprint = fingerprint_of(all.substr(0, at));
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
    std::optional<Sample> sample = read_sample(all.substr(begin, at - begin));
    if (!sample) {
      throw Error(ErrorKind::io,
                  fmt::format("{}:{}: is no sample: remove the line", path.string(), line_number));
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
