#include "kernels/device/launcher.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

namespace orrery::kernels {

namespace {

struct Variables {
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr std::array kLaunchers = {
    Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Variables{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Variables{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    Variables{"RANK", "WORLD_SIZE", "LOCAL_RANK"}};

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

// Reads one variable into `value`; a sentence when it is no number.
std::string read_number(const Environment& environment, const char* name, int& value) {
  const auto text = environment(name);
  if (!text) {
    return "";
  }
  const auto number = whole_number(*text);
  if (!number) {
    return fmt::format("{}={} is no whole number", name, *text);
  }
  value = *number;
  return "";
}

FoundRank checked(FoundRank found) {
  const GroupRank& group = found.group;
  if (!found.problem.empty()) {
    return found;
  }
  if (group.ranks < 1) {
    found.problem = fmt::format("a group of {} ranks has no member", group.ranks);
  } else if (group.rank < 0 || group.rank >= group.ranks) {
    found.problem = fmt::format("rank {} is outside 0..{}", group.rank, group.ranks - 1);
  } else if (group.local_rank < 0) {
    found.problem = fmt::format("local rank {} is negative", group.local_rank);
  }
  return found;
}

FoundRank from_variables(const Variables& variables, const Environment& environment) {
  FoundRank found;
  found.group.source = variables.rank;
  for (const auto& [name, value] : {std::pair{variables.rank, &found.group.rank},
                                    std::pair{variables.ranks, &found.group.ranks},
                                    std::pair{variables.local_rank, &found.group.local_rank}}) {
    if (found.problem.empty()) {
      found.problem = read_number(environment, name, *value);
    }
  }
  return found;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    return std::string(value);
  };
}

FoundRank group_rank(const GivenRank& given, const Environment& environment) {
  if (given.rank.has_value() != given.ranks.has_value()) {
    return {.group = {}, .problem = "--rank and --ranks go together"};
  }
  if (given.rank) {
    // By hand on one node, unless --local-rank says otherwise.
    return checked(
        {.group = {*given.rank, *given.ranks, given.local_rank.value_or(*given.rank), "--rank"},
         .problem = ""});
  }
  for (const Variables& variables : kLaunchers) {
    if (environment(variables.rank) && environment(variables.ranks)) {
      FoundRank found = from_variables(variables, environment);
      found.group.local_rank = given.local_rank.value_or(found.group.local_rank);
      return checked(found);
    }
  }
  FoundRank alone;
  alone.group.local_rank = given.local_rank.value_or(0);
  return checked(alone);
}

ParsedMeeting parse_meeting(const std::string& text) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kTcp = "tcp:";
  constexpr int kMostPort = 65535;
  if (text.starts_with(kFile) && text.size() > kFile.size()) {
    return {Meeting{Meeting::Kind::file, text.substr(kFile.size()), 0}, ""};
  }
  const std::size_t colon = text.rfind(':');
  if (text.starts_with(kTcp) && colon > kTcp.size()) {
    const auto port = whole_number(text.substr(colon + 1));
    if (port && *port >= 1 && *port <= kMostPort) {
      return {Meeting{Meeting::Kind::tcp, text.substr(kTcp.size(), colon - kTcp.size()), *port},
              ""};
    }
  }
  return {std::nullopt,
          fmt::format("{} is no meeting place: write file:PATH or tcp:HOST:PORT", text)};
}

}  // namespace orrery::kernels
