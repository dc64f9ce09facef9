#pragma once

// One pass over the lines of a log, a block of any size at a time: the steps with their times, the
// facts of the job, and the text that may hold settings; the rest is dropped. Internal to
// import_config/.

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/import_config/logs/log_programs.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

// The time of steps by a progress bar, ` 10%|#   | 57/4900 [10:58<15:32:28, 11.55s/it]`: in whole
// seconds, so that means over long stretches are taken.
class ProgressBar {
 public:
  struct Stretch {
    double seconds = 0.0;  // of one step
    double steps = 0.0;    // done at its end
  };

  // Nothing where the line is no bar, or no stretch ends with it.
  [[nodiscard]] std::optional<Stretch> add(std::string_view line);

  // Whether the last line was a bar, and whether a bar has come to its end.
  [[nodiscard]] bool is_bar() const { return is_bar_; }

  [[nodiscard]] bool is_done() const { return !any_ || last_.done == total_; }

  [[nodiscard]] double total() const { return total_; }

  // All steps, where they are known.
  [[nodiscard]] double steps() const { return expected_ > 0.0 ? expected_ : total_; }

  void expect(double total) { expected_ = total; }

 private:
  struct Place {
    double done = 0.0;
    double seconds = 0.0;
  };

  double expected_ = 0.0;  // steps; 0: whatever the bar says
  double total_ = 0.0;
  bool is_bar_ = false;
  bool any_ = false;
  Place begin_;
  Place last_;
};

inline constexpr std::int64_t kNoDate = std::numeric_limits<std::int64_t>::min();

// Of one step, or the mean of several.
struct ScannedStep {
  double value = 0.0;  // what `kind` says of its time
  double batch = 0.0;  // in sequences; 0: not printed
  double so_far = 0.0;
  double tokens_per_second = 0.0;
  std::int64_t date = kNoDate;  // in milliseconds, of whichever zone
  std::int64_t number = -1;
  float tflops = 0.0F;
  int line = 0;
  Says kind = Says::seconds;
  std::uint16_t writer = 0;
  bool anew = false;       // the job began between the last step and this one
  bool whole_run = false;  // the mean of all steps with what lies between them
};

struct ScannedFact {
  std::string_view key;
  std::string_view words;  // before it
  std::string value;
  double rounding = 0.0;  // by which it may be wrong, as a share: of 15.933 billion 3e-5
  int line = 0;
};

struct ScannedRun {
  int line = 1;            // at which it begins
  std::size_t offset = 0;  // of the text
  int job = 0;             // equal where runs print the same settings and facts
};

// What one GPU has, by the line that says its use with the most digits; 0: none says it.
struct ScannedMemory {
  double gib = 0.0;
  double share = 0.0;  // of it that is used
  int line = 0;
};

struct ScannedLog {
  ConfigFormat format = ConfigFormat::megatron_log;
  std::string text;  // what may hold settings; a line of kGap and a number where lines are left out
  std::vector<ScannedStep> steps;
  std::vector<ScannedFact> facts;
  std::vector<ScannedRun> runs;  // the first begins the log; of equal jobs the last has its text
  std::vector<std::string> writers;
  ScannedMemory memory;
  std::int64_t interval =
      0;                    // steps that a line stood for before lines were left out; 0: none were
  std::size_t untimed = 0;  // steps whose time is nan or inf
  int first_untimed = 0;    // its line
};

// The commonest distance of two numbers of steps: as many steps does one line stand for.
[[nodiscard]] std::int64_t interval_of(std::set<std::int64_t> numbers);

// A log in parts, each as long as it happens to be.
class LogScan {
 public:
  explicit LogScan(const LogProgram& program);

  void add(std::string_view block);
  [[nodiscard]] ScannedLog take();

 private:
  void read_line(std::string_view line);  // as it stands in the file
  bool read_part(std::string_view line);  // one of those that overwrite each other: is it a step?
  void read_figure(const Figure& figure, std::size_t place, std::string_view line, std::size_t at);
  void read_fact(const Fact& fact, std::string_view line, std::size_t at);
  void read_begin(std::size_t mark, std::string_view line);
  bool read_bar(std::string_view line);
  bool finish_step(std::string_view line);
  void keep(std::string_view line);
  void thin_out();
  void end_run();
  [[nodiscard]] std::uint16_t writer(std::string_view line);

