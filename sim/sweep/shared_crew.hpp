#pragma once

// How do processes share the points of an answer, when the next points depend on these results?
//
// Every process asks the same question and makes the same points in the same order. Of n processes
// number k evaluates the points k, k + n, k + 2n, ...; then all tell each other what they found, so
// that all go on with the same results. Results travel as lines of a journal, bit for bit: who did
// the work cannot be seen in the answer.
//
//   process -> all   identity + "\n" + "<number of the point> <journal line>\n" each (told.hpp)
//
// A sweep, by contrast, is led by process 0 alone (Crew): only it writes the journal and the table.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/crew.hpp"

namespace orrery::sweep {

// Whether several processes share the work of the answer of this name: those whose runs follow from
// one another are faster alone.
[[nodiscard]] bool shares_work(std::string_view answer);

// What `work` gives for the items 0 to count - 1, each done by one of the processes. All processes
// ask together. An Error of one is thrown by all.
[[nodiscard]] std::vector<std::string> share_work(
    Crew& processes, std::size_t count, const std::function<std::string(std::size_t)>& work);

class SharedCrew : public Crew {
 public:
  // Keeps a reference to the processes.
  explicit SharedCrew(Crew& processes) : processes_(processes) {}

  [[nodiscard]] bool leads() const override {
    return processes_.leads();
  }

  [[nodiscard]] int members() const override {
    return processes_.members();
  }

  [[nodiscard]] int number() const override {
    return processes_.number();
  }

  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override {
    return processes_.exchange(mine);
  }

  // By all processes at once. Where one is interrupted, all are: false.
  [[nodiscard]] bool lead(PointEvaluator& evaluator,
                          const std::vector<std::size_t>& points,
                          int threads,
                          const TakeResult& take,
                          const std::stop_token& stop) override;

  void serve(PointEvaluator& /*evaluator*/,
             int /*threads*/,
             const std::stop_token& /*stop*/) override {}

 private:
  Crew& processes_;
};

}  // namespace orrery::sweep
