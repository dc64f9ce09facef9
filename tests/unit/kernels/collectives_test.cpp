// Collectives on what a machine has: none without a GPU, one rank, or two ranks that share one GPU.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/collectives/collective.hpp"
#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"
#include "tests/support.hpp"

namespace orrery::kernels {
namespace {

constexpr std::chrono::seconds kPatience(60);
constexpr const char* kRankVariable = "ORRERY_TEST_RANK";
constexpr const char* kPlaceVariable = "ORRERY_TEST_PLACE";

bool has_device() {
  try {
    static_cast<void>(find_device());
    return true;
  } catch (const Error&) {
    return false;
  }
}

void expect_right(const CollectiveGroup& group, Stream stream) {
  for (const char* name :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"}) {
    for (const char* precision : {"bf16", "fp16", "fp32"}) {
      for (const int in_place : {0, 1}) {
        const std::string text = std::string(name) + " " + precision +
                                 " ranks=" + std::to_string(group.ranks()) +
                                 " nodes=1 bytes=1048576 in_place=" + std::to_string(in_place);
        const ParsedCase parsed = parse_case(text);
        ASSERT_TRUE(parsed.kernel) << parsed.problem;
        try {
          const auto collective = make_collective(*parsed.kernel, group, {});
          const Verification checked = collective->verify(stream);
          EXPECT_TRUE(checked.passed) << text << ": " << checked.where;
          static_cast<void>(collective->estimate(stream));
          EXPECT_GT(time_collective(*collective, group, 5, stream).slowest, 0.0) << text;
        } catch (const Unsupported&) {
          EXPECT_EQ(in_place, 1) << text;
        }
      }
    }
  }
}

TEST(Collectives, OneRankSendsToItself) {
  if (!has_device()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const CollectiveGroup group({}, std::nullopt, kPatience);
  EXPECT_EQ(group.ranks(), 1);
  EXPECT_EQ(group.nodes(), 1);
  EXPECT_FALSE(group.functional());
  const OwnedStream stream;
  expect_right(group, stream.get());
}

TEST(Collectives, WithoutAGpuTheGroupSaysSo) {
  if (has_device()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  EXPECT_THROW(CollectiveGroup({}, std::nullopt, std::chrono::seconds(1)), Error);
  EXPECT_THROW(CollectiveGroup({1, 2, 1, ""}, std::nullopt, std::chrono::seconds(1)), Error);
}

// One of the two processes that the next test starts.
TEST(CollectivePair, Member) {
  const char* rank = std::getenv(kRankVariable);
  const char* place = std::getenv(kPlaceVariable);
  if (rank == nullptr || place == nullptr) {
    GTEST_SKIP() << "started by TwoRanksShareOneGpu only";
  }
  static_cast<void>(find_device());
  const CollectiveGroup group({std::atoi(rank), 2, 0, ""}, Meeting{Meeting::Kind::file, place, 0},
                              kPatience);
  EXPECT_EQ(group.ranks(), 2);
  EXPECT_TRUE(group.functional()) << "two ranks share a GPU: their times mean nothing";
  const OwnedStream stream;
  expect_right(group, stream.get());
  const auto alone = group.part(group.rank());
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->ranks(), 1);
}

pid_t start_member(int rank, const std::string& place) {
  std::vector<std::string> variables = {std::string(kRankVariable) + "=" + std::to_string(rank),
                                        std::string(kPlaceVariable) + "=" + place,
                                        // Unlike host ids let two ranks have one GPU; they talk
                                        // through a socket.
                                        "NCCL_HOSTID=orrery-" + std::to_string(rank),
                                        "NCCL_SOCKET_IFNAME=lo", "NCCL_IB_DISABLE=1",
                                        "NCCL_NET=Socket"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) {
    environment.push_back(variable.data());
  }
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=CollectivePair.Member";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  const int status =
      posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data());
  EXPECT_EQ(status, 0);
  return child;
}

TEST(CollectivePair, TwoRanksShareOneGpu) {
  if (!has_device()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const TempFolder folder;
  const std::string place = (folder / "pair").string();
  const std::vector<pid_t> members = {start_member(0, place), start_member(1, place)};
  for (const pid_t member : members) {
    int status = 0;
    ASSERT_EQ(waitpid(member, &status, 0), member);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

}  // namespace
}  // namespace orrery::kernels
