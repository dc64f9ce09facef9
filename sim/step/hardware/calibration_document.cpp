// Reads `calibration-profile/1`: every problem with its place, nothing guessed.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "sim/base/yaml/reader.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/profile_document.hpp"

namespace orrery::hardware {

namespace {

using yaml::above;
using yaml::at_least;
using yaml::Choice;
using yaml::MappingReader;
using yaml::Value;
namespace kind = yaml::kind;

constexpr std::array<Choice<bool>, 1> kSchemas = {{{kCalibrationSchema, true}}};
constexpr std::array<Choice<bool>, 2> kRegimes = {{{"sustained", false}, {"burst", true}}};
constexpr std::string_view kAbsent = "absent";
constexpr std::string_view kExampleCase = "gemm fprop bf16 m=8192 n=28672 k=4096";

constexpr std::array<std::string_view, 13> kDerived = {"copy_gbps",
                                                       "graph_node_us",
                                                       "graph_launch_us",
                                                       "stream_launch_us",
                                                       "d2h_pinned_gbps",
                                                       "h2d_pinned_gbps",
                                                       "burst_over_sustained",
                                                       "step_clock_mhz",
                                                       "d2h_gemm_slowdown",
                                                       "copy_gemm_slowdown",
                                                       "gemm_slowdown_per_sm_removed",
                                                       "gemm_slowdown_per_sm_streaming",
                                                       "gemm_slowdown_under_collective"};

template <typename E, std::size_t N>
std::array<Choice<E>, N> word_choices(const std::array<E, N>& values) {
  std::array<Choice<E>, N> choices{};
  for (std::size_t i = 0; i < N; ++i) {
    choices[i] = {kernels::to_string(values[i]), values[i]};
  }
  return choices;
}

const auto kOperationWords = word_choices(kernels::kOperations);
const auto kPrecisionWords = word_choices(kernels::kPrecisions);
const auto kRoleWords = word_choices(kernels::kRoles);

// The scalars below a mapping, by their dotted names.
struct FlatField {
  std::string key;
  const Value* value = nullptr;
};

void flatten(const Value& value, const std::string& prefix, std::vector<FlatField>& fields) {
  if (value.kind != Value::Kind::mapping) {
    fields.push_back({prefix, &value});
    return;
  }
  for (const yaml::Entry& entry : value.entries) {
    flatten(entry.value, prefix.empty() ? entry.key : prefix + "." + entry.key, fields);
  }
}

std::string list_text(const Value& value) {
  std::string text;
  for (const Value& item : value.items) {
    text += (text.empty() ? "" : ", ") + item.text;
  }
  return text;
}

// What a field of a fingerprint holds; problems are reported.
std::optional<std::string> field_value(const FlatField& field, FieldKind wanted,
                                       const std::string& path, Diagnostics& diagnostics) {
  if (wanted == FieldKind::list && field.value->kind == Value::Kind::sequence) {
    return list_text(*field.value);
  }
  if (yaml::is_word(*field.value, kUnknownField)) {
    return std::string(kUnknownField);
  }
  switch (wanted) {
    case FieldKind::count:
      if (!yaml::read_value<kind::Count>(*field.value, path, diagnostics,
                                         at_least<std::int64_t>(0))) {
        return std::nullopt;
      }
      break;
    case FieldKind::number:
      if (!yaml::read_value<kind::Number>(*field.value, path, diagnostics, at_least(0.0))) {
        return std::nullopt;
      }
      break;
    case FieldKind::flag:
      if (!yaml::read_value<kind::Boolean>(*field.value, path, diagnostics)) {
        return std::nullopt;
      }
      break;
    case FieldKind::list:
      yaml::report(diagnostics, field.value->where, path, "needs a sequence", "such as []");
      return std::nullopt;
    case FieldKind::text:
      if (field.value->kind != Value::Kind::scalar) {
        yaml::report(diagnostics, field.value->where, path, "needs a text");
        return std::nullopt;
      }
      break;
  }
  return field.value->text;
}

void report_unknown(const FlatField& field, const std::string& path, Diagnostics& diagnostics) {
  std::vector<std::string_view> names = {"id"};
  for (const FingerprintField& known : fingerprint_fields()) {
    names.push_back(known.key);
  }
  const std::string_view near = nearest_name(field.key, names);
  yaml::report(diagnostics, field.value->where, path,
               near.empty()
                   ? "is no field of a fingerprint"
                   : fmt::format("is no field of a fingerprint, did you mean `{}`?", near));
}

// The fields, and the id beside them.
void read_fingerprint(MappingReader& root, CalibrationProfile& profile) {
  const Value* section = root.take_required("fingerprint", "a mapping", "{id: ..., gpu: {...}}");
  if (section == nullptr) {
    return;
  }
  std::vector<FlatField> fields;
  flatten(*section, "", fields);
  std::set<std::string_view> seen;
  Diagnostics& diagnostics = root.diagnostics();
  for (const FlatField& field : fields) {
    const std::string path = "fingerprint." + field.key;
    seen.insert(field.key);
    if (field.key == "id") {
      profile.id = field.value->text;
      continue;
    }
    const auto index = field_index(field.key);
    if (!index) {
      report_unknown(field, path, diagnostics);
      continue;
    }
    const FieldKind wanted = fingerprint_fields()[*index].kind;
    if (auto value = field_value(field, wanted, path, diagnostics)) {
      profile.fingerprint.values[*index] = std::move(*value);
    }
  }
  for (const FingerprintField& wanted : fingerprint_fields()) {
    if (!seen.contains(wanted.key)) {
      yaml::report(diagnostics, section->where, fmt::format("fingerprint.{}", wanted.key),
                   "is missing", "its value, or unknown");
    }
  }
  if (!seen.contains("id")) {
    yaml::report(diagnostics, section->where, "fingerprint.id", "is missing");
  } else if (!diagnostics.has_errors() && profile.id != fingerprint_id(profile.fingerprint)) {
    yaml::report(diagnostics, section->where, "fingerprint.id",
                 "does not belong to the fields beside it: one of them was changed by hand",
                 fingerprint_id(profile.fingerprint));
  }
}

std::optional<kernels::KernelCase> read_case(MappingReader& reader) {
  const auto text = reader.require_text("case");
  if (!text) {
    return std::nullopt;
  }
  kernels::ParsedCase read = kernels::parse_case(*text);
  if (!read.kernel) {
    reader.error("case", read.problem, fmt::format("such as {}", kExampleCase));
  }
  return read.kernel;
}

std::optional<Seconds> read_us(MappingReader& reader, std::string_view key) {
  const auto value = reader.require<kind::Number>(key, above(0.0));
  return value ? std::optional(microseconds(*value)) : std::nullopt;
}

bool read_times(MappingReader& reader, CalibrationSample& sample) {
  auto times = reader.require_mapping("us");
  if (!times) {
    return false;
  }
  const auto median = read_us(*times, "median");
  const auto p10 = read_us(*times, "p10");
  const auto p90 = read_us(*times, "p90");
  const auto minimum = read_us(*times, "min");
  times->finish();
  if (!median || !p10 || !p90 || !minimum) {
    return false;
  }
  if (*minimum > *p10 || *p10 > *median || *median > *p90) {
    reader.error("us", "is not in order", "min <= p10 <= median <= p90");
    return false;
  }
  sample.median = *median;
  sample.p10 = *p10;
  sample.p90 = *p90;
  sample.minimum = *minimum;
  return true;
}

std::optional<CalibrationSample> read_sample(MappingReader& reader) {
  CalibrationSample sample;
  const auto id = reader.require_text("id");
  const auto call = read_case(reader);
  const auto burst = reader.require_choice("regime", kRegimes);
  const auto count = reader.require<kind::Count>("n", at_least<std::int64_t>(1));
  sample.implementation = reader.optional_text("implementation").value_or("");
  const bool timed = read_times(reader, sample);
  const auto fitted = reader.optional<kind::Number>("fit_us", above(0.0));
  const auto moved = reader.optional<kind::Number>("bytes", above(0.0));
  sample.clock_mhz = reader.optional<kind::Number>("clk_mhz", above(0.0));
  sample.power_watts = reader.optional<kind::Number>("power_w", above(0.0));
  sample.first_over_best = reader.optional<kind::Number>("heuristic0_over_best", above(0.0));
  if (call && kernels::is_memory_bound(call->operation) && !moved) {
    reader.error("bytes", "is missing: kernels that move bytes are placed by them");
  }
  reader.finish();
  if (!id || !call || !burst || !count || !timed) {
    return std::nullopt;
  }
  sample.id = *id;
  sample.call = *call;
  sample.burst = *burst;
  sample.count = *count;
  sample.fitted = fitted ? std::optional(microseconds(*fitted)) : std::nullopt;
  sample.moved = moved ? std::optional(bytes(*moved)) : std::nullopt;
  return sample;
}

void read_samples(MappingReader& root, CalibrationProfile& profile) {
  std::set<std::string> ids;
  for (MappingReader& item : root.optional_mappings("samples")) {
    auto sample = read_sample(item);
    if (!sample) {
      continue;
    }
    if (!ids.insert(sample->id).second) {
      item.error("id", fmt::format("{} stands twice", yaml::display(sample->id)));
    }
    profile.samples.push_back(std::move(*sample));
  }
}

void read_unsupported(MappingReader& root, CalibrationProfile& profile) {
  for (MappingReader& item : root.optional_mappings("unsupported")) {
    const auto call = read_case(item);
    auto status = item.require_text("status");
    item.finish();
    if (call && status) {
      profile.unsupported.push_back({*call, std::move(*status)});
    }
  }
}

FitResidual read_residual(MappingReader& reader) {
  FitResidual residual;
  if (auto section = reader.require_mapping("residual")) {
    const auto share = at_least(0.0);
    residual.points =
        section->require<kind::Count>("points", at_least<std::int64_t>(1)).value_or(0);
    residual.mean = section->require<kind::Number>("mean", share).value_or(0.0);
    residual.median = section->require<kind::Number>("median", share).value_or(0.0);
    residual.p90 = section->require<kind::Number>("p90", share).value_or(0.0);
    section->allow("worst");
    section->allow("five_fold");
    section->finish();
  }
  return residual;
}

AttentionFit read_law(MappingReader& reader, kernels::Role role) {
  AttentionFit fit;
  const auto rate = reader.require<kind::Number>("rate_tflops", above(0.0));
  fit.rate = teraflop_per_second(rate.value_or(0.0));
  if (role == kernels::Role::backward) {
    fit.backward_ratio = reader.optional<kind::Number>("backward_ratio", at_least(0.0));
    return fit;
  }
  fit.half_length = reader.require<kind::Number>("half_length", at_least(0.0));
  fit.full_ratio = reader.optional<kind::Number>("full_ratio", at_least(0.0));
  fit.head_64 = reader.optional<kind::Number>("head_64", above(0.0));
  fit.head_256 = reader.optional<kind::Number>("head_256", above(0.0));
  return fit;
}

void read_line(MappingReader& reader, KernelLine& line) {
  line.a = microseconds(reader.require<kind::Number>("a_us", at_least(0.0)).value_or(0.0));
  const auto per_flop = reader.optional<kind::Number>("b_us_per_tflop", at_least(0.0));
  const auto per_byte = reader.require<kind::Number>("c_us_per_gb", at_least(0.0));
  line.b = per_flop.value_or(0.0) * kMicro / kTera;
  line.c = per_byte.value_or(0.0) * kMicro / kGiga;
}

void read_range(MappingReader& reader, CalibrationFit& fit) {
  auto section = reader.require_mapping("range");
  if (!section) {
    return;
  }
  const bool by_bytes = kernels::is_memory_bound(fit.operation);
  const auto& axes = kernels::row_of(fit.operation).axes;
  for (std::size_t i = 0; i < place_axes(fit.operation); ++i) {
    const std::string_view axis = by_bytes ? "bytes" : axes[i];
    const auto bounds = section->optional_list<kind::Number>(axis);
    if (!bounds || bounds->size() != 2 || (*bounds)[1] < (*bounds)[0]) {
      section->error(axis, "needs two numbers, the lower one first", "such as [1024, 16384]");
      continue;
    }
    fit.lowest[i] = (*bounds)[0];
    fit.highest[i] = (*bounds)[1];
  }
  section->finish();
}

void read_fits(MappingReader& root, CalibrationProfile& profile) {
  for (MappingReader& item : root.optional_mappings("fits")) {
    CalibrationFit fit;
    const auto operation = item.require_choice("op", kOperationWords);
    const auto precision = item.require_choice("dtype", kPrecisionWords);
    fit.role = item.optional_choice("role", kRoleWords).value_or(kernels::Role::none);
    fit.implementation = item.optional_text("implementation").value_or("");
    item.allow("model");
    item.allow("deviation");
    if (!operation || !precision) {
      continue;
    }
    fit.operation = *operation;
    fit.precision = *precision;
    if (kernels::is_collective(fit.operation)) {
      item.error("op", "is a collective: its tables stand under `collectives`");
      continue;
    }
    if (fit.operation == kernels::Operation::attention) {
      fit.attention = read_law(item, fit.role);
    } else {
      read_line(item, fit.line);
    }
    fit.line.trust = item.optional<kind::Number>("trust", at_least(0.0));
    fit.line.residual = read_residual(item);
    read_range(item, fit);
    item.finish();
    profile.fits.push_back(std::move(fit));
  }
}

void read_derived(MappingReader& root, CalibrationProfile& profile) {
  if (auto section = root.optional_mapping("derived")) {
    for (const std::string_view name : kDerived) {
      if (const auto value = section->optional<kind::Number>(name, above(0.0))) {
        profile.derived.emplace_back(name, *value);
      }
    }
    section->finish();
  }
}

void read_collectives(MappingReader& root, CalibrationProfile& profile) {
  if (root.take_word("collectives", kAbsent)) {
    return;
  }
  const Value* section = root.take_required("collectives", "tables of collectives", kAbsent);
  if (section == nullptr) {
    return;
  }
  if (section->kind != Value::Kind::mapping) {
    root.error("collectives", "is neither tables nor the word", kAbsent);
    return;
  }
  profile.collectives = read_collective_document(*section, root.diagnostics());
}

// What only people read.
void read_remarks(MappingReader& root) {
  for (const std::string_view name : {"protocol", "raw", "settling", "quality", "notes"}) {
    root.allow(name);
  }
}

}  // namespace

std::optional<double> CalibrationProfile::find_derived(std::string_view name) const {
  for (const auto& [key, value] : derived) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

std::span<const std::string_view> derived_names() { return kDerived; }

bool is_calibration(const Value& root) {
  return root.kind == Value::Kind::mapping &&
         std::ranges::any_of(root.entries,
                             [](const yaml::Entry& entry) { return entry.key == "schema"; });
}

std::optional<CalibrationProfile> read_calibration_document(const Value& root,
                                                            const std::string& file,
                                                            Diagnostics& diagnostics) {
  Diagnostics problems;
  MappingReader reader(root, problems);
  CalibrationProfile profile;
  profile.file = file;
  if (reader.require_choice("schema", kSchemas)) {
    profile.base = reader.require_text("base", "`h100-sxm-80gb`").value_or("");
    profile.base_where = reader.where("base");
    const auto date = reader.require<kind::Date>("measured_at");
    profile.measured_at = date ? kind::Date::format(*date) : std::string();
    read_fingerprint(reader, profile);
    read_samples(reader, profile);
    read_unsupported(reader, profile);
    read_fits(reader, profile);
    read_derived(reader, profile);
    read_collectives(reader, profile);
    read_remarks(reader);
    reader.finish();
  }
  diagnostics.add(problems);
  return problems.has_errors() ? std::nullopt : std::optional(std::move(profile));
}

}  // namespace orrery::hardware
