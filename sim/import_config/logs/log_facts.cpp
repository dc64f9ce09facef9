#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/training_log.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::import_config {

namespace {

// Of figures with two digits behind the point: a percentage, as a share, and GiB.
constexpr double kHalfDigit = 0.00005;
constexpr double kHalfCent = 0.005;

struct Slot {
  std::string_view key;
  std::optional<PendingCount> Pending::*place;
};

constexpr std::array<std::pair<std::string_view, CountOf>, 5> kCounts = {
    {{fact::kParameters, CountOf::model},
     {fact::kRankParameters, CountOf::rank},
     {fact::kByFormula, CountOf::formula},
     {fact::kOfEmbeddings, CountOf::embeddings},
     {fact::kOfFullestRank, CountOf::fullest_rank}}};

constexpr std::array<Slot, 5> kSlots = {{{fact::kRanks, &Pending::ranks},
                                         {fact::kData, &Pending::data},
                                         {fact::kLocalBatch, &Pending::local_batch},
                                         {fact::kStepTokens, &Pending::step_tokens},
                                         {fact::kAccumulation, &Pending::accumulation}}};

// What a program's settings say, and its step lines do not.
constexpr std::array<std::string_view, 7> kSaidByArguments = {
    "model.activation", "layout.tensor", "layout.pipeline",  "layout.sharding",
    "batch.micro",      "recompute",     "precision.compute"};

SourceItem item_of(const ScannedFact& fact, const std::string& file) {
  SourceItem item;
  const std::size_t end = fact.words.find_last_not_of(" :=|");
  item.shown = trimmed(fact.words.substr(0, end + 1));
  item.where = {file, fact.line, 1};
  return item;
}

void read_fact(const ScannedFact& fact, const std::string& file, Draft& draft, Pending& pending) {
  const SourceItem item = item_of(fact, file);
  if (fact.key == fact::kGpu) {
    draft.leave_open(
        "cluster.gpu", item,
        fmt::format("the log says `{}`", fact.value.substr(0, fact.value.find(" with "))));
    pending.cards.push_back(
        {fact.value, number_behind(fact.value, " with ").value_or(0.0), 0.0, read_from(item)});
    return;
  }
  if (fact.key == fact::kTask) {
    pending.task = item;
    pending.task->value.text = fact.value;
    return;
  }
  if (fact.key == fact::kOlderFormula) {
    pending.older_formula = true;
    return;
  }
  const bool about = fact.rounding > 0.0;
  const auto count = static_cast<std::int64_t>(number_behind(fact.value, "").value_or(0.0));
  const auto* counted = std::find_if(kCounts.begin(), kCounts.end(),
                                     [&fact](const auto& one) { return one.first == fact.key; });
  if (counted != kCounts.end()) {
    pending.printed.push_back({count, fact.rounding, counted->second, read_from(item)});
    return;
  }
  const auto* slot = std::find_if(kSlots.begin(), kSlots.end(),
                                  [&fact](const Slot& s) { return s.key == fact.key; });
  if (slot != kSlots.end()) {
    if (!about) {
      pending.*(slot->place) = PendingCount{count, read_from(item)};
    }
  } else if (about) {
    draft.leave_open(fact.key, item, fmt::format("the log says about {}", fact.value));
  } else {
    draft.set(fact.key, fact.value, read_from(item));
  }
}

// Whether files or the log itself leave no choice.
bool is_settled(std::string_view path, const Draft& draft, const Pending& pending) {
  const bool one = (pending.ranks && pending.ranks->value == 1) ||
                   (draft.count("cluster.gpus").value_or(0) == 1);
  const bool model = draft.find("model.preset") != nullptr || !pending.printed.empty();
  return (one && path.starts_with("layout.")) || (model && path.starts_with("model.")) ||
         (path == "recompute" && draft.find("recompute.layers") != nullptr);
}

}  // namespace

