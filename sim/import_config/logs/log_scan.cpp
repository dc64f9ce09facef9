#include "sim/import_config/logs/log_scan.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/percent.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/log_lines.hpp"

namespace orrery::import_config {

namespace {

constexpr std::size_t kMostText = std::size_t{4} << 20U;   // from the begin of the log
constexpr std::size_t kMostAgain = std::size_t{1} << 20U;  // from the begin of another run
constexpr std::size_t kMostFacts = 4096;
constexpr std::size_t kMostSteps = std::size_t{1} << 16U;
constexpr std::size_t kMostJobs = 16;

std::vector<std::string_view> words_of(const LogProgram& program) {
  std::vector<std::string_view> words;
  for (const Figure& figure : program.figures) {
    words.push_back(figure.before);
  }
  for (const Fact& fact : program.facts) {
    words.push_back(fact.before);
  }
  words.insert(words.end(), program.begins.begin(), program.begins.end());
  return words;
}

// Whether the word that ends at `end` is none that another one ends with.
bool stands_alone(std::string_view line, std::string_view word, std::size_t end) {
  const std::size_t begin = end - word.size();
  return begin == 0 || !is_word(word.front()) ||
         (!is_word(line[begin - 1]) && line[begin - 1] != '-');
}

bool says_time(Says says) {
  return says == Says::seconds || says == Says::run_seconds || says == Says::steps_per_second ||
         says == Says::sequences_per_second || says == Says::tokens_per_second ||
         says == Says::tokens_per_second_of_rank || says == Says::units_per_second;
}

// ['dp_shard', 'tp'], [32, 8] or pp=1, dp_shard=8, tp=2, ep=4, of which experts have no ranks of
// their own; 0 where there is no number.
double product_of_mesh(std::string_view mesh) {
  double product = 0.0;
  for (std::size_t at = 0; at < mesh.size(); ++at) {
    const bool begins = std::isdigit(static_cast<unsigned char>(mesh[at])) != 0 &&
                        (mesh[at - 1] == '=' || mesh[at - 1] == '[' || mesh[at - 1] == ' ');
    const auto number = begins ? number_at(mesh, at) : std::nullopt;
    if (number && !mesh.substr(0, at).ends_with("ep=") && !mesh.substr(0, at).ends_with("etp=")) {
      product = std::max(product, 1.0) * number->value;
    }
    at = number ? number->end - 1 : at;
  }
  return product;
}

// `in billions: 8.03` says what `8.03 billion` does, and as exactly.
std::optional<LogNumber> number_of(const Fact& fact, std::string_view line, std::size_t at) {
  const auto number = number_at(line, at);
  if (!number || !fact.before.ends_with("in billions:")) {
    return number;
  }
  auto scaled = number_at(std::string(line.substr(at, number->end - at)) + " billion", 0);
  if (scaled) {
    scaled->end = number->end;
  }
  return scaled;
}

// `nan`, `inf` or `-inf` as a whole word.
bool is_no_number(std::string_view text) {
  text = trimmed(text);
  text.remove_prefix(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const std::string_view word(
      text.begin(), std::find_if_not(text.begin(), text.end(), [](char c) { return is_word(c); }));
  return word == "nan" || word == "NaN" || word == "inf" || word == "Infinity";
}

bool is_same(const yaml::Value& one, const yaml::Value& other) {
  return one.kind == other.kind && one.text == other.text &&
         std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
                    is_same) &&
         std::equal(one.entries.begin(), one.entries.end(), other.entries.begin(),
                    other.entries.end(), [](const auto& a, const auto& b) {
                      return a.key == b.key && is_same(a.value, b.value);
                    });
}

bool is_same(std::span<const LogPart> one, std::span<const LogPart> other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const LogPart& a, const LogPart& b) {
                      return a.format == b.format && is_same(a.tree, b.tree);
                    });
}

bool is_same(std::span<const ScannedFact> one, std::span<const ScannedFact> other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const ScannedFact& a, const ScannedFact& b) {
                      return a.key == b.key && a.value == b.value;
                    });
}

}  // namespace

std::int64_t interval_of(std::set<std::int64_t> numbers) {
  std::map<std::int64_t, int> seen;
  for (auto it = numbers.begin(); it != numbers.end() && std::next(it) != numbers.end(); ++it) {
    ++seen[*std::next(it) - *it];
  }
  const auto most = std::max_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? 1 : most->first;
}

LogScan::LogScan(const LogProgram& program)
    : program_(program), search_(words_of(program)), budget_(kMostText) {
  log_.format = program.format;
  log_.runs.push_back({});
  spread_ = std::any_of(program.figures.begin(), program.figures.end(),
                        [](const Figure& figure) { return figure.says == Says::heading; });
}

