#pragma once

// The content of three slides about a run, in words and figures that need no edit: the verdict with
// its bands, where the money goes, what to change and what that saves.
//
//   band of a card  = 8 of 10 outcomes, as a share of the value that is shown
//   bar of a part   = [before, before + share) of what is paid; the parts follow each other
//   saving of a row = dollars for the same work (LeverFigures), or time without prices
//
// Parts below half a percent of the bill stand together in one row. Everything is read from the
// evaluation; nothing is simulated.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/text/verdict.hpp"

namespace orrery::report {

struct SlideCard {
  std::string name;
  std::string value;
  std::optional<double> low = {};  // low / value - 1
  std::optional<double> high = {};
  std::string low_text = {};
  std::string high_text = {};
};

struct SlidePart {
  std::string label;
  std::string_view category = {};  // of a ledger; of a total: empty
  double before = 0.0;
  double share = 0.0;
  std::optional<Dollars> dollars = {};
  bool total = false;
};

struct SlideChange {
  std::string change;
  double saving = 0.0;  // more is better: $, or s without prices
  std::string saving_text = {};
  std::string time_text = {};  // how much earlier
  std::string note = {};
  bool possible = false;  // a setting that can be made today; else what a lever is worth
};

struct Slides {
  std::string name;                        // of the scenario
  std::array<std::string, 3> titles = {};  // one sentence each
  std::array<std::string, 3> subtitles = {};
  Standing standing = Standing::fine;
  std::string standing_text = {};  // "fits tightly"
  std::string standing_why = {};
  std::vector<SlideCard> cards = {};
  std::vector<std::string> lines = {};  // below the cards
  std::vector<SlidePart> parts = {};
  std::vector<SlideChange> changes = {};
  std::string time_head = {};  // of their times: "earlier", or "a step" without a run
  std::string caution = {};    // how firm the savings are
  std::string foot = {};
  bool trials = false;  // of a run, more than one: values without a band are the same in all
};

[[nodiscard]] Slides slides_of(const Evaluation& evaluation);

}  // namespace orrery::report
