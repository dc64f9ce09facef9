#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/step/hardware/coefficient_reader.hpp"
#include "sim/step/hardware/profile_document.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"

namespace orrery::hardware {

namespace {

using yaml::at_least;
using yaml::Choice;
using yaml::MappingReader;
namespace kind = yaml::kind;

constexpr std::array<Choice<bool>, 1> kSoftwareFormats = {{{kSoftwareFormat, true}}};
constexpr std::array<Choice<AttentionImplementation>, 2> kAttention = {
    {{"fused", AttentionImplementation::fused}, {"unfused", AttentionImplementation::unfused}}};
constexpr std::array<Choice<GradientReduction>, 2> kReduction = {
    {{"per_step", GradientReduction::per_step},
     {"per_micro_batch", GradientReduction::per_micro_batch}}};
constexpr std::array<Choice<GradientType>, 2> kGradientType = {
    {{"fp32", GradientType::fp32}, {"activation", GradientType::activation}}};
constexpr std::array<Choice<ParameterGather>, 2> kParameterGather = {
    {{"all_gather", ParameterGather::all_gather}, {"broadcast", ParameterGather::broadcast}}};
constexpr std::array<Choice<SelectiveRecompute>, 2> kSelective = {
    {{"attention_core", SelectiveRecompute::attention_core},
     {"every_second_product", SelectiveRecompute::every_second_product}}};
constexpr std::array<Choice<model::ContextMethod>, 3> kContext = {
    {{"all_gather", model::ContextMethod::all_gather},
     {"ring", model::ContextMethod::ring},
     {"all_to_all", model::ContextMethod::all_to_all}}};
constexpr std::array<Choice<PipelineTransfer>, 2> kTransfer = {
    {{"latency", PipelineTransfer::latency},
     {"rendezvous_fused", PipelineTransfer::rendezvous_fused}}};

constexpr std::array<Choice<BlockProducts>, 2> kBlockProducts = {
    {{"library", BlockProducts::library}, {"deepgemm", BlockProducts::deepgemm}}};

template <typename E, std::size_t N>
constexpr std::array<Choice<E>, N> choices(const std::array<std::string_view, N>& names) {
  std::array<Choice<E>, N> made;
  for (std::size_t i = 0; i < N; ++i) {
    made[i] = {names[i], static_cast<E>(i)};
  }
  return made;
}

constexpr auto kDispatchers = choices<ExpertDispatcher>(kDispatcherNames);
constexpr auto kGroupedGemms = choices<GroupedGemm>(kGroupedGemmNames);

// Hands the number to `take` with its place, where it can be read.
template <typename Take>
void take_row(MappingReader& root, const StackCoefficient& row, Take take) {
  std::visit(
      [&](auto member) {
        using Place = std::decay_t<decltype(std::declval<SoftwareProfile>().*member)>;
        if (auto read = read_row<QuantityOf<Place>>(root, row.key, row.range)) {
          take(member, *std::move(read));
        }
      },
      row.member);
}

// Every number of the table that the profile has to state, or may.
void read_coefficients(MappingReader& root, SoftwareProfile& profile) {
  for (const StackCoefficient& row : stack_coefficients()) {
    const bool useless = row.needed != nullptr && !row.needed(profile);
    if (useless && root.has(row.key)) {
      root.allow(row.key);
      root.diagnostics().warning(root.where(row.key), root.path_of(row.key), row.idle, row.advice);
    }
    if (useless || (!row.required && row.needed == nullptr && !root.has(row.key))) {
      continue;
    }
    take_row(root, row, [&](auto member, auto read) { profile.*member = std::move(read); });
  }
}

std::optional<GraphScopes> read_graphs(MappingReader& root) {
  const auto names = root.optional_text_list("cuda_graphs");
  if (!names) {
    return std::nullopt;
  }
  GraphScopes scopes;
  for (const std::string& name : *names) {
    const auto found = std::ranges::find(kGraphScopeNames, name);
    if (found == kGraphScopeNames.end()) {
      root.diagnostics().error(root.where("cuda_graphs"), root.path_of("cuda_graphs"),
                               fmt::format("`{}` is no part that can be a graph", name),
                               fmt::format("{}", fmt::join(kGraphScopeNames, ", ")));
      return std::nullopt;
    }
    scopes.add(static_cast<GraphScope>(found - kGraphScopeNames.begin()));
  }
  return scopes;
}

template <typename K, typename T>
void take(MappingReader& root, std::string_view key, T& place,
          const yaml::Range<typename K::Type>& range = {}) {
  if (const auto value = root.optional<K>(key, range)) {
    place = *value;
  }
}

template <typename E, std::size_t N, typename T>
void take(MappingReader& root, std::string_view key, const std::array<Choice<E>, N>& words,
          T& place) {
  if (const auto value = root.optional_choice(key, words)) {
    place = *value;
  }
}

void read_switches(MappingReader& root, bool unfused, SoftwareProfile& profile) {
  const auto flag = [&root](std::string_view key, bool& place) {
    take<kind::Boolean>(root, key, place);
  };
  flag("keeps_empty_gradients", profile.keeps_empty_gradients);
  take(root, "attention_kernel", kAttentionGenerations, profile.attention_kernel);
  if (profile.attention_kernel && unfused) {
    root.diagnostics().warning(root.where("attention_kernel"), root.path_of("attention_kernel"),
                               "has no effect with unfused attention",
                               "leave it out, or attention: fused");
  }
  take(root, "norm_kernel", kNormImplementations, profile.norm_kernel);
  flag("caches_fp8_weights", profile.caches_fp8_weights);
  flag("dropout", profile.dropout);
  take(root, "gradient_reduction", kReduction, profile.gradient_reduction);
  take(root, "gradient_dtype", kGradientType, profile.gradient_dtype);
  flag("fp8_tensor_gather", profile.fp8_tensor_gather);
  flag("fp8_parameters", profile.fp8_parameters);
  take(root, "parameter_gather", kParameterGather, profile.parameter_gather);
  take(root, "plain_1f1b_transfer", kTransfer, profile.plain_1f1b_transfer);
  take(root, "interleaved_transfer", kTransfer, profile.interleaved_transfer);
  take(root, "expert_dispatcher", kDispatchers, profile.experts.dispatcher);
  take(root, "grouped_gemm", kGroupedGemms, profile.experts.grouped_gemm);
  profile.experts.cuda_graphs = read_graphs(root).value_or(profile.experts.cuda_graphs);
  take(root, "block_products", kBlockProducts, profile.block_products);
  take<kind::Count>(root, "interleaved_chunks", profile.interleaved_chunks,
                    at_least<std::int64_t>(2));
  flag("combines_expert_overlap", profile.combines_expert_overlap);
  flag("hides_tensor_backward", profile.hides_tensor_backward);
  flag("can_overlap_gradients", profile.can_overlap_gradients);
  flag("can_overlap_parameters", profile.can_overlap_parameters);
  take(root, "selective_recompute", kSelective, profile.selective_recompute);
  take(root, "context_method", kContext, profile.context_method);
  flag("context_balanced", profile.context_balanced);
  flag("shards_master", profile.shards_master);
  flag("keeps_root_gathered", profile.keeps_root_gathered);
  flag("keeps_gathered_input", profile.keeps_gathered_input);
  flag("recompute_stops_early", profile.recompute_stops_early);
  take<kind::Count>(root, "gather_prefetch", profile.gather_prefetch, at_least<std::int64_t>(0));
}

std::optional<StackOffers> read_offers(MappingReader& root) {
  auto reader = root.optional_mapping("offers");
  if (!reader) {
    return std::nullopt;
  }
  StackOffers offers;
  const auto words = [&reader](std::string_view key, auto known, std::vector<std::string>& place) {
    place = reader->optional_text_list(key).value_or(place);
    for (const std::string& word : place) {
      if (std::ranges::find(known, word) == known.end()) {
        reader->error(key, fmt::format("{} is not known", yaml::display(word)),
                      fmt::format("{}", fmt::join(known, ", ")));
      }
    }
  };
  using Words = std::vector<std::string_view>;
  const Words shardings = {"none", "zero1", "zero2", "zero3", "hsdp"};
  words("splits", Words{"tensor", "sequence", "context"}, offers.splits);
  words("exchange", Words{"deepep", "hidden"}, offers.exchange);
  words("shardings", shardings, offers.shardings);
  words("beside_pipeline", shardings, offers.beside_pipeline);
  take<kind::Boolean>(*reader, "pipeline", offers.pipeline);
  take<kind::Boolean>(*reader, "chunks", offers.chunks);
  take<kind::Boolean>(*reader, "selective", offers.selective);
  take<kind::Boolean>(*reader, "layers", offers.layers);
  offers.source = reader->require_text("source", "a paper or a manual").value_or("");
  reader->finish();
  return offers;
}

std::vector<StackRelease> read_releases(MappingReader& root) {
  constexpr double kMostSpeed = 2.0;
  auto reader = root.optional_mapping("releases");
  std::vector<StackRelease> releases;
  if (!reader) {
    return releases;
  }
  (void)reader->require_text("source", "measurements of both releases");
  for (yaml::MappingReader& entry : reader->optional_mappings("changes")) {
    StackRelease release;
    release.from = entry.require_text("from", "`25.04`").value_or("");
    release.speed = entry.optional<kind::Number>("speed", yaml::between(0.5, kMostSpeed));
    if (auto sets = entry.optional_mapping("sets")) {
      for (const StackCoefficient& row : stack_coefficients()) {
        if (sets->has(row.key)) {
          take_row(*sets, row, [&](auto member, auto read) {
            release.sets.emplace_back(
                [member, read](SoftwareProfile& profile) { profile.*member = read; });
          });
        }
      }
      sets->finish();
    }
    entry.finish();
    if (!releases.empty() && release.from <= releases.back().from) {
      entry.error("from", "is not after the release before it", "oldest first");
    }
    releases.push_back(std::move(release));
  }
  reader->finish();
  return releases;
}

std::optional<SoftwareProfile> read_software_keys(MappingReader& root) {
  SoftwareProfile profile;
  profile.name = root.require_text("name", "`megatron-core`").value_or("");
  profile.version = root.require_text("version").value_or("");
  profile.aliases = root.optional_text_list("aliases").value_or(profile.aliases);
  profile.vendors = root.optional_text_list("vendors").value_or(std::vector<std::string>());
  profile.successor = root.optional_text("successor").value_or("");
  profile.newest = root.optional_text("newest").value_or("");
  static_cast<void>(root.optional_text("program"));  // of lists: evaluate/catalog.cpp
  for (auto [key, place] :
       {std::pair("recipes", &profile.recipes), std::pair("default_for", &profile.default_for)}) {
    if (const yaml::Value* value = root.take(key)) {
      *place = std::make_shared<const yaml::Value>(*value);
    }
  }
  profile.offers = read_offers(root);
  profile.releases = read_releases(root);
  const auto attention = root.require_choice("attention", kAttention);
  profile.attention = attention.value_or(profile.attention);
  read_switches(root, attention == AttentionImplementation::unfused, profile);
  read_coefficients(root, profile);
  root.finish();
  return profile;
}

}  // namespace

const Coefficient<double>& gemm_efficiency(const SoftwareProfile& software, model::Dtype dtype) {
  return dtype == model::Dtype::fp8 && software.fp8_gemm_efficiency ? *software.fp8_gemm_efficiency
                                                                    : software.gemm_efficiency;
}

SoftwareProfile with_rowwise_scales(SoftwareProfile software) {
  if (software.fp8_rowwise_gemm_efficiency) {
    software.fp8_gemm_efficiency = software.fp8_rowwise_gemm_efficiency;
  }
  return software;
}

SoftwareProfile at_release(SoftwareProfile software, std::string_view release) {
  if (release.empty()) {
    return software;
  }
  std::optional<double> known;
  for (const StackRelease& entry : software.releases) {
    if (entry.from <= release) {
      known = entry.speed ? entry.speed : known;
      for (const auto& set : entry.sets) {
        set(software);
      }
    } else {
      known = known ? known : entry.speed;
    }
  }
  if (!known) {
    return software;
  }
  const double speed = *known;
  const auto scale = [](auto& coefficient, double factor) {
    coefficient = {coefficient.value() * factor, coefficient.source(), coefficient.residual(),
                   coefficient.range()};
  };
  scale(software.gemm_efficiency, speed);
  scale(software.memory_efficiency, speed);
  scale(software.attention_efficiency, speed);
  for (auto* rate : {&software.fp8_gemm_efficiency, &software.fp8_rowwise_gemm_efficiency}) {
    if (*rate) {
      scale(**rate, speed);
    }
  }
  scale(software.host_layer_time, 1.0 / speed);
  scale(software.host_launch_time, 1.0 / speed);
  return software;
}

SoftwareProfile compiled(SoftwareProfile software) {
  const double speedup = software.compile_speedup.value();
  const Coefficient<double>& eager = software.memory_efficiency;
  software.memory_efficiency =
      Coefficient<double>(eager.value() * speedup, eager.source(), eager.residual(), eager.range());
  software.compiled = true;
  return software;
}

std::optional<SoftwareProfile> read_software_document(const yaml::Value& root,
                                                      const std::string& file,
                                                      Diagnostics& diagnostics) {
  return read_profile(root, file, kSoftwareFormats, read_software_keys, diagnostics);
}

SoftwareProfile neutral_stack() {
  SoftwareProfile stack;
  stack.name = "bare library";
  stack.version = "1";
  return stack;
}

}  // namespace orrery::hardware
