#pragma once

// Answers to a planner's questions about a run, beyond a table of points.
//
// name                | question
// --------------------|--------------------------------------------------------------------------
// checkpoint-interval | how far apart should checkpoints be: goodput against the interval
// spares              | how many spare nodes keep the wait for nodes short in nearly every trial
// sync-async          | what is an asynchronous checkpoint worth
// sensitivity         | what moves the end and the cost most: one thing at a time, low and high
// finish-by           | how likely is it to be done by a date
// fan                 | how far is the training at every date: quantiles over the trials
// spot                | the price and the rate of preemptions up to which spot nodes pay
//
// An answer is a table of rows with named columns, facts (the numbers that answer the question) and
// sentences. Text, CSV and JSON show the same. All points of an answer share the seed.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/table.hpp"
#include "sim/answer/sweep/sweep.hpp"
#include "sim/answer/sweep/team.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::sweep {

inline constexpr std::string_view kAnswerSchema = "orrery-answer/1";

struct AnswerName {
  std::string_view name;
  std::string_view question;
};

[[nodiscard]] std::span<const AnswerName> answer_names();

// What is asked, about which run, with whose help.
struct Question {
  std::string name;
  Sweep sweep;  // axes: the values that the user wants to see, may be empty; points are not read
  std::optional<std::string> by = {};       // finish-by: a date, or a time after the start
  std::optional<std::string> longest = {};  // spares: the wait that is short enough; 1 h
  double percent = 20.0;  // sensitivity: low and high of what has no values of its own
  int threads = 0;
  std::stop_token stop = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

struct Fact {
  std::string name;  // in JSON, with the unit
  report::Cell value;
};

struct Answer : report::Table {
  std::string name;
  std::string file;
  std::string sha256;
  std::vector<std::string> sentences;  // the answer in words, above the table
  std::vector<Fact> facts;
};

// Whether several processes share the work of the answer of this name: those whose runs follow from
// one another are faster alone.
[[nodiscard]] bool shares_work(std::string_view answer);

// All processes ask, and get the answer; nothing after an error (an unfit question). Throws Error.
[[nodiscard]] std::optional<Answer> answer(const Question& question, Team& team,
                                           Diagnostics& diagnostics);

[[nodiscard]] std::string to_text(const Answer& answer, report::TextStyle style);
[[nodiscard]] std::string to_json(const Answer& answer);

}  // namespace orrery::sweep
