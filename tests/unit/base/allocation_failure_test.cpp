// Files when memory runs out: every allocation of a write in turn.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "sim/base/files/file.hpp"
#include "tests/support.hpp"

namespace {

thread_local long allocations_left = -1;  // -1: as many as there is memory for

}  // namespace

// The replacements below serve the whole test program; without a limit they are malloc and free.
// Not inlined: g++ 12 would see half of a pair and warn of the other.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations_left == 0) {
    throw std::bad_alloc();
  }
  allocations_left -= allocations_left > 0 ? 1 : 0;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFile, IsWholeWhicheverAllocationFails) {
  const TempFolder folder;
  const std::string path = (folder / "result.json").string();
  constexpr std::size_t kLimit = 1000;
  constexpr long kMostAllocations = 1000;
  bool failed = true;
  for (long allocations = 0; failed && allocations < kMostAllocations; ++allocations) {
    write_file_atomically(path, "old");
    allocations_left = allocations;
    try {
      write_file_atomically(path, "new");
      failed = false;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    const std::string left = read_file(path, kLimit);
    EXPECT_TRUE(left == "new" || (failed && left == "old")) << allocations << ": " << left;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  }
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace orrery
