// libFuzzer target of the scenario reader; shipped and wrong scenarios are its seeds:
//   build/fuzz/bin/fuzz_scenario -max_len=4096 -dict=tests/fuzz/scenario.dict NEW_CORPUS
//     scenarios tests/negative/scenario tests/fuzz/scenario_corpus

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/exercise_scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  orrery::scenario::exercise(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
