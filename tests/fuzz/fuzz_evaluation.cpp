// libFuzzer target of the evaluation; shipped scenarios are its seeds:
//   build/fuzz/bin/fuzz_evaluation -max_len=4096 -dict=tests/fuzz/scenario.dict NEW_CORPUS
//     scenarios tests/fuzz/scenario_corpus

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/exercise_evaluation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool evaluated = orrery::fuzz::exercise_evaluation(
      std::string_view(reinterpret_cast<const char*>(data), size));
  return evaluated ? 0 : -1;  // -1: of no use as a seed
}
