// libFuzzer target of the YAML reader:
//   build/fuzz/bin/fuzz_yaml -max_len=4096 -dict=tests/fuzz/yaml.dict NEW_CORPUS tests/fuzz/corpus

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  orrery::yaml::exercise(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
