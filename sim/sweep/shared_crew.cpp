#include "sim/sweep/shared_crew.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <set>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/sweep/journal.hpp"
#include "sim/sweep/told.hpp"

namespace orrery::sweep {

namespace {

// Numbers of the items that one process does.
std::vector<std::size_t> part_of(std::size_t count, const Crew& processes, int process) {
  std::vector<std::size_t> items;
  const auto step = static_cast<std::size_t>(processes.members());
  for (auto item = static_cast<std::size_t>(process); item < count; item += step) {
    items.push_back(item);
  }
  return items;
}

// What `work` says to all, or why it failed.
template <typename Work>
std::string told_by(const Work& work) {
  try {
    return told(work());
  } catch (const std::exception& error) {  // the others wait to be told
    return told(error);
  }
}

// The number at the begin of the text, which goes on behind it.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) {
    throw Error(ErrorKind::io, "a process says what nobody understands");
  }
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

// What another process found at its points.
void take_lines(std::string_view text,
                const std::vector<std::size_t>& expected,
                const Sweep& sweep,
                const TakeResult& take) {
  const LineShape shape = line_shape(sweep);
  std::set<std::size_t> left(expected.begin(), expected.end());
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::size_t point = take_number(line);
    JournalEntry entry = read_journal_line(line, shape);
    if (left.erase(point) == 0 || !entry.problem.empty()) {
      throw Error(ErrorKind::io, "a process says what nobody understands");
    }
    take(point, std::move(entry.result));
  }
  if (!left.empty()) {
    throw Error(ErrorKind::io, "a process does not say all that it found");
  }
}

}  // namespace

bool shares_work(std::string_view answer) {
  return answer != "fan" && answer != "spot";
}

std::vector<std::string> share_work(Crew& processes,
                                    std::size_t count,
                                    const std::function<std::string(std::size_t)>& work) {
  std::vector<std::string> found(count);
  if (processes.members() == 1) {
    for (std::size_t item = 0; item < count; ++item) {
      found[item] = work(item);
    }
    return found;
  }
  const std::string mine = told_by([&] {
    std::string said;
    for (const std::size_t item : part_of(count, processes, processes.number())) {
      const std::string text = work(item);
      said += fmt::format("{}\n{}", text.size(), text);
    }
    return said;
  });
  const std::vector<std::string> all = heard(processes.exchange(mine));
  for (int process = 0; process < processes.members(); ++process) {
    std::string_view text = all[static_cast<std::size_t>(process)];
    for (const std::size_t item : part_of(count, processes, process)) {
      std::string_view head = take_line(text);
      const std::size_t size = take_number(head);
      if (size > text.size()) {
        throw Error(ErrorKind::io, "a process does not say all that it found");
      }
      found[item] = text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  return found;
}

bool SharedCrew::lead(PointEvaluator& evaluator,
                      const std::vector<std::size_t>& points,
                      int threads,
                      const TakeResult& take,
                      const std::stop_token& stop) {
  if (members() == 1) {
    return processes_.lead(evaluator, points, threads, take, stop);
  }
  const Sweep& sweep = evaluator.sweep();
  const std::string identity = journal_header(sweep, {});
  const auto points_of = [&](int process) {
    std::vector<std::size_t> of_process;
    for (const std::size_t item : part_of(points.size(), processes_, process)) {
      of_process.push_back(points[item]);
    }
    return of_process;
  };
  const std::vector<std::size_t> own = points_of(number());
  const std::string mine = told_by([&] {
    std::string said = identity + "\n";
    const auto take_own = [&](std::size_t point, PointResult result) {
      said += fmt::format("{}{}\n", point, journal_line(sweep.points[point], result));
      take(point, std::move(result));
    };
    if (!work_on(evaluator, own, threads, take_own, stop)) {
      throw Error(ErrorKind::interrupted, "interrupted");
    }
    return said;
  });
  const std::vector<std::string> all = heard(processes_.exchange(mine));
  for (int process = 0; process < members(); ++process) {
    std::string_view text = all[static_cast<std::size_t>(process)];
    if (take_line(text) != identity) {
      throw Error(ErrorKind::io,
                  fmt::format("process {} sees another scenario or other profiles than process {}",
                              process,
                              number()));
    }
    if (process != number()) {
      take_lines(text, points_of(process), sweep, take);
    }
  }
  return true;
}

}  // namespace orrery::sweep
