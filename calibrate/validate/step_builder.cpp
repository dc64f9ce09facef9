#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "calibrate/validate/step_program.hpp"
#include "kernels/device/random.hpp"
#include "kernels/reference/operations.hpp"
#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;

std::int64_t padded(std::int64_t count) {
  return (count + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
}

}  // namespace

StepBuilder::StepBuilder(const StepShape& shape) { program_.shape = shape; }

StepProgram StepBuilder::take() { return std::move(program_); }

int StepBuilder::own(std::string_view name, std::int64_t count, BufferType type, BufferKind kind) {
  std::string full = layer < 0 ? std::string(name) : fmt::format("{}.{}", layer, name);
  program_.buffers.push_back({.name = std::move(full), .kind = kind, .type = type, .count = count});
  return static_cast<int>(program_.buffers.size()) - 1;
}

int StepBuilder::shared(std::string_view name, std::int64_t count, BufferType type) {
  const auto found = shared_.find(std::string(name));
  if (found != shared_.end()) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(found->second)];
    ORRERY_CHECK(buffer.count == count && buffer.type == type,
                 "a shared buffer has the same size in every layer");
    return found->second;
  }
  const std::int64_t here = std::exchange(layer, -1);
  const int buffer = own(name, count, type);
  layer = here;
  shared_.emplace(name, buffer);
  return buffer;
}

int StepBuilder::parameter(std::string_view name, std::int64_t rows, std::int64_t columns) {
  Parameter parameter{.name = std::string(name), .layer = layer, .rows = rows, .columns = columns};
  parameter.narrow = own(name, parameter.count(), BufferType::bf16, BufferKind::parameter);
  parameter.gradient = own(fmt::format("{}.gradient", name), parameter.count(), BufferType::fp32,
                           BufferKind::gradient);
  program_.parameters.push_back(parameter);
  return static_cast<int>(program_.parameters.size()) - 1;
}

void StepBuilder::finish_parameters() {
  std::int64_t all = 0;
  for (const Parameter& parameter : program_.parameters) {
    for (const int view : {parameter.narrow, parameter.gradient}) {
      program_.buffers[static_cast<std::size_t>(view)].first = all;
    }
    all += padded(parameter.count());
  }
  program_.narrow = own("narrow", all, BufferType::bf16, BufferKind::parameter);
  program_.gradients = own("gradients", all, BufferType::fp32, BufferKind::gradient);
  program_.master = own("master", all, BufferType::fp32, BufferKind::state);
  program_.first_moment = own("first_moment", all, BufferType::fp32, BufferKind::state);
  program_.second_moment = own("second_moment", all, BufferType::fp32, BufferKind::state);
  for (const Parameter& parameter : program_.parameters) {
    program_.buffers[static_cast<std::size_t>(parameter.narrow)].whole = program_.narrow;
    program_.buffers[static_cast<std::size_t>(parameter.gradient)].whole = program_.gradients;
  }
}

void StepBuilder::call(std::string name, KernelCase kernel, std::vector<int> reads,
                       std::vector<int> writes) {
  const auto problem = kernels::problem_of(kernel);
  ORRERY_CHECK(!problem, "every call of a step is a sound case");
  program_.operations.push_back({.name = std::move(name),
                                 .phase = phase,
                                 .layer = layer,
                                 .kernel = kernel,
                                 .reads = std::move(reads),
                                 .writes = std::move(writes)});
}

std::int64_t StepBuilder::rows_of(const Linear& linear) const {
  return linear.grouped ? shape().expert_rows() : shape().tokens();
}

KernelCase StepBuilder::product_case(const Linear& linear, Role role) const {
  const bool weight = role == Role::wgrad_accumulate;
  const std::int64_t rows = linear.grouped ? shape().rows_per_expert() : rows_of(linear);
  const std::int64_t m = weight ? linear.outputs : rows;
  const std::int64_t n = role == Role::fprop ? linear.outputs : linear.inputs;
  const std::int64_t k = weight ? rows : role == Role::fprop ? linear.inputs : linear.outputs;
  KernelCase kernel{.operation = Operation::gemm,
                    .role = role,
                    .precision = linear.narrow ? shape().precision : Precision::bf16,
                    .extents = {m, n, k}};
  if (linear.grouped) {
    const std::int64_t largest = shape().experts->largest > 0 ? shape().experts->largest : rows;
    kernel.operation = Operation::grouped_gemm;
    kernel.extents = {shape().experts->experts, m, n, k, largest};
  }
  return kernel;
}

