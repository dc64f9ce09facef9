#pragma once

// Distribution of work over processes: each item is done by one of them; process 0 leads, works as
// well, and takes what all find.
//
//   member -> leader   "R <identity>\n" + finds: asks for more
//                      "E<kind> <why>\n" + finds: what went wrong, or a stop request
//                      "F": has ended; what it was doing goes to the others
//   leader -> member   "W" + numbers of items, separated by blanks
//                      "D" or "S" + finds: all is done, or was stopped
//                      "E<kind> <why>": what went wrong in one of them
//                      nothing: the leader has ended
//   finds              "<item> <size>\n" + text of the item, one after the other
//
// Batches shrink with what is left, so that all end together. Who did what cannot be seen in the
// results. Mail is used by one thread of each process only, the one that calls
// (MPI_THREAD_FUNNELED).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/sweep/mail.hpp"

namespace orrery::sweep {

struct Work {
  // Must be that of process 0 (scenario, profiles, keys): machines may see different files.
  std::string identity;
  std::vector<std::size_t> items;  // in the order in which they are begun
  std::size_t batch = 1;           // that a process takes at a time, at least
  // All processes need what all find, and have the same items; else only those of process 0 count.
  bool for_all = false;

  // Does items in this process; says of each when it is done, from any thread. False after a stop
  // request.
  using Done = std::function<void(std::size_t item)>;
  std::function<bool(const std::vector<std::size_t>& items, const Done& done)> run;
  // What was found here, for the others; and what another found, beside run() in another thread.
  std::function<std::string(std::size_t item)> tell;
  std::function<void(std::size_t item, std::string_view found)> hear;
};

class Team {
 public:
  Team() = default;  // this process alone
  explicit Team(std::unique_ptr<Mail> mail);

  // Ends with the others: members that wait are told that nothing comes.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] bool leads() const { return mail_ == nullptr || mail_->number() == 0; }

  [[nodiscard]] int members() const { return mail_ == nullptr ? 1 : mail_->processes(); }

  // All processes call it together. False when a stop request in any of them came before all items
  // were done. The Error of one is thrown by all.
  [[nodiscard]] bool gather(const Work& work);

 private:
  [[nodiscard]] bool follow(const Work& work);

  std::unique_ptr<Mail> mail_;
  std::vector<bool> ended_;  // leader: by number; member: [0], whether the leader has
};

}  // namespace orrery::sweep
