// A library that is loaded before the program (LD_PRELOAD) and lets one of its calls fail:
// ORRERY_FAULT=write:3 the third write with ENOSPC, read:3 the third read with EIO, new:3 the third
// allocation with bad_alloc. Calls count from the begin of main; ORRERY_FAULT_COUNT names a file
// that takes how many there were.

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> left{-1};    // calls until the one that fails; -1: none does
std::atomic<long> seen{0};     // of the kind that is asked for
std::atomic<char> kind{'\0'};  // w, r, n; nothing before main

bool fails(char of) {
  if (kind.load(std::memory_order_relaxed) != of) {
    return false;
  }
  seen.fetch_add(1, std::memory_order_relaxed);
  return left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1;
}

// Disks fail; the events that threads wake each other with do not.
bool is_file(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

template <typename F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  const char* fault = std::getenv("ORRERY_FAULT");
  const char* colon = fault == nullptr ? nullptr : std::strchr(fault, ':');
  if (colon != nullptr) {
    left = std::atol(colon + 1);
    kind = fault[0];
  }
  const int code = real_main(argc, argv, environment);
  kind = '\0';
  if (const char* file = std::getenv("ORRERY_FAULT_COUNT")) {
    if (std::FILE* out = std::fopen(file, "w")) {
      std::fprintf(out, "%ld", seen.load());
      std::fclose(out);
    }
  }
  return code;
}

void* allocated(std::size_t bytes) {
  void* memory = fails('n') ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] ssize_t write(int file, const void* from, std::size_t bytes) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (is_file(file) && fails('w')) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, from, bytes);
}

[[gnu::visibility("default")]] ssize_t read(int file, void* to, std::size_t bytes) {
  static const auto real = next<ssize_t (*)(int, void*, std::size_t)>("read");
  if (is_file(file) && fails('r')) {
    errno = EIO;
    return -1;
  }
  return real(file, to, bytes);
}

[[gnu::visibility("default")]] int __libc_start_main(Main main_function, int argc, char** argv,
                                                     void (*init)(), void (*fini)(),
                                                     void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main_function;
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini,
                                          stack_end);
}
}

[[gnu::visibility("default")]] void* operator new(std::size_t bytes) { return allocated(bytes); }

[[gnu::visibility("default")]] void* operator new[](std::size_t bytes) { return allocated(bytes); }

[[gnu::visibility("default")]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::visibility("default")]] void operator delete[](void* memory) noexcept { std::free(memory); }

[[gnu::visibility("default")]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

[[gnu::visibility("default")]] void operator delete[](void* memory,
                                                      std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