StepBuilder::Codes StepBuilder::cast(std::string name, int input, std::int64_t rows,
                                     std::int64_t columns, Role role, Codes codes) {
  call(std::move(name),
       {.operation = Operation::quantize_transpose,
        .role = role,
        .precision = shape().precision,
        .extents = {rows, columns}},
       {input}, {codes.plain, codes.transposed});
  return codes;
}

int StepBuilder::product_forward(Linear& linear, int input, int output) {
  int weight = parameter(linear.weight).narrow;
  int tokens = input;
  if (linear.narrow) {
    const std::int64_t rows = rows_of(linear);
    const Parameter& weights = parameter(linear.weight);
    linear.codes_transposed =
        own(linear.name + ".input_transposed", rows * linear.inputs, BufferType::e4m3);
    linear.weight_codes = shared(linear.name + ".weight_codes", weights.count(), BufferType::e4m3);
    linear.weight_transposed =
        own(linear.name + ".weight_transposed", weights.count(), BufferType::e4m3);
    tokens = shared(linear.name + ".input_codes", rows * linear.inputs, BufferType::e4m3);
    cast(linear.name + "_input_cast", input, rows, linear.inputs, Role::forward,
         {tokens, linear.codes_transposed});
    cast(linear.name + "_weight_cast", weight, weights.rows, weights.columns, Role::forward,
         {linear.weight_codes, linear.weight_transposed});
    weight = linear.weight_codes;
  }
  call(linear.name, product_case(linear, Role::fprop), {tokens, weight}, {output});
  return output;
}

void StepBuilder::product_backward(const Linear& linear, int input, int gradient,
                                   int input_gradient) {
  const Parameter& weights = parameter(linear.weight);
  int weight = weights.narrow;
  int transposed = gradient;
  if (linear.narrow) {
    const std::int64_t elements = rows_of(linear) * linear.outputs;
    const Codes codes = cast(
        linear.name + "_gradient_cast", gradient, rows_of(linear), linear.outputs, Role::backward,
        {shared(linear.name + ".gradient_codes", elements, BufferType::e5m2),
         shared(linear.name + ".gradient_transposed", elements, BufferType::e5m2)});
    gradient = codes.plain;
    transposed = codes.transposed;
    weight = linear.weight_transposed;
    input = linear.codes_transposed;
  }
  call(linear.name + "_dgrad", product_case(linear, Role::dgrad), {gradient, weight},
       {input_gradient});
  call(linear.name + "_wgrad", product_case(linear, Role::wgrad_accumulate),
       {transposed, input, weights.gradient}, {weights.gradient});
}

int StepBuilder::norm_forward(std::string_view name, int parameter_index, int input, int output) {
  const int scale = own(fmt::format("{}.scale", name), shape().tokens(), BufferType::fp32);
  call(std::string(name),
       {.operation = Operation::rms_norm,
        .role = Role::forward,
        .extents = {shape().tokens(), shape().hidden}},
       {input, parameter(parameter_index).narrow}, {output, scale});
  return scale;
}

void StepBuilder::norm_backward(std::string_view name, int parameter_index, int input, int scale,
                                int gradient, int input_gradient) {
  const Parameter& weights = parameter(parameter_index);
  call(fmt::format("{}_backward", name),
       {.operation = Operation::rms_norm,
        .role = Role::backward,
        .extents = {shape().tokens(), shape().hidden}},
       {input, weights.narrow, gradient, scale}, {input_gradient, weights.gradient});
}

void StepBuilder::add(std::string_view name, int a, int b, int y) {
  call(std::string(name),
       {.operation = Operation::residual_add, .extents = {shape().tokens(), shape().hidden}},
       {a, b}, {y});
}

