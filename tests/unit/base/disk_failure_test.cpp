// Files and journals on a disk that fails: every call of the system in turn, and every power cut.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/files/journal_file.hpp"
#include "tests/unit/base/disk_model.hpp"

namespace orrery {
namespace {

using test::DiskModel;
using test::Unsynced;
using Trouble = DiskModel::Trouble;

constexpr std::array kEverythingUnsynced = {Unsynced::lost, Unsynced::whole, Unsynced::half,
                                            Unsynced::zeros};
constexpr int kMostCalls = 100;
const std::string kPath = "/model/result.json";
const std::string kOld = "the old answer";
const std::string kNew = "the new answer, which is longer";

// Whether the file was written, as the caller learns it.
bool writes(const DiskModel& disk) {
  try {
    write_file_atomically(kPath, kNew, disk);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return false;
  }
}

TEST(AtomicFile, IsWholeWhicheverCallFails) {
  bool failed = true;
  for (int call = 1; failed && call < kMostCalls; ++call) {
    SCOPED_TRACE(call);
    DiskModel disk;
    disk.put(kPath, kOld);
    disk.fail_at(call, Trouble::error);
    const bool written = writes(disk);
    failed = disk.has_failed();
    const std::string left = disk.content(kPath);
    EXPECT_TRUE(left == kNew || (!written && left == kOld)) << left;
    EXPECT_EQ(disk.files(), 1U);
  }
  EXPECT_FALSE(failed);
}

TEST(AtomicFile, IsOldOrNewAfterAPowerCutAtAnyCall) {
  bool failed = true;
  for (int call = 1; failed && call < kMostCalls; ++call) {
    for (const Unsynced content : kEverythingUnsynced) {
      for (const bool names_kept : {false, true}) {
        SCOPED_TRACE(testing::Message() << call << " " << int(content) << names_kept);
        DiskModel disk;
        disk.put(kPath, kOld);
        disk.fail_at(call, Trouble::power_cut);
        const bool written = writes(disk);
        failed = disk.has_failed();
        disk.restart(content, names_kept);
        const std::string left = disk.content(kPath);
        EXPECT_TRUE(left == kNew || (!written && left == kOld)) << left;
      }
    }
  }
  EXPECT_FALSE(failed);
}

const std::string kHeader = R"({"schema":"test"})";

std::vector<std::string> lines_written() {
  return {R"({"n":1})", R"({"n":2,"x":"a longer line"})", R"({"n":3})", R"({"n":4})"};
}

JournalFile::Rules rules(std::vector<std::string>& found) {
  return {.writer = "test",
          .header_problem =
              [](std::string_view header) {
                return header == kHeader ? std::string() : std::string("is no journal of a test");
              },
          .accept =
              [&found](std::string_view line) {
                found.emplace_back(line);
                return std::string();
              }};
}

// Writes all lines; whether the caller was told that they are safe.
bool keeps_journal(const DiskModel& disk) {
  try {
    std::vector<std::string> found;
    JournalFile journal(kPath, kHeader, rules(found), disk);
    for (const std::string& line : lines_written()) {
      journal.append(line);
    }
    journal.close();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return false;
  }
}

// The lines that are there, or nothing after a refusal.
std::optional<std::vector<std::string>> lines_left(const DiskModel& disk) {
  try {
    std::vector<std::string> found;
    const JournalFile journal(kPath, kHeader, rules(found), disk);
    return found;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return std::nullopt;
  }
}

void expect_prefix(const std::optional<std::vector<std::string>>& left, bool all) {
  const std::vector<std::string> whole = lines_written();
  if (!left) {
    EXPECT_FALSE(all) << "what was safe is refused";
    return;
  }
  ASSERT_LE(left->size(), whole.size());
  for (std::size_t i = 0; i < left->size(); ++i) {
    EXPECT_EQ((*left)[i], whole[i]);
  }
  EXPECT_TRUE(!all || left->size() == whole.size());
}

TEST(JournalFile, HoldsABeginOfItsLinesWhicheverCallFails) {
  bool failed = true;
  for (int call = 1; failed && call < kMostCalls; ++call) {
    SCOPED_TRACE(call);
    DiskModel disk;
    disk.fail_at(call, Trouble::error);
    const bool all = keeps_journal(disk);
    failed = disk.has_failed();
    disk.fail_at(0, Trouble::none);
    expect_prefix(lines_left(disk), all);
  }
  EXPECT_FALSE(failed);
}

TEST(JournalFile, HoldsABeginOfItsLinesAfterAPowerCutAtAnyCall) {
  bool failed = true;
  for (int call = 1; failed && call < kMostCalls; ++call) {
    for (const Unsynced content : kEverythingUnsynced) {
      for (const bool names_kept : {false, true}) {
        SCOPED_TRACE(testing::Message() << call << " " << int(content) << names_kept);
        DiskModel disk;
        disk.fail_at(call, Trouble::power_cut);
        const bool all = keeps_journal(disk);
        failed = disk.has_failed();
        disk.restart(content, names_kept);
        expect_prefix(lines_left(disk), all);
      }
    }
  }
  EXPECT_FALSE(failed);
}

// A machine that lost its power in the middle of a line goes on behind the last whole one.
TEST(JournalFile, GoesOnBehindALineThatWasTorn) {
  DiskModel disk;
  ASSERT_TRUE(keeps_journal(disk));
  const std::string whole = disk.content(kPath);
  for (std::size_t size = whole.size() - 1; whole[size - 1] != '\n'; --size) {
    disk.put(kPath, whole.substr(0, size));
    std::vector<std::string> found;
    {
      JournalFile journal(kPath, kHeader, rules(found), disk);
      EXPECT_EQ(found.size(), lines_written().size() - 1);
      journal.append(lines_written().back());
      journal.close();
    }
    EXPECT_EQ(disk.content(kPath), whole);
  }
}

}  // namespace
}  // namespace orrery
