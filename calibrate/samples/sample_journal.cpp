#include <fmt/core.h>

#include <utility>

#include "calibrate/samples/sample.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/files/journal_file.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view kSchema = "orrery-samples/2";
constexpr std::string_view kOldSchema = "orrery-samples/1";
constexpr std::string_view kNoJournal = "is no journal of samples";
constexpr std::string_view kOldJournal =
    "is of the old form orrery-samples/1, which does not say which board was measured nor whether "
    "its clock had settled: measure again into another file";
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

std::string header_of(const Fingerprint& fingerprint) {
  return fmt::format(R"({{"schema":"{}","fingerprint":{}}})", kSchema, to_json(fingerprint));
}

struct Header {
  std::optional<Fingerprint> fingerprint = {};
  std::string_view problem = kNoJournal;  // where there is no fingerprint
};

Header header_in(std::string_view line) {
  const Json json = read_json<Json>(line).value;
  const std::string schema = text_member(json, "schema");
  if (!json.is_object() || !json.contains("fingerprint")) {
    return {};
  }
  if (schema == kOldSchema) {
    return {.fingerprint = {}, .problem = kOldJournal};
  }
  return schema == kSchema ? Header{.fingerprint = read_fingerprint(json.at("fingerprint").dump())}
                           : Header{};
}

using Keep = std::function<void(Sample)>;
using KeepCurve = std::function<void(SettlingCurve)>;

// False when the line is neither a sample nor a curve.
bool take_line(std::string_view line, const Keep& keep, const KeepCurve& keep_curve) {
  if (std::optional<Sample> sample = read_sample(line)) {
    keep(std::move(*sample));
    return true;
  }
  if (std::optional<SettlingCurve> curve = read_settling(line)) {
    keep_curve(std::move(*curve));
    return true;
  }
  return false;
}

// What a change of a field means, for people.
std::string changed_machine(const Fingerprint& found, const Fingerprint& here) {
  const std::string changed = differences(found, here);
  if (changed == "gpu_uuid") {
    return fmt::format(
        "was measured on another board of the same type ({}, this one is {}): boards differ by "
        "several per cent, so go on on that board, or choose another file",
        found.gpu_uuid.value_or("unknown"), here.gpu_uuid.value_or("unknown"));
  }
  return changed.empty() ? std::string()
                         : fmt::format(
                               "was measured on another machine or with other libraries "
                               "(it differs in: {}): remove it, or choose another file",
                               changed);
}

JournalFile::Rules rules_for(const Fingerprint& fingerprint, const Keep& keep,
                             const KeepCurve& keep_curve) {
  return {.writer = "calibration",
          .header_problem = [fingerprint](std::string_view line) -> std::string {
            const Header found = header_in(line);
            if (!found.fingerprint) {
              return found.problem == kNoJournal
                         ? fmt::format("{}: choose another file", kNoJournal)
                         : std::string(found.problem);
            }
            return changed_machine(*found.fingerprint, fingerprint);
          },
          .accept = [keep, keep_curve](std::string_view line) -> std::string {
            return take_line(line, keep, keep_curve) ? "" : "is no sample";
          }};
}

void keep_last(Sample sample, std::vector<Sample>& samples,
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
  const std::optional<std::string> intact = unsealed(first);
  const Header header = header_in(intact ? std::string_view(*intact) : first);
  if (!intact || !header.fingerprint) {
    throw Error(ErrorKind::io, fmt::format("{}: {}", path.string(),
                                           header.fingerprint ? kNoJournal : header.problem));
  }
  Measurements measurements{.fingerprint = *header.fingerprint, .samples = {}};
  std::map<std::string, std::size_t> by_key;
  int line_number = 2;
  for (std::size_t begin = at + 1; at != std::string_view::npos && begin < all.size();
       begin = at + 1, ++line_number) {
    at = all.find('\n', begin);
    if (at == std::string_view::npos) {
      break;  // a line that was cut
    }
    const std::string_view line = all.substr(begin, at - begin);
    const bool known = take_line(
        unsealed(line).value_or(""),
        [&](Sample sample) { keep_last(std::move(sample), measurements.samples, by_key); },
        [&](SettlingCurve curve) { measurements.settling.push_back(std::move(curve)); });
    if (!known && at + 1 == all.size()) {
      break;  // a line of which the power left a part
    }
    if (!known) {
      throw Error(ErrorKind::io, fmt::format("{}:{}: is no sample, or damaged: remove the line",
                                             path.string(), line_number));
    }
  }
  return measurements;
}

SampleJournal::SampleJournal(std::filesystem::path path, const Fingerprint& fingerprint)
    : file_(std::move(path), header_of(fingerprint),
            rules_for(
                fingerprint, [this](const Sample& sample) { keep(sample); },
                [this](SettlingCurve curve) { settling_.push_back(std::move(curve)); })) {}

void SampleJournal::keep(const Sample& sample) { keep_last(sample, samples_, by_key_); }

bool SampleJournal::has(const kernels::KernelCase& kernel, Regime regime,
                        const Condition& condition) const {
  const auto at = by_key_.find(key_of(kernel, regime, condition));
  return at != by_key_.end() && !samples_[at->second].drifted;
}

void SampleJournal::append(const Sample& sample) {
  file_.append(to_line(sample));
  keep(sample);
}

void SampleJournal::append(const SettlingCurve& curve) {
  file_.append(to_line(curve));
  settling_.push_back(curve);
}

void SampleJournal::close() { file_.close(); }

}  // namespace orrery::calibrate