namespace {

constexpr std::int64_t kShort = 2;  // layers: the slope from few to many leaves out both ends
constexpr std::int64_t kLong = 8;
constexpr std::int64_t kLarge = 4;  // of models that do not fit into 80 GB with eight

StepShape dense(std::string_view name, std::array<std::int64_t, 2> widths,
                std::array<std::int64_t, 2> heads, std::array<std::int64_t, 2> tokens) {
  StepShape shape;
  shape.name = name;
  shape.hidden = widths[0];
  shape.ffn = widths[1];
  shape.heads = heads[0];
  shape.groups = heads[1];
  shape.head_dim = 128;
  shape.sequences = tokens[0];
  shape.sequence_length = tokens[1];
  shape.vocabulary = 36864;
  return shape;
}

bool read_number(std::string_view text, std::int64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

// "3072x2" of tokens, "4/24" of experts.
bool read_pair(std::string_view text, char between, std::int64_t& first, std::int64_t& second) {
  const std::size_t mark = text.find(between);
  return mark != std::string_view::npos && read_number(text.substr(0, mark), first) &&
         read_number(text.substr(mark + 1), second);
}

// False when the word says nothing of a shape.
bool read_word(std::string_view word, StepShape& shape) {
  const std::size_t mark = word.find('=');
  if (mark == std::string_view::npos) {
    for (const Precision precision : {Precision::bf16, Precision::fp8_tensor}) {
      if (word == kernels::to_string(precision)) {
        shape.precision = precision;
        return true;
      }
    }
    return false;
  }
  const std::string_view name = word.substr(0, mark);
  const std::string_view value = word.substr(mark + 1);
  if (name == "tokens") {
    return read_pair(value, 'x', shape.sequence_length, shape.sequences);
  }
  if (name == "experts") {
    shape.experts = ExpertShape{};
    return read_pair(value, '/', shape.experts->copies, shape.experts->experts);
  }
  if (name == "largest") {
    return shape.experts && read_number(value, shape.experts->largest);
  }
  const std::array<std::pair<std::string_view, std::int64_t*>, 7> extents = {
      {{"hidden", &shape.hidden},
       {"ffn", &shape.ffn},
       {"heads", &shape.heads},
       {"groups", &shape.groups},
       {"dim", &shape.head_dim},
       {"layers", &shape.layers},
       {"vocabulary", &shape.vocabulary}}};
  for (const auto& [known, extent] : extents) {
    if (name == known) {
      return read_number(value, *extent);
    }
  }
  return false;
}

}  // namespace

ReadShape read_shape(std::string_view text) {
  StepShape shape;
  std::size_t begin = std::min(text.find(' '), text.size());
  shape.name = text.substr(0, begin);
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin + 1), text.size());
    const std::string_view word = text.substr(begin + 1, end - begin - 1);
    if (!read_word(word, shape)) {
      return {std::nullopt, fmt::format("`{}` says nothing of a step's shape", word)};
    }
    begin = end;
  }
  if (auto problem = problem_of(shape)) {
    return {std::nullopt, std::move(*problem)};
  }
  return {std::move(shape), {}};
}

std::string to_text(const StepShape& shape) {
  std::string text = fmt::format(
      "{} hidden={} ffn={} heads={} groups={} dim={} layers={} vocabulary={} tokens={}x{}",
      shape.name, shape.hidden, shape.ffn, shape.heads, shape.groups, shape.head_dim, shape.layers,
      shape.vocabulary, shape.sequence_length, shape.sequences);
  if (shape.experts) {
    text += fmt::format(" experts={}/{}", shape.experts->copies, shape.experts->experts);
    text += shape.experts->largest > 0 ? fmt::format(" largest={}", shape.experts->largest) : "";
  }
  return text + fmt::format(" {}", kernels::to_string(shape.precision));
}