void read_log_facts(const ScannedLog& log, const std::string& file, bool alone, Draft& draft,
                    Pending& pending) {
  std::vector<const ScannedFact*> last;  // of each key, in the last run
  for (const ScannedFact& fact : log.facts) {
    const auto known = std::find_if(last.begin(), last.end(), [&fact](const ScannedFact* other) {
      return other->key == fact.key && fact.key != fact::kRankParameters;
    });
    if (known != last.end()) {
      *known = &fact;
    } else if (fact.key != fact::kRankParameters || fact.line >= log.runs.back().line) {
      last.push_back(&fact);
    }
  }
  for (const ScannedFact* fact : last) {
    read_fact(*fact, file, draft, pending);
  }
  if (log.memory.share > 0.0) {
    SourceItem item;
    item.shown = "memory";
    item.where = {file, log.memory.line, 1};
    pending.cards.push_back({"", log.memory.gib,
                             (kHalfDigit + kHalfCent / log.memory.gib) / log.memory.share,
                             read_from(item)});
  }
  const double batch = batch_of_steps(log);
  if (batch >= 1.0) {
    pending.step_batch = PendingCount{
        static_cast<std::int64_t>(batch),
        {OriginKind::read, {file, log.steps.front().line, 1}, "batch of most steps", ""}};
  }
  if (!alone) {
    return;
  }
  pending.silent_log = true;
  if (draft.find("software.name") == nullptr && draft.find("software") == nullptr) {
    const std::string_view stack = log_program(log.format).stack;
    draft.set(stack.empty() ? "software" : "software.name",
              std::string(stack.empty() ? kNoStack : stack),
              assumed_as(fmt::format("the log is one of {}", log_program(log.format).name)));
  }
}

void ask_for_arguments(const std::string& file, Draft& draft, const Pending& pending) {
  for (const std::string_view path : kSaidByArguments) {
    if (draft.find(path) == nullptr && draft.open(path) == nullptr &&
        !is_settled(path, draft, pending)) {
      SourceItem item;
      item.where = {file, 1, 1};
      draft.leave_open(path, item,
                       "the log does not hold what the program was started with: state it, or give "
                       "the configuration as a further file");
    }
  }
}

namespace {

bool near(double one, double other, double slack) {
  return std::abs(one - other) <= slack * std::max(other, 1.0);
}

constexpr double kTrainedAlike = 0.02;

// All weights are trained, or the log counts those that one rank holds.
void check_trained(const Pending& pending, const ImportedModel& model, Diagnostics& diagnostics) {
  const auto trained = static_cast<double>(pending.trainable->value);
  const auto all = static_cast<double>(model.parameters);
  const double held = pending.ranks ? static_cast<double>(pending.ranks->value) : 1.0;
  if (near(trained, all, kTrainedAlike) || near(trained, all / held, kTrainedAlike)) {
    return;
  }
  diagnostics.error(
      pending.trainable->origin.where, pending.trainable->origin.key,
      trained > all
          ? fmt::format("{} parameters are trained, and the model of these files has {}: it is "
                        "another model",
                        pending.trainable->value, model.parameters)
          : fmt::format("{} of the model's {} parameters are trained: frozen weights (LoRA, "
                        "adapters) cannot be expressed in a scenario",
                        pending.trainable->value, model.parameters));
}

std::string how_measured(const LoggedSteps& steps) {
  return steps.whole_run    ? "time of the run / steps: evaluation and saves are in it"
         : steps.with_first ? "the only time that is printed: the first steps are in it"
         : steps.count == 1 ? "one step behind the first, which warms up"
                            : fmt::format(
                                  "median of {} {}, {:.4g} to {:.4g} s from the 10th to the "
                                  "90th percentile",
                                  steps.count, steps.by_dates ? "steps by their dates" : "steps",
                                  in_seconds(steps.tenth), in_seconds(steps.ninetieth));
}

}  // namespace