  // What a run has said of itself, but for the steps.
  struct Job {
    int number = 0;
    std::vector<LogPart> settings;
    std::vector<ScannedFact> facts;
  };

  const LogProgram& program_;
  WordSearch search_;
  std::vector<WordSearch::Hit> hits_;
  std::string rest_;  // of a line that goes on in the next part
  std::string kept_;  // of a line that docker has cut
  std::string time_;  // when it wrote the line
  ScannedLog log_;
  ScannedStep open_;
  std::size_t taken_ = 0;  // the figure that says the time of the open step, and one
  int line_ = 0;
  bool spread_ = false;  // a step is told in several lines
  bool gap_ = false;
  bool anew_ = true;
  bool stepped_ = false;    // since the run began
  bool untimed_ = false;    // the open step has a time that is no number
  int jobs_ = 0;            // seen so far
  std::deque<Job> known_;   // the last of them
  std::size_t budget_ = 0;  // of the text
  ProgressBar bar_;
  std::unordered_map<std::string, std::uint16_t> writers_;
  std::set<std::pair<std::uint16_t, std::size_t>> printed_;  // begins of this life, by every writer
};

// The log of a text that is in memory.
[[nodiscard]] ScannedLog scan_log(std::string_view text, const LogProgram& program);

// When a line was written, in milliseconds, by the first date with a time: 2025-10-06 03:27:07,140,
// 2025-10-17T11:32:59, 08/31/2024 14:37:31, "time_ms": 1696565401886. Of one zone, whichever it is:
// only differences count.
[[nodiscard]] std::optional<std::int64_t> date_of(std::string_view line);

// What tells ranks and nodes apart: `7:` of srun, `[rank7]:` of torchrun, `node-7:` of pdsh in
// front of a line, `[Rank 7]` of DeepSpeed, `|DP=0|PP=7|TP=0` of nanotron. Empty where nothing
// does.
[[nodiscard]] std::string writer_of(std::string_view line);

// Cells of a row of CSV; quotes go, and commas inside them part nothing.
[[nodiscard]] std::vector<std::string> csv_cells(std::string_view row);

// A cell that is a number from end to end, blanks apart.
[[nodiscard]] std::optional<double> csv_number(std::string_view cell);

// A table of metrics in CSV as a log: what Weights & Biases, MLflow and TensorBoard export.
//
// column (behind the last slash or " - ", any case)            | is
// -------------------------------------------------------------|------------------------------
// step, _step, global_step, iteration, iter                    | the number of the step
// step_time, iteration_time, time_per_step, ... ; with _ms     | its time
// tokens_per_second, tokens_per_sec; _per_gpu, tps             | its rate
// tflops, tflops_per_gpu                                       | TFLOP/s of a GPU
// _timestamp, timestamp, wall time: seconds since 1970         | when it ended
//
// A table needs steps, and a time, a rate or dates. Rows without a number in a column are passed
// over. Every row becomes one line of the program `metrics-csv` of log-programs.yaml.

class MetricsTable {
 public:
  // Of cells under names, or of an object of JSON a line; nothing where their names do not say how
  // long a step takes.
  [[nodiscard]] static std::optional<MetricsTable> of(std::string_view text);

  // The whole lines of a part as lines of a log; what is left of it goes before the next part.
  [[nodiscard]] std::string add(std::string_view block);
  [[nodiscard]] std::string end();

 private:
  using Figure = std::pair<std::string_view, double>;  // of a column

  [[nodiscard]] std::vector<Figure> figures_of(std::string_view row) const;
  [[nodiscard]] std::string line_of(std::string_view row);

  std::vector<std::string_view> columns_;  // what each is; empty: not read
  int objects_ = 0;                        // of JSON that the head holds; 0: cells between commas
  std::string rest_;
  bool timed_ = false;  // a column says how long a step takes; else the dates of two rows do
  double date_ = -1.0;  // of the row before, in milliseconds, and its step
  double step_ = -1.0;
  bool header_ = true;  // comes next
};

}  // namespace orrery::import_config