std::optional<std::string> problem_of(const StepShape& shape) {
  const std::array<std::pair<const char*, std::int64_t>, 9> extents = {
      {{"sequences", shape.sequences},
       {"sequence_length", shape.sequence_length},
       {"hidden", shape.hidden},
       {"ffn", shape.ffn},
       {"heads", shape.heads},
       {"groups", shape.groups},
       {"head_dim", shape.head_dim},
       {"layers", shape.layers},
       {"vocabulary", shape.vocabulary}}};
  for (const auto& [name, extent] : extents) {
    if (extent <= 0) {
      return fmt::format("{} is {}: it must be positive", name, extent);
    }
  }
  if (shape.heads % shape.groups != 0) {
    return fmt::format("{} heads do not share {} groups evenly", shape.heads, shape.groups);
  }
  if (shape.head_dim % 2 != 0) {
    return fmt::format("head_dim is {}: rotary embedding turns pairs", shape.head_dim);
  }
  if (shape.precision != Precision::bf16 && shape.precision != Precision::fp8_tensor) {
    return fmt::format("{} is neither bf16 nor fp8_tensor", kernels::to_string(shape.precision));
  }
  if (!shape.experts) {
    return std::nullopt;
  }
  const ExpertShape& experts = *shape.experts;
  if (experts.experts <= 0 || experts.copies <= 0 || experts.copies > experts.experts) {
    return fmt::format("{} copies do not go to {} experts", experts.copies, experts.experts);
  }
  if (shape.expert_rows() % experts.experts != 0) {
    return fmt::format("{} rows do not spread over {} experts", shape.expert_rows(),
                       experts.experts);
  }
  const std::int64_t most = std::min(shape.tokens(), shape.expert_rows());
  if (experts.largest != 0 &&
      (experts.largest < shape.rows_per_expert() || experts.largest > most)) {
    return fmt::format("the busiest expert has {} rows: from {} to {} are possible",
                       experts.largest, shape.rows_per_expert(), most);
  }
  return std::nullopt;
}

model::ModelSpec model_of(const StepShape& shape) {
  model::ModelSpec model;
  model.name = shape.name;
  model.num_layers = shape.layers;
  model.hidden_size = shape.hidden;
  model.num_attention_heads = shape.heads;
  model.num_query_groups = shape.groups;
  model.head_dim = shape.head_dim;
  model.ffn_hidden_size = shape.ffn;
  model.vocab_size = shape.vocabulary;
  model.sequence_length = shape.sequence_length;
  if (shape.experts) {
    model.moe = model::MoeSpec{.num_experts = shape.experts->experts,
                               .top_k = shape.experts->copies,
                               .ffn_hidden_size = shape.ffn};
  }
  return model;
}