void take_steps(std::span<const NamedLog> logs, Draft& draft, Diagnostics& diagnostics) {
  const auto count = [&draft](std::string_view path) {
    return static_cast<double>(draft.count(path).value_or(0));
  };
  constexpr double kUsual = 8.0;
  const double per_node = count("cluster.gpus_per_node");
  const LoggedJob known = {
      count("batch.global"), count("model.sequence_length"),
      std::max(count("cluster.gpus"), count("cluster.nodes") * (per_node > 0 ? per_node : kUsual))};
  std::optional<LoggedSteps> most;
  for (const NamedLog& log : logs) {
    std::string why;
    const auto steps = steps_of_log(*log.log, log.file, known, diagnostics, &why);
    if (!why.empty()) {
      draft.note(fmt::format("{}: {}", log.file, why));
    }
    if (steps && steps->untimed.count > 0) {
      draft.note(fmt::format("{}:{}: {}", log.file, steps->untimed.first, said_of(steps->untimed)));
    }
    if (steps && steps->dates) {
      draft.note(
          fmt::format("{}: the dates of its steps say {:.4g} s a step, where its figures say "
                      "{:.4g} s",
                      log.file, in_seconds(*steps->dates), in_seconds(steps->median)));
    }
    most = steps && (!most || steps->count > most->count) ? steps : most;
  }
  if (most) {
    draft.set("measured.step_time", fmt::format("{:.6g}s", in_seconds(most->median)),
              Origin{OriginKind::derived, most->first, "", how_measured(*most)});
  }
}

bool unties_embedding(const Pending& pending, const ImportedModel& model, Draft& draft) {
  const double head = static_cast<double>(draft.count("model.vocab_size").value_or(0)) *
                      static_cast<double>(draft.count("model.hidden_size").value_or(0));
  if (!pending.trainable || !draft.is("model.tie_embeddings", "true") ||
      !near(static_cast<double>(pending.trainable->value),
            static_cast<double>(model.parameters) + head, kTrainedAlike)) {
    return false;
  }
  draft.erase("model.tie_embeddings");
  draft.set(
      "model.tie_embeddings", false,
      Origin{OriginKind::derived, pending.trainable->origin.where, pending.trainable->origin.key,
             fmt::format("{} parameters are those of the model with an output layer of its own",
                         pending.trainable->value)});
  return true;
}

namespace {

// The counts that a log prints, beside those of the model.
class PrintedCounts {
 public:
  PrintedCounts(const Pending& pending, const ImportedModel& model, const Draft& draft)
      : pending_(pending),
        draft_(draft),
        width_(count("model.hidden_size")),
        all_(static_cast<double>(model.parameters)),
        modules_(static_cast<double>(model.prediction_modules)),
        positions_(width_ * count("model.sequence_length")),
        head_(width_ * count("model.vocab_size")),
        tensor_(degree("layout.tensor")),
        pipeline_(degree("layout.pipeline")),
        expert_(degree("layout.expert")) {}

  [[nodiscard]] bool is_right(const PrintedCount& printed) const {
    const auto value = static_cast<double>(printed.value);
    const double slack = kSame + printed.rounding;
    switch (printed.what) {
      case CountOf::model:
        return is_whole(value, slack);
      case CountOf::rank:
        return is_of_rank(value, slack, printed.rounding);
      case CountOf::formula:
        // Without biases, which are 9 of 12 x width + 9; of a prediction module without its joint.
        return !counts_experts() ||
               is_whole(value, slack + 1.0 / width_ + (modules_ > 0.0 ? kModule : 0.0));
      case CountOf::embeddings:
        return head_ <= 0.0 || (may_be_tied(true) && near(value, head_, slack)) ||
               (may_be_tied(false) && near(value, 2.0 * head_, slack));
      default:
        return is_of_fullest_rank(value, slack + 1.0 / width_ + kMore);
    }
  }

