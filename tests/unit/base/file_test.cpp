#include "sim/base/files/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "sim/base/error.hpp"
#include "tests/support.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLimit = std::size_t{1} << 20U;

// A fresh directory per test, removed afterwards.
class FileTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }

  void put(const std::string& name, const std::string& content) const {
    folder_.write(name, content);
  }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  TempFolder folder_;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "no error";
}

TEST_F(FileTest, WritesAndReadsBackBytes) {
  const std::string content("a\0b\r\n\xff", 6);
  write_file_atomically(path("x"), content);
  EXPECT_EQ(read_file(path("x"), kLimit), content);
  write_file_atomically(path("x"), "");
  EXPECT_EQ(read_file(path("x"), kLimit), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, ReadsUpToTheLimitAndNotBeyond) {
  put("x", std::string(100, 'a'));
  EXPECT_EQ(read_file(path("x"), 100).size(), 100U);
  EXPECT_EQ(message_of([&] { (void)read_file(path("x"), 99); }),
            path("x").string() + ": larger than the limit of 99 bytes");
  EXPECT_EQ(message_of([] { (void)read_file("/dev/zero", kLimit); }),
            "/dev/zero: larger than the limit of 1048576 bytes");
}

TEST_F(FileTest, NamesWhatCannotBeRead) {
  EXPECT_EQ(message_of([&] { (void)read_file(path("none"), kLimit); }),
            path("none").string() + ": no such file");
  fs::create_directory(path("folder"));
  EXPECT_EQ(message_of([&] { (void)read_file(path("folder"), kLimit); }),
            path("folder").string() + ": is a directory, a file is needed");
}

TEST_F(FileTest, ADirectoryIsNotOverwritten) {
  fs::create_directory(path("folder"));
  EXPECT_EQ(message_of([&] { write_file_atomically(path("folder"), "x"); }),
            path("folder").string() + ": is a directory, cannot be written as a file");
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, AMissingDirectoryIsNamed) {
  const std::string name = path("none/x").string();
  EXPECT_EQ(message_of([&] { write_file_atomically(name, "x"); }),
            name + ": cannot create a temporary file beside it: No such file or directory");
}

TEST_F(FileTest, ADirectoryWithoutWritePermissionKeepsTheOldFile) {
  put("x", "old");
  const fs::path folder = path("x").parent_path();
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  const bool root = ::geteuid() == 0;  // root writes everywhere
  const std::string message = message_of([&] { write_file_atomically(path("x"), "new"); });
  fs::permissions(folder, fs::perms::owner_all);
  if (root) {
    EXPECT_EQ(message, "no error");
  } else {
    EXPECT_EQ(message,
              path("x").string() + ": cannot create a temporary file beside it: Permission denied");
    EXPECT_EQ(read_file(path("x"), kLimit), "old");
  }
  EXPECT_EQ(entries(), 1U);
}

// The disk "fills up" in the middle of the new content: the process may not write beyond 1 kB.
TEST_F(FileTest, AFailingWriteKeepsTheOldFileAndLeavesNoOther) {
  put("x", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      message_of([&] { write_file_atomically(path("x"), std::string(100000, 'n')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path("x").string() + ": cannot write: File too large");
  EXPECT_EQ(read_file(path("x"), kLimit), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, KeepsTheModeOfTheOldFile) {
  put("x", "old");
  ASSERT_EQ(::chmod(path("x").c_str(), 0640), 0);
  write_file_atomically(path("x"), "new");
  EXPECT_EQ(fs::status(path("x")).permissions(), fs::perms{0640});
}

TEST_F(FileTest, ANewFileFollowsTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(path("x"), "new");
  ::umask(before);
  EXPECT_EQ(fs::status(path("x")).permissions(), fs::perms{0640});
}

TEST_F(FileTest, ASymbolicLinkStaysAndItsTargetIsReplaced) {
  put("target", "old");
  fs::create_symlink("target", path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target"), kLimit), "new");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(FileTest, ADanglingSymbolicLinkStaysAndItsTargetIsMade) {
  fs::create_symlink("next", path("link"));
  fs::create_symlink("target", path("next"));
  write_file_atomically(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("next")));
  EXPECT_EQ(read_file(path("target"), kLimit), "new");
  EXPECT_EQ(entries(), 3U);
}

TEST_F(FileTest, ALinkThatLeadsNowhereIsRefused) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_NE(message_of([&] { write_file_atomically(path("a"), "new"); }), "no error");
  fs::create_symlink("none/target", path("far"));
  EXPECT_EQ(message_of([&] { write_file_atomically(path("far"), "new"); }),
            path("none/target").string() +
                ": cannot create a temporary file beside it: No such file or directory");
  EXPECT_EQ(entries(), 3U);
}

TEST_F(FileTest, SaysBeforeTheWorkThatNothingCanBeWritten) {
  put("x", "old");
  fs::create_directory(path("folder"));
  EXPECT_EQ(message_of([&] { check_writable(path("x")); }), "no error");
  EXPECT_EQ(message_of([&] { check_writable(path("new")); }), "no error");
  EXPECT_EQ(message_of([] { check_writable("/dev/null"); }), "no error");
  EXPECT_EQ(message_of([&] { check_writable(path("none/x")); }),
            message_of([&] { write_file_atomically(path("none/x"), "x"); }));
  EXPECT_EQ(message_of([&] { check_writable(path("folder")); }),
            message_of([&] { write_file_atomically(path("folder"), "x"); }));
  EXPECT_EQ(read_file(path("x"), kLimit), "old");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(FileTest, KnowsOneFileByItsManyNames) {
  put("x", "old");
  put("y", "old");
  fs::create_symlink("x", path("link"));
  fs::create_hard_link(path("x"), path("hard"));
  EXPECT_TRUE(is_same_file(path("x"), path("./../") / path("x").parent_path().filename() / "x"));
  EXPECT_TRUE(is_same_file(path("x"), path("link")));
  EXPECT_TRUE(is_same_file(path("hard"), path("link")));
  EXPECT_FALSE(is_same_file(path("x"), path("y")));
  EXPECT_FALSE(is_same_file(path("x"), path("none")));
}

TEST_F(FileTest, APipeIsWrittenNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string received;
  std::jthread reader([&] { received = read_file(path("pipe"), kLimit); });
  write_file_atomically(path("pipe"), "through the pipe");
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(entries(), 1U);
}

TEST(Sha256, GivesTheAnswersOfFips180) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsRightAroundTheEndsOfABlock) {
  // sha256sum of n letters a
  EXPECT_EQ(sha256_hex(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_hex(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256_hex(std::string(63, 'a')),
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(sha256_hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha256_hex(std::string(119, 'a')),
            "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
  EXPECT_EQ(sha256_hex(std::string(120, 'a')),
            "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c");
}

}  // namespace
}  // namespace orrery
