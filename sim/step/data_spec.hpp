#pragma once

// Input of the run: what is read from storage, and how full its sequences are.
//
// symbol            | meaning                                           | unit     | origin
// ------------------|---------------------------------------------------|----------|---------
// bytes_per_token   | read from storage for one token of the batch      | byte     | scenario
// read_bandwidth    | what one node reads from storage                  | byte/s   | scenario
// tokens_per_second | what one node's loaders decode and shuffle        | tokens/s | scenario
// prefetch          | the next batch is prepared while the step runs    | -        | scenario
// packing           | how documents fill the sequences of the batch     | -        | scenario
// document_length   | mean length of a document                         | tokens   | scenario
// document_sigma    | spread of its logarithm; 0: all alike             | 1        | scenario

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace orrery::step {

enum class Packing {
  packed,  // documents follow one another and attend across their borders
  masked,  // the same, but attention stays inside a document
  padded   // one document a sequence, cut or filled with padding
};

struct DataSpec {
  Bytes bytes_per_token = bytes(4.0);
  std::optional<BytesPerSecond> read_bandwidth = {};
  std::optional<double> tokens_per_second = {};
  bool prefetch = true;
  Packing packing = Packing::packed;
  std::optional<std::int64_t> document_length = {};
  double document_sigma = 0.0;
};

}  // namespace orrery::step