  // The ranks of one copy of the model, where the log has a line of each, hold all of it: tensor
  // ranks norms and biases each, the last stage of a pipeline a copy of the embedding.
  [[nodiscard]] std::optional<double> wrong_sum() const {
    double sum = 0.0;
    double ranks = 0.0;
    for (const PrintedCount& printed : pending_.printed) {
      const bool of_rank = printed.what == CountOf::rank;
      sum += of_rank ? static_cast<double>(printed.value) : 0.0;
      ranks += of_rank ? 1.0 : 0.0;
    }
    const bool wrong = ranks == shards() && shards() > 1.0 && expert_ == 1.0 &&
                       (sum < all_ * (1.0 - kSame) || sum > (all_ + head_) * (1.0 + kMore));
    return wrong ? std::optional(sum) : std::nullopt;
  }

  [[nodiscard]] double shards() const { return tensor_ * pipeline_; }

 private:
  static constexpr double kSame = 0.002;
  static constexpr double kMore = 0.03;
  static constexpr double kModule = 0.02;

  [[nodiscard]] double count(std::string_view path) const {
    return static_cast<double>(draft_.count(path).value_or(0));
  }

  [[nodiscard]] double degree(std::string_view path) const {
    return static_cast<double>(draft_.count(path).value_or(1));
  }

  [[nodiscard]] bool may_be_tied(bool tied) const {
    return draft_.find("model.tie_embeddings") == nullptr ||
           draft_.is("model.tie_embeddings", "true") == tied;
  }

  [[nodiscard]] bool is_whole(double value, double slack) const {
    return near(value, all_, slack) || near(value, all_ + modules_, slack) ||
           near(value, all_ - positions_, slack);
  }

  // Norms and biases are on every tensor rank. Stages of a pipeline are unequal, the first and the
  // last hold an embedding, experts may be most of a rank: it is known within a factor.
  [[nodiscard]] bool is_of_rank(double value, double slack, double rounding) const {
    constexpr double kUneven = 2.0;
    if (pipeline_ > 1.0 || expert_ > 1.0) {
      return value >= (all_ - 2.0 * head_) / shards() / expert_ / kUneven &&
             value <= kUneven * all_ / shards() + head_ / tensor_;
    }
    const double share = all_ / tensor_;
    return near(value, all_, slack) || (tensor_ > 1.0 && value > share * (1.0 - slack) &&
                                        value < share * (1.0 + kMore + rounding));
  }

  [[nodiscard]] bool has_experts() const { return draft_.has_below("model.moe."); }

  // Whether the formula holds for the layers of this model.
  [[nodiscard]] bool counts_experts() const {
    return !pending_.older_formula || (!has_experts() && !draft_.has_below("model.mla."));
  }

  // An even share of the layers, an embedding, and without a pipeline the output layer.
  [[nodiscard]] bool is_of_fullest_rank(double value, double slack) const {
    if (has_experts() || modules_ > 0.0 || draft_.find("layout.tensor") == nullptr ||
        draft_.find("layout.pipeline") == nullptr ||
        draft_.find("model.tie_embeddings") == nullptr) {
      return true;
    }
    const double heads = draft_.is("model.tie_embeddings", "true") ? 1.0 : 2.0;
    const double layers =
        all_ - heads * head_ - (draft_.is("model.position", "learned") ? positions_ : 0.0);
    return near(value, (layers / pipeline_ + (pipeline_ > 1.0 ? 1.0 : heads) * head_) / tensor_,
                slack);
  }

  const Pending& pending_;
  const Draft& draft_;
  double width_;
  double all_;
  double modules_;
  double positions_;
  double head_;
  double tensor_;
  double pipeline_;
  double expert_;
};

}  // namespace

