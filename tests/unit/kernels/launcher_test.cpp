#include "kernels/device/launcher.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>

#include "sim/base/error.hpp"
#include "tests/support.hpp"

namespace orrery::kernels {
namespace {

Environment with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(GroupRank, AProcessStartedAloneIsOneRank) {
  const FoundRank found = group_rank({}, with({}));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.group.rank, 0);
  EXPECT_EQ(found.group.ranks, 1);
  EXPECT_EQ(found.group.source, "");
}

TEST(GroupRank, EveryLauncherIsRead) {
  const std::array<std::array<const char*, 3>, 4> launchers = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
       {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
       {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
       {"RANK", "WORLD_SIZE", "LOCAL_RANK"}}};
  for (const auto& names : launchers) {
    const FoundRank found =
        group_rank({}, with({{names[0], "11"}, {names[1], "16"}, {names[2], "3"}}));
    EXPECT_EQ(found.problem, "");
    EXPECT_EQ(found.group.rank, 11);
    EXPECT_EQ(found.group.ranks, 16);
    EXPECT_EQ(found.group.local_rank, 3);
    EXPECT_EQ(found.group.source, names[0]);
  }
}

TEST(GroupRank, MpirunInsideAnAllocationIsTheLauncherNotSlurm) {
  const FoundRank found = group_rank({}, with({{"SLURM_PROCID", "0"},
                                               {"SLURM_NTASKS", "1"},
                                               {"OMPI_COMM_WORLD_RANK", "5"},
                                               {"OMPI_COMM_WORLD_SIZE", "8"}}));
  EXPECT_EQ(found.group.rank, 5);
  EXPECT_EQ(found.group.ranks, 8);
}

TEST(GroupRank, TheCommandLineGoesBeforeTheEnvironment) {
  const FoundRank found =
      group_rank({.rank = 1, .ranks = 2, .local_rank = 0},
                 with({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}}));
  EXPECT_EQ(found.group.rank, 1);
  EXPECT_EQ(found.group.ranks, 2);
  EXPECT_EQ(found.group.local_rank, 0);
  EXPECT_EQ(group_rank({.rank = 1, .ranks = 2, .local_rank = {}}, with({})).group.local_rank, 1)
      << "by hand on one node each rank has its own GPU";
}

TEST(GroupRank, WhatCannotBeIsSaid) {
  EXPECT_EQ(group_rank({.rank = 1, .ranks = {}, .local_rank = {}}, with({})).problem,
            "--rank and --ranks go together");
  EXPECT_EQ(group_rank({.rank = 2, .ranks = 2, .local_rank = {}}, with({})).problem,
            "rank 2 is outside 0..1");
  EXPECT_EQ(group_rank({.rank = 0, .ranks = 0, .local_rank = {}}, with({})).problem,
            "a group of 0 ranks has no member");
  EXPECT_EQ(group_rank({}, with({{"RANK", "one"}, {"WORLD_SIZE", "2"}})).problem,
            "RANK=one is no whole number");
}

TEST(ParseMeeting, ReadsFilesAndPorts) {
  const auto file = parse_meeting("file:/shared/id");
  ASSERT_TRUE(file.meeting);
  EXPECT_EQ(file.meeting->place, "/shared/id");
  const auto tcp = parse_meeting("tcp:node0:29500");
  ASSERT_TRUE(tcp.meeting);
  EXPECT_EQ(tcp.meeting->place, "node0");
  EXPECT_EQ(tcp.meeting->port, 29500);
  const auto six = parse_meeting("tcp:fe80::1:29500");
  ASSERT_TRUE(six.meeting);
  EXPECT_EQ(six.meeting->place, "fe80::1");
}

TEST(ParseMeeting, SaysWhatItWants) {
  for (const char* text :
       {"", "file:", "tcp:", "tcp:29500", "tcp::29500", "tcp:a:0", "tcp:a:70000", "udp:a:1"}) {
    const auto parsed = parse_meeting(text);
    EXPECT_FALSE(parsed.meeting) << text;
    EXPECT_EQ(parsed.problem,
              std::string(text) + " is no meeting place: write file:PATH or tcp:HOST:PORT");
  }
}

using Id = std::array<std::byte, 128>;

Id id_of(int start) {
  Id id = {};
  for (std::size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<std::byte>(start + static_cast<int>(i));
  }
  return id;
}

// A port that was free a moment ago.
int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(listener);
  return ntohs(address.sin_port);
}

// Ranks 1 and 2 are processes of their own; they exit with 0 when they received rank 0's bytes.
void expect_all_receive(const Meeting& meeting) {
  constexpr int kRanks = 3;
  constexpr std::chrono::milliseconds kPatience(20'000);
  std::vector<pid_t> children;
  for (int rank = 1; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int failed = 1;
      try {
        const Id own = id_of(100);
        const GroupRank group{rank, kRanks, rank, ""};
        const auto received = share_bytes(meeting, group, own, kPatience);
        const Id expected = id_of(0);
        failed =
            std::equal(received.begin(), received.end(), expected.begin(), expected.end()) ? 0 : 2;
      } catch (const std::exception&) {
        failed = 3;
      }
      _exit(failed);
    }
    children.push_back(child);
  }
  const Id own = id_of(0);
  const auto kept = share_bytes(meeting, {0, kRanks, 0, ""}, own, kPatience);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), own.begin(), own.end()));
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(ShareBytes, ThroughAFileBetweenProcesses) {
  const TempFolder folder;
  const auto path = folder / "meeting";
  expect_all_receive({Meeting::Kind::file, path.string(), 0});
  const Meeting meeting{Meeting::Kind::file, path.string(), 0};
  const Id own = id_of(0);
  EXPECT_THROW(
      static_cast<void>(share_bytes(meeting, {0, 2, 0, ""}, own, std::chrono::milliseconds(1))),
      Error)
      << "what an earlier run left is not taken for this one's";
  end_meeting(meeting, {1, 2, 1, ""});
  EXPECT_TRUE(std::filesystem::exists(path));
  end_meeting(meeting, {0, 2, 0, ""});
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ShareBytes, ThroughTcpBetweenProcesses) {
  expect_all_receive({Meeting::Kind::tcp, "localhost", free_port()});
}

TEST(ShareBytes, AMissingRankIsAnErrorAfterThePatience) {
  const Id own = id_of(0);
  constexpr std::chrono::milliseconds kPatience(60);
  const Meeting tcp{Meeting::Kind::tcp, "localhost", free_port()};
  try {
    static_cast<void>(share_bytes(tcp, {0, 2, 0, ""}, own, kPatience));
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(std::string(error.what()),
              "1 of 2 ranks came to localhost:" + std::to_string(tcp.port) + " in time");
  }
  const Meeting file{Meeting::Kind::file, "/nonexistent/orrery-id", 0};
  EXPECT_THROW(static_cast<void>(share_bytes(file, {1, 2, 0, ""}, own, kPatience)), Error);
  EXPECT_THROW(static_cast<void>(share_bytes(file, {0, 2, 0, ""}, own, kPatience)), Error);
}

TEST(ShareBytes, OneRankMeetsNobody) {
  const Id own = id_of(7);
  const auto kept = share_bytes({Meeting::Kind::file, "/nonexistent/orrery-id", 0}, {0, 1, 0, ""},
                                own, std::chrono::milliseconds(1));
  EXPECT_EQ(kept.size(), own.size());
}

}  // namespace
}  // namespace orrery::kernels