std::vector<StepShape> held_out_shapes() {
  StepShape mixture = dense("mixture", {3584, 2304}, {28, 4}, {2, 3072});
  mixture.experts = ExpertShape{.experts = 24, .copies = 4};
  StepShape skewed = mixture;
  skewed.name = "skewed";
  skewed.experts->largest = 2 * skewed.rows_per_expert();
  const std::vector<StepShape> kinds = {dense("13b", {5120, 13824}, {40, 40}, {1, 3072}),
                                        dense("grouped", {3584, 18944}, {28, 4}, {2, 3072}),
                                        mixture, skewed,
                                        dense("wide", {6144, 16384}, {48, 8}, {2, 6144})};
  std::vector<StepShape> shapes;
  for (StepShape shape : kinds) {
    for (const Precision precision : {Precision::bf16, Precision::fp8_tensor}) {
      // No library groups products of FP8 tensors with one scale each.
      if (shape.experts && precision != Precision::bf16) {
        continue;
      }
      const bool large = shape.experts || shape.name == "wide";
      for (const std::int64_t layers : {kShort, large ? kLarge : kLong}) {
        shape.precision = precision;
        shape.layers = layers;
        shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

StepShape small_shape(Precision precision, bool mixture) {
  StepShape shape = dense("small", {256, 384}, {4, 2}, {2, 128});
  shape.head_dim = 64;
  shape.vocabulary = 512;
  shape.layers = kShort;
  shape.precision = precision;
  if (mixture) {
    shape.experts = ExpertShape{.experts = 4, .copies = 2, .largest = 160};
  }
  return shape;
}

namespace {

constexpr double kRotaryBase = 10000.0;

enum class Stream : std::uint64_t { ids = 1, targets = 2, weights = 3, parameters = 16 };

std::uint64_t seed_of(std::uint64_t seed, Stream stream, std::uint64_t index = 0) {
  constexpr std::uint64_t kStreams = 4096;  // more than parameters of a step
  return seed * kStreams + static_cast<std::uint64_t>(stream) + index;
}

std::vector<std::int64_t> random_tokens(const StepShape& shape, std::uint64_t seed) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(shape.tokens()));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = kernels::integer_at(seed, i, static_cast<std::uint32_t>(shape.vocabulary));
  }
  return tokens;
}

std::vector<float> rotary_table(const StepShape& shape) {
  const auto half = static_cast<std::size_t>(shape.head_dim) / 2;
  std::vector<float> angles;
  for (std::int64_t position = 0; position < shape.sequence_length; ++position) {
    const auto angle = [&](std::size_t pair) {
      return kernels::reference::rotary_angle(static_cast<double>(position), pair,
                                              static_cast<std::size_t>(shape.head_dim),
                                              kRotaryBase);
    };
    for (std::size_t pair = 0; pair < half; ++pair) {
      angles.push_back(static_cast<float>(std::cos(angle(pair))));
    }
    for (std::size_t pair = 0; pair < half; ++pair) {
      angles.push_back(static_cast<float>(std::sin(angle(pair))));
    }
  }
  return angles;
}

// Rows of every expert, as the grouped products of the step count them.
std::vector<std::int64_t> rows_of_experts(const StepShape& shape) {
  const std::int64_t rows = shape.rows_per_expert();
  const std::int64_t largest = shape.experts->largest > 0 ? shape.experts->largest : rows;
  return kernels::group_rows({.operation = kernels::Operation::grouped_gemm,
                              .role = kernels::Role::fprop,
                              .extents = {shape.experts->experts, rows, 1, 1, largest}});
}

}  // namespace

std::vector<std::int32_t> deal_experts(const StepShape& shape) {
  std::vector<std::int64_t> lacking = rows_of_experts(shape);
  std::vector<std::int32_t> order(lacking.size());
  std::iota(order.begin(), order.end(), 0);
  const auto copies = static_cast<std::ptrdiff_t>(shape.experts->copies);
  std::vector<std::int32_t> dealt;
  for (std::int64_t token = 0; token < shape.tokens(); ++token) {
    std::partial_sort(order.begin(), order.begin() + copies, order.end(),
                      [&lacking](std::int32_t a, std::int32_t b) {
                        const std::int64_t rows_a = lacking[static_cast<std::size_t>(a)];
                        const std::int64_t rows_b = lacking[static_cast<std::size_t>(b)];
                        return rows_a != rows_b ? rows_a > rows_b : a < b;
                      });
    for (auto expert = order.begin(); expert != order.begin() + copies; ++expert) {
      dealt.push_back(*expert);
      --lacking[static_cast<std::size_t>(*expert)];
    }
  }
  return dealt;
}

StepInputs step_inputs(const StepShape& shape, std::uint64_t seed) {
  StepInputs inputs{.ids = random_tokens(shape, seed_of(seed, Stream::ids)),
                    .targets = random_tokens(shape, seed_of(seed, Stream::targets)),
                    .angles = rotary_table(shape),
                    .places = {},
                    .weights = {}};
  if (shape.experts) {
    inputs.places = kernels::reference::places_by_expert(deal_experts(shape));
    const float share = 1.0F / static_cast<float>(shape.experts->copies);
    for (std::size_t i = 0; i < inputs.places.size(); ++i) {
      const float random = kernels::uniform_at(seed_of(seed, Stream::weights), i);
      inputs.weights.push_back(share * (0.5F + random));
    }
  }
  return inputs;
}

ParameterStart start_of(const StepProgram& program, std::size_t parameter, std::uint64_t seed) {
  const Parameter& weights = program.parameters[parameter];
  const bool table = weights.narrow == program.parameters.front().narrow;
  const double deviation = table ? 1.0 : 1.0 / std::sqrt(static_cast<double>(weights.columns));
  return {.seed = seed_of(seed, Stream::parameters, parameter),
          .deviation = static_cast<float>(deviation)};
}

}  // namespace orrery::calibrate