void check_printed_counts(const Pending& pending, const ImportedModel& model, const Draft& draft,
                          Diagnostics& diagnostics) {
  if (pending.trainable) {
    check_trained(pending, model, diagnostics);
  }
  const PrintedCounts counts(pending, model, draft);
  for (const PrintedCount& printed : pending.printed) {
    if (counts.is_right(printed)) {
      continue;
    }
    const bool of_rank = printed.what == CountOf::rank || printed.what == CountOf::fullest_rank;
    const bool embeddings = printed.what == CountOf::embeddings;
    const std::string known =
        embeddings ? fmt::format("{} rows of {}", draft.count("model.vocab_size").value_or(0),
                                 draft.count("model.hidden_size").value_or(0))
                   : std::to_string(model.parameters);
    diagnostics.error(
        printed.origin.where, printed.origin.key,
        fmt::format("the log prints {} parameters{}, but the model of these files "
                    "has {}: it is another {}",
                    printed.value,
                    embeddings                         ? " of embeddings"
                    : of_rank && counts.shards() > 1.0 ? " on a rank"
                                                       : "",
                    known, printed.what == CountOf::fullest_rank ? "model or layout" : "model"));
    return;
  }
  if (const auto sum = counts.wrong_sum()) {
    diagnostics.error(pending.printed.back().origin.where, pending.printed.back().origin.key,
                      fmt::format("the ranks of the log hold {:.0f} parameters together, but the "
                                  "model of these files has {}: it is another model",
                                  *sum, model.parameters));
  }
}

namespace {

// Letters, then a digit: h100, mi300x.
bool is_card(std::string_view word) {
  const std::size_t digit = word.find_first_of("0123456789");
  return digit != std::string_view::npos && digit > 0;
}

// H100 of `NVIDIA H100 80GB HBM3`, A100 of `NVIDIA A100-SXM4-80GB`: letters, then digits.
std::string card_word(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      word += lower_case(c);
      continue;
    }
    if (is_card(word)) {
      break;
    }
    word.clear();
  }
  return is_card(word) ? word : std::string();
}

}  // namespace

void check_task(const Pending& pending, bool told, const Draft& draft, Diagnostics& diagnostics) {
  if (!pending.task) {
    return;
  }
  const SourceItem& task = *pending.task;
  if (task.value.text == "generation") {
    diagnostics.error(task.where, task.shown,
                      "is printed by reinforcement, which generates text between steps: a scenario "
                      "cannot express it");
  } else if (!told && draft.find("model.reference") == nullptr) {
    diagnostics.error(
        task.where, task.shown,
        "is printed by preference tuning, whose batch is of pairs, mostly beside a "
        "reference model",
        "the arguments of the run as a further file, or --set model.reference=true|false "
        "and --set batch.global=SEQUENCES");
  }
}

std::string check_card(const Pending& pending, const Draft& draft, Diagnostics& diagnostics) {
  const ImportedSetting* gpu = draft.find("cluster.gpu");
  Diagnostics unsaid;  // of a profile that cannot be read others speak
  const auto profile =
      gpu == nullptr || pending.cards.empty()
          ? std::nullopt
          : hardware::load_gpu_profile(gpu->value, scenario::PresetLibrary::standard().search(), {},
                                       "cluster.gpu", unsaid);
  if (!profile) {
    return {};
  }
  const double gib = in_gibibytes(profile->memory.value());
  for (const PrintedCard& card : pending.cards) {
    constexpr double kKept = 0.03;  // by the driver, and by the card for itself
    const std::string word = card_word(card.name);
    const std::string known = card_word(profile->name);
    if (card.gib > 0.0 && std::abs(card.gib - gib) > (kKept + card.slack) * gib) {
      diagnostics.error(card.origin.where, card.origin.key,
                        fmt::format("the log says a GPU with {:.1f} GiB, but {} has {:.1f} GiB: it "
                                    "ran on another one",
                                    card.gib, profile->name, gib),
                        "the GPU of the log by --gpu NAME");
      return fmt::format("a GPU with {:.1f} GiB", card.gib);
    }
    if (!word.empty() && !known.empty() && word != known) {
      diagnostics.error(
          card.origin.where, card.origin.key,
          fmt::format("the log says `{}`, not {}: it ran on another GPU", card.name, profile->name),
          "the GPU of the log by --gpu NAME");
      return card.name;
    }
  }
  return {};
}

}  // namespace orrery::import_config