void LogScan::add(std::string_view block) {
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    if (end == std::string_view::npos) {
      rest_ += block;
      return;
    }
    if (rest_.empty()) {
      read_line(block.substr(0, end));
    } else {
      rest_ += block.substr(0, end);
      read_line(rest_);
      rest_.clear();
    }
    block.remove_prefix(end + 1);
  }
}

ScannedLog LogScan::take() {
  if (!rest_.empty()) {
    read_line(rest_);
  }
  if (spread_) {
    finish_step({});
  }
  if (log_.runs.size() > 1) {
    end_run();
  }
  return std::move(log_);
}

void LogScan::read_line(std::string_view line) {
  ++line_;
  std::optional<KeptLine> kept = kept_line(line);
  if (kept) {
    kept_ += kept->text;
    if (!kept->whole) {
      return;
    }
    kept->text = std::exchange(kept_, {});
    line = kept->text;
    time_ = kept->time;
  }
  std::string plain;
  if (line.find('\x1B') != std::string_view::npos) {
    plain = without_colours(line);
    line = plain;
  }
  line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
  if (line.find('\r') == std::string_view::npos) {
    if (read_part(line)) {
      gap_ = true;
    } else {
      keep(line);
    }
    return;
  }
  while (!line.empty()) {
    const std::size_t end = std::min(line.find('\r'), line.size());
    if (const std::string_view part = line.substr(0, end); !read_part(part)) {
      keep(part);
    }
    gap_ = true;  // the next part has the same number
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

void LogScan::keep(std::string_view line) {
  if (budget_ < line.size() + 1) {
    gap_ = true;
    return;
  }
  budget_ -= line.size() + 1;
  if (gap_) {
    log_.text += kGap + std::to_string(line_) + '\n';
    gap_ = false;
  }
  log_.text += line.starts_with(kGap) ? line.substr(1) : line;  // no gap of ours
  log_.text += '\n';
}

bool LogScan::read_part(std::string_view line) {
  search_.find(line, hits_);
  const std::size_t figures = program_.figures.size();
  const std::size_t facts = figures + program_.facts.size();
  for (const WordSearch::Hit& hit : hits_) {
    if (hit.word >= facts) {
      read_begin(hit.word - facts, line);
    } else if (hit.word < figures) {
      const Figure& figure = program_.figures[hit.word];
      if (stands_alone(line, figure.before, hit.end)) {
        read_figure(figure, hit.word, line, hit.end);
      }
    }
  }
  if (!spread_ && finish_step(line)) {
    return true;
  }
  for (const WordSearch::Hit& hit : hits_) {
    if (hit.word >= figures && hit.word < facts) {
      const Fact& fact = program_.facts[hit.word - figures];
      if (stands_alone(line, fact.before, hit.end)) {
        read_fact(fact, line, hit.end);
      }
    }
  }
  return program_.figures.empty() && read_bar(line);
}

void LogScan::read_figure(const Figure& figure, std::size_t place, std::string_view line,
                          std::size_t at) {
  if (figure.says == Says::heading) {
    finish_step({});
    open_.line = line_;
    return;
  }
  const auto number = number_at(line, at);
  if (!number || !line.substr(number->end).starts_with(figure.after)) {
    untimed_ = untimed_ || (says_time(figure.says) && is_no_number(line.substr(at)));
    return;
  }
  const double value = number->value * figure.unit;
  if (says_time(figure.says)) {
    if (figure.says == Says::tokens_per_second) {
      open_.tokens_per_second = value;
    }
    if (taken_ == 0 || place + 1 < taken_) {
      taken_ = place + 1;
      open_.kind = figure.says;
      open_.value = value;
    }
  } else if (figure.says == Says::number) {
    open_.number =
        open_.number < 0 && value < kPeta ? static_cast<std::int64_t>(value) : open_.number;
  } else if (figure.says == Says::sequences) {
    open_.batch = number->rounding == 0.0 ? value : -value;  // about as many
  } else if (figure.says == Says::sequences_so_far) {
    open_.so_far = value;
  } else if (figure.says == Says::memory) {
    const auto percent = number_at(line, number->end + figure.after.size());
    const double share = percent ? percent->value / kPercent : 0.0;
    if (share > log_.memory.share && share <= 1.0) {
      log_.memory = {value / share, share, line_};
    }
  } else {
    open_.tflops = static_cast<float>(value);
  }
}

bool LogScan::finish_step(std::string_view line) {
  ScannedStep step = open_;
  const bool timed = taken_ != 0;
  if (std::exchange(untimed_, false) && !timed) {
    log_.first_untimed = log_.untimed++ == 0 ? line_ : log_.first_untimed;
  }
  open_ = ScannedStep{};
  taken_ = 0;
  if (!timed || (step.kind == Says::tokens_per_second_of_rank && step.number < 0)) {
    return false;
  }
  step.line = step.line == 0 ? line_ : step.line;
  stepped_ = true;
  const ScannedStep* last = log_.steps.empty() ? nullptr : &log_.steps.back();
  if (last != nullptr && last->line == step.line && last->number == step.number &&
      last->value == step.value) {
    return true;  // a bar that is drawn again
  }
  const auto date = date_of(line);
  step.date = (date ? date : date_of(time_)).value_or(kNoDate);
  step.writer = writer(line);
  step.anew = anew_;
  anew_ = false;
  log_.steps.push_back(step);
  if (log_.steps.size() == kMostSteps) {
    thin_out();
  }
  return true;
}

// Every second step of each writer goes, but for those around a restart: what is left tells the
// same times and the same restarts, and a log of any length takes as much memory.
void LogScan::thin_out() {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<ScannedStep>& steps = log_.steps;
  std::vector<std::size_t> last(log_.writers.size(), kNone);
  std::vector<char> kept(steps.size(), 0);
  std::set<std::int64_t> numbers;
  const bool first = log_.interval == 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ScannedStep& step = steps[i];
    std::size_t& before = last[step.writer];
    const bool anew = before == kNone || step.anew || step.number <= steps[before].number;
    if (anew) {
      kept[i] = 1;
      if (before != kNone) {
        kept[before] = 1;
      }
    } else {
      kept[i] = kept[before] == 0 ? 1 : 0;
    }
    before = i;
    if (first) {
      numbers.insert(numbers.end(), step.number);
    }
  }
  log_.interval = first ? interval_of(std::move(numbers)) : log_.interval;
  for (const std::size_t i : last) {
    if (i != kNone) {
      kept[i] = 1;
    }
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (kept[i] != 0) {
      steps[next++] = steps[i];
    }
  }
  steps.resize(next);
}

// ` with 94.99GiB memory` follows the name of a GPU, or the end of a cell.
void LogScan::read_fact(const Fact& fact, std::string_view line, std::size_t at) {
  if (!fact.then.empty()) {
    const std::size_t then = line.find(fact.then, at);
    if (then == std::string_view::npos) {
      return;
    }
    at = then + fact.then.size();
  }
  ScannedFact found{fact.key, fact.before, std::string(fact.value), 0.0, line_};
  if (fact.key == fact::kMesh) {
    const double ranks = product_of_mesh(line.substr(at - 1));
    if (ranks <= 0.0 || ranks >= kMega) {
      return;
    }
    found.key = fact::kRanks;
    found.value = std::to_string(static_cast<std::int64_t>(ranks));
  } else if (fact.key == fact::kGpu) {
    const std::string_view rest = line.substr(at);
    found.value = trimmed(rest.substr(0, rest.find('|')));
  } else if (found.value.empty()) {
    const auto number = number_of(fact, line, at);
    if (!number || !trimmed(line.substr(number->end)).starts_with(fact.after) ||
        std::abs(number->value - std::round(number->value)) > kNano * number->value ||
        number->value >= kPeta) {
      return;
    }
    found.value = std::to_string(std::llround(number->value));
    found.rounding = number->rounding;
  }
  // As other ranks print it, too.
  const auto known = std::find_if(log_.facts.rbegin(), log_.facts.rend(), [&](const auto& other) {
    return other.line < log_.runs.back().line || other.key == found.key;
  });
  const bool again = known != log_.facts.rend() && known->line >= log_.runs.back().line &&
                     known->value == found.value && found.key != fact::kRankParameters;
  if (!again && log_.facts.size() < kMostFacts) {
    log_.facts.push_back(std::move(found));
  }
}

void LogScan::read_begin(std::size_t mark, std::string_view line) {
  const auto [place, first] = printed_.emplace(writer(line), mark);
  if (!first || printed_.size() == 1) {
    anew_ = true;
    printed_ = {*place};
  }
  if (stepped_) {
    end_run();
    gap_ = true;
    log_.runs.push_back({line_, log_.text.size()});
    budget_ = std::max(budget_, kMostAgain);
    stepped_ = false;
  }
}

// Where the run before was of the same job, its text and its facts go: a log in which a job begins
// anew any number of times takes as much memory as one in which it does not.
void LogScan::end_run() {
  ScannedRun& run = log_.runs.back();
  const auto facts_from = [this](int line) {
    return std::find_if(log_.facts.begin(), log_.facts.end(),
                        [line](const ScannedFact& fact) { return fact.line >= line; });
  };
  const auto own = facts_from(run.line);
  Diagnostics unsaid;
  Job job{jobs_,
          settings_of_text(log_.format, std::string_view(log_.text).substr(run.offset), "", unsaid),
          {own, log_.facts.end()}};
  const auto known = std::find_if(known_.begin(), known_.end(), [&job](const Job& other) {
    return is_same(other.settings, job.settings) && is_same(other.facts, job.facts);
  });
  if (known != known_.end()) {
    run.job = known->number;
  } else {
    run.job = jobs_++;
    known_.push_back(std::move(job));
    if (known_.size() > kMostJobs) {
      known_.pop_front();
    }
  }
  if (log_.runs.size() > 1 && std::prev(log_.runs.end(), 2)->job == run.job) {
    const ScannedRun& before = *std::prev(log_.runs.end(), 2);
    log_.facts.erase(facts_from(before.line), own);
    log_.text.erase(before.offset, run.offset - before.offset);
    run.offset = before.offset;
  }
}

// The Trainer, and its kin: no time of a step is printed, but a bar, and the time of the run.
bool LogScan::read_bar(std::string_view line) {
  if (const auto count = number_behind(line, "Total optimization steps =")) {
    bar_.expect(*count);
  }
  const double before = bar_.total();
  const auto stretch = bar_.add(line);
  if (bar_.total() > before) {
    std::erase_if(log_.steps, [](const ScannedStep& step) { return !step.whole_run; });
  }
  if (stretch) {
    open_.value = stretch->seconds;
    open_.number = static_cast<std::int64_t>(stretch->steps);
    taken_ = 1;
    return finish_step(line);
  }
  auto runtime = number_behind(line, "'train_runtime': ");
  runtime = runtime ? runtime : number_behind(line, "'train_runtime': '");
  if (runtime && bar_.steps() > 0.0 && bar_.is_done() &&
      line.find("'train_samples_per_second': ") != std::string_view::npos) {
    open_.value = *runtime / bar_.steps();
    open_.whole_run = true;
    taken_ = 1;
    finish_step(line);
    return false;  // it says more
  }
  return bar_.is_bar();
}

std::uint16_t LogScan::writer(std::string_view line) {
  const auto [place, added] =
      writers_.emplace(writer_of(line), static_cast<std::uint16_t>(log_.writers.size()));
  if (added) {
    constexpr std::size_t kMostWriters = 65'000;
    if (log_.writers.size() >= kMostWriters) {
      place->second = 0;
    } else {
      log_.writers.push_back(place->first);
    }
  }
  return place->second;
}

ScannedLog scan_log(std::string_view text, const LogProgram& program) {
  LogScan scan(program);
  scan.add(text);
  return scan.take();
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 3:05:26 or 01:58
std::optional<double> clock_seconds(std::string_view text) {
  double total = 0.0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    total = total * kSecondsPerMinute + number_behind(part, "").value_or(0.0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return total;
}

}  // namespace

std::optional<ProgressBar::Stretch> ProgressBar::add(std::string_view line) {
  constexpr double kStretch = 20.0;
  is_bar_ = false;
  const std::size_t open = line.find(" [");
  const std::size_t slash = line.rfind('/', open);
  const std::size_t end = line.find('<', open);
  if (open == std::string_view::npos || slash == std::string_view::npos || slash == 0 ||
      end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = slash;
  while (begin > 0 && is_digit(line[begin - 1])) {
    --begin;
  }
  const std::string_view all = line.substr(slash + 1, open - slash - 1);
  const auto elapsed = clock_seconds(line.substr(open + 2, end - open - 2));
  const bool counts = begin < slash && !all.empty() &&
                      all.find_first_not_of("0123456789") == std::string_view::npos;
  if (!counts || !elapsed) {
    return std::nullopt;
  }
  const double total = number_behind(all, "").value_or(0.0);
  if (expected_ > 0.0 && total != expected_) {
    return std::nullopt;  // of an evaluation, of files
  }
  is_bar_ = true;
  const Place now{number_behind(line.substr(begin, slash - begin), "").value_or(0.0), *elapsed};
  const bool anew =
      !any_ || total != total_ || now.done < begin_.done || now.seconds < begin_.seconds;
  std::optional<Stretch> stretch;
  if (!anew && now.done > begin_.done && now.seconds - begin_.seconds >= kStretch) {
    stretch = Stretch{(now.seconds - begin_.seconds) / (now.done - begin_.done), now.done};
  }
  if (anew || stretch) {
    begin_ = now;
  }
  any_ = true;
  total_ = total;
  last_ = now;
  return stretch;
}

}  // namespace orrery::import_config
