#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

namespace {

struct Slot {
  std::string_view key;
  std::optional<PendingCount> Pending::*place;
};

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
    draft.leave_open("cluster.gpu", item, fmt::format("the log says `{}`", fact.value));
    return;
  }
  const bool about = fact.rounding > 0.0;
  const auto count = static_cast<std::int64_t>(number_behind(fact.value, "").value_or(0.0));
  if (fact.key == fact::kParameters || fact.key == fact::kRankParameters) {
    pending.printed.push_back(
        {count, fact.rounding, fact.key == fact::kRankParameters, read_from(item)});
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

void check_printed_counts(const Pending& pending, const ImportedModel& model, const Draft& draft,
                          Diagnostics& diagnostics) {
  if (pending.trainable) {
    check_trained(pending, model, diagnostics);
  }
  constexpr double kSame = 0.002;
  const auto width = static_cast<double>(draft.count("model.hidden_size").value_or(0));
  const auto all = static_cast<double>(model.parameters);
  const double positions =
      width * static_cast<double>(draft.count("model.sequence_length").value_or(0));
  const double head = width * static_cast<double>(draft.count("model.vocab_size").value_or(0));
  const auto degree = [&draft](std::string_view path) {
    return static_cast<double>(draft.count(path).value_or(1));
  };
  const double shards = degree("layout.tensor") * degree("layout.pipeline");
  double sum = 0.0;
  double ranks = 0.0;
  for (const PrintedCount& printed : pending.printed) {
    const auto count = static_cast<double>(printed.value);
    const double slack = kSame + printed.rounding;
    const auto is = [&](double expected) { return near(count, expected, slack); };
    sum += printed.of_rank ? count : 0.0;
    ranks += printed.of_rank ? 1.0 : 0.0;
    // Norms and biases are on every tensor rank. Stages of a pipeline are unequal, the first and
    // the last hold an embedding, experts may be most of a rank: it is known within a factor.
    constexpr double kMore = 0.03;
    constexpr double kUneven = 2.0;
    const double share = all / degree("layout.tensor");
    const bool parts = degree("layout.pipeline") > 1.0 || degree("layout.expert") > 1.0;
    const double least = (all - 2.0 * head) / shards / degree("layout.expert") / kUneven;
    const double most = kUneven * all / shards + head / degree("layout.tensor");
    const bool right = !printed.of_rank
                           ? is(all) || is(all + static_cast<double>(model.prediction_modules)) ||
                                 is(all - positions)
                       : parts ? count >= least && count <= most
                               : is(all) || (count > share * (1.0 - slack) && shards > 1.0 &&
                                             count < share * (1.0 + kMore + printed.rounding));
    if (!right) {
      diagnostics.error(
          printed.origin.where, printed.origin.key,
          fmt::format("the log prints {} parameters{}, but the model of these files "
                      "has {}: it is another model",
                      printed.value, printed.of_rank && shards > 1.0 ? " on a rank" : "",
                      model.parameters));
      return;
    }
  }
  // Tensor ranks hold norms and biases each, the last stage of a pipeline a copy of the embedding.
  constexpr double kMore = 0.03;
  if (ranks == shards && shards > 1.0 && degree("layout.expert") == 1.0 &&
      (sum < all * (1.0 - kSame) || sum > (all + head) * (1.0 + kMore))) {
    diagnostics.error(pending.printed.back().origin.where, pending.printed.back().origin.key,
                      fmt::format("the ranks of the log hold {:.0f} parameters together, but the "
                                  "model of these files has {}: it is another model",
                                  sum, model.parameters));
  }
}

}  // namespace orrery::import_config
