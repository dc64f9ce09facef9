#include "gui/models/plan_options.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "gui/models/tables/text.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::gui {

namespace {

constexpr std::string_view kSearch = "plan.search.";
constexpr std::string_view kFix = "plan.fix";
constexpr std::string_view kObjective = "plan.objective";
constexpr auto kFixed = "fixed";

// Axes that say which cluster and which run; all others are of the layout.
constexpr std::array<std::string_view, 6> kOfTheRun = {"gpu",      "nodes",  "global_batch",
                                                       "interval", "spares", "spot_share"};

// Where the last part of the key does not say enough, or is an abbreviation.
struct Name {
  std::string_view key;
  const char* name;
};

constexpr Name kNames[] = {{"plan.any_stack", "beyond the stack"},
                           {"plan.constraints.memory_headroom", "free memory"},
                           {"plan.constraints.tensor_within_nvlink", "tensor in NVLink"},
                           {"plan.constraints.global_batch", "batch range"},
                           {"plan.constraints.gpus_at_most", "GPUs at most"},
                           {"plan.search.gpu", "GPU"},
                           {"plan.search.interval", "checkpoint interval"},
                           {"plan.gpu_hours", "price of a GPU-hour"}};

QString name_of(std::string_view key) {
  for (const Name& one : kNames) {
    if (one.key == key) {
      return one.name;
    }
  }
  return spoken(key.substr(key.rfind('.') + 1));
}

PlanOption::Group group_of(std::string_view path) {
  if (path.starts_with("plan.constraints.")) {
    return PlanOption::Group::constraint;
  }
  if (path == "plan.gpu_hours") {
    return PlanOption::Group::run;
  }
  if (!path.starts_with(kSearch)) {
    return PlanOption::Group::goal;
  }
  const std::string_view axis = path.substr(kSearch.size());
  const bool run = std::find(kOfTheRun.begin(), kOfTheRun.end(), axis) != kOfTheRun.end();
  return run ? PlanOption::Group::run : PlanOption::Group::layout;
}

QString option_tip(const scenario::Field& field) {
  QString tip =
      "<b>" + qt(field.path).toHtmlEscaped() + "</b><br>" + qt(field.meaning).toHtmlEscaped();
  if (!field.note.empty()) {
    tip += "<br><i>without it:</i> " + qt(field.note).toHtmlEscaped();
  }
  if (!field.example.empty()) {
    tip += "<br><i>example:</i> " + qt(field.example).toHtmlEscaped();
  }
  if (field.path == kObjective) {
    for (std::size_t i = 0; i < plan::kObjectiveNames.size(); ++i) {
      tip += QString("<br><i>%1:</i> %2")
                 .arg(qt(plan::kObjectiveNames[i]),
                      qt(plan::best_words(static_cast<plan::Objective>(i))));
    }
  }
  return tip;
}

// Words of a list in flow style.
QStringList words_of(const QString& list) {
  QStringList words;
  for (const QString& word : QString(list).remove('[').remove(']').split(',')) {
    if (!word.trimmed().isEmpty()) {
      words << word.trimmed();
    }
  }
  return words;
}

QStringList fixed_axes(const std::vector<scenario::Field>& fields) {
  for (const scenario::Field& field : fields) {
    if (field.path == kFix && field.stated) {
      return words_of(qt(*field.stated));
    }
  }
  return {};
}

bool is_option(const scenario::Field& field) {
  return field.path.starts_with("plan.") && field.path != kFix && field.path != "plan.tie";
}

// "1,2,4" as the list that the key takes.
QString list_of(const QString& typed) {
  return typed.startsWith('[') || typed == "auto" ? typed : "[" + typed + "]";
}

bool takes_list(std::string_view key) {
  return key.starts_with(kSearch) || key == "plan.gpu_hours" ||
         key == "plan.constraints.global_batch";
}

}  // namespace

std::vector<PlanOption> plan_options(const std::string& text) {
  const std::vector<scenario::Field> fields = scenario::fields_of(text);
  const QStringList fixed = fixed_axes(fields);
  std::vector<PlanOption> options;
  for (const scenario::Field& field : fields) {
    if (!is_option(field)) {
      continue;
    }
    PlanOption option;
    option.key = field.path;
    option.group = group_of(field.path);
    option.name = name_of(field.path);
    option.tip = option_tip(field);
    option.stated = field.stated.has_value();
    for (const std::string& choice : field.choices) {
      option.choices << qt(choice);
    }
    const bool axis = field.path.starts_with(kSearch);
    if (axis && fixed.contains(qt(field.path).mid(static_cast<qsizetype>(kSearch.size())))) {
      option.without = kFixed;
      option.stated = true;
    } else if (field.stated) {
      option.without = qt(*field.stated);
    } else {
      option.without = qt(field.fallback.empty() ? field.note : field.fallback);
    }
    options.push_back(std::move(option));
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const PlanOption& a, const PlanOption& b) { return a.group < b.group; });
  // What counts is asked first.
  const auto goal = std::find_if(options.begin(), options.end(),
                                 [](const PlanOption& o) { return o.key == kObjective; });
  if (goal != options.end()) {
    std::rotate(options.begin(), goal, goal + 1);
  }
  return options;
}

std::vector<scenario::KeyValue> plan_changes(const std::string& text, const PlanChoices& choices) {
  std::vector<scenario::KeyValue> changes;
  QStringList fixed = fixed_axes(scenario::fields_of(text));
  const QStringList before = fixed;
  const auto add = [&changes](const std::string& key, const QString& value) {
    changes.push_back({key, value.toStdString(), {"the plan's options", 0, 0}});
  };
  for (const auto& [key, choice] : choices) {
    QString typed = choice.trimmed();
    if (typed.isEmpty()) {
      continue;
    }
    if (key.starts_with(kSearch)) {
      const QString axis = qt(key).mid(static_cast<qsizetype>(kSearch.size()));
      fixed.removeAll(axis);
      if (typed == kFixed) {
        fixed << axis;
        typed = "auto";
      }
    }
    add(key, takes_list(key) ? list_of(typed) : typed);
  }
  if (fixed != before) {
    add(std::string(kFix), "[" + fixed.join(", ") + "]");
  }
  return changes;
}

}  // namespace orrery::gui
