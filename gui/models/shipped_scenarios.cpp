#include "gui/models/shipped_scenarios.hpp"

#include <QFile>
#include <algorithm>
#include <array>

#include "sim/answer/evaluate/shipped_scenarios.hpp"

namespace orrery::gui {

namespace {

struct Question {
  const char* text;
  const char* section;  // of the scenarios that answer it; null: of all others
};

// In the order in which they are asked. A measured run or a plan has failures too.
constexpr std::array kQuestions = {
    Question{"What will a run take, and what do failures cost?", "failures"},
    Question{"What fits, and where does a step lose its time?", nullptr},
    Question{"Which layout and which cluster are best?", "plan"},
    Question{"How near is a prediction to what was measured?", "measured"},
};

std::size_t question_of(const QString& path) {
  QFile file(path);
  const QByteArray text = file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  std::size_t found = 1;
  for (std::size_t i = 0; i < kQuestions.size(); ++i) {
    const char* section = kQuestions[i].section;
    if (section != nullptr && text.contains(QByteArray("\n") + section + ":")) {
      found = i;  // the last is the most particular
    }
  }
  return found;
}

}  // namespace

std::vector<ShippedScenario> shipped_scenarios() {
  std::array<std::vector<ShippedScenario>, kQuestions.size()> groups;
  for (const evaluate::ShippedScenario& one : evaluate::shipped_scenarios()) {
    const QString path = QString::fromStdString(one.path.string());
    const std::size_t question = question_of(path);
    groups[question].push_back({path, QString::fromStdString(one.title),
                                QString::fromStdString(one.summary), kQuestions[question].text});
  }
  std::vector<ShippedScenario> found;
  for (const std::vector<ShippedScenario>& group : groups) {
    found.insert(found.end(), group.begin(), group.end());
  }
  // The scenario that the documentation walks through comes first.
  std::stable_partition(found.begin(), found.end(), [](const ShippedScenario& scenario) {
    return scenario.path.endsWith("/llama3-405b-16k.yaml");
  });
  return found;
}

}  // namespace orrery::gui
