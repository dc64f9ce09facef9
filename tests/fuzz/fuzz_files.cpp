// libFuzzer targets of the files beside scenarios: one program, the target by name.
//   build/fuzz/bin/fuzz_files_kineto -max_len=8192 NEW_CORPUS tests/fuzz/files_corpus/kineto
// ORRERY_EXERCISE is the name of the target, as exercise_files.hpp lists it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/exercise_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  orrery::fuzz::ORRERY_EXERCISE(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
