#pragma once

// Runs and checks a case on a GPU, the one interface between kernels and measurement: a Runnable
// owns the device memory of a case and enqueues one call of it.
//
// Rules that measurement relies on
//   launch(stream, copy)  enqueues one call on operand set `copy`, 0 <= copy < copies(). It only
//                         enqueues: no allocation, no synchronisation, no host work whose result
//                         depends on the device, so that it can be captured into a CUDA graph.
//   copies()              operand sets with equal shapes and different data. Used in turn they
//                         exceed PrepareOptions::rotated, so that no call finds its operands in L2.
//   operands              seeded N(0, 1) (scaled where a format needs it), never zeros: the power a
//                         GPU draws, and so its clock, depends on the data.
//   verify(stream)        runs the case once on fresh data and compares with the double-precision
//                         reference of kernels/reference on the whole result or on sampled rows; it
//                         also checks that every element of the output was written.
//
// Errors: prepare() throws Unsupported when the library or the GPU does not offer the case (that is
// a result, kept in the profile), orrery::Error when the device fails.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/step/kernels/kernel_case.hpp"

struct CUstream_st;  // cudaStream_t, so that plain C++ can include this header

namespace orrery::kernels {

using Stream = CUstream_st*;

class Unsupported : public std::runtime_error {
 public:
  // `status`: number and name that the library returned.
  Unsupported(std::string message, std::string status)
      : std::runtime_error(std::move(message)), status_(std::move(status)) {}

  [[nodiscard]] const std::string& status() const { return status_; }

 private:
  std::string status_;
};

struct PrepareOptions {
  std::int64_t rotated = 0;     // bytes that the operand sets together exceed; 0: one set
  std::uint64_t seed = 1;       // of the operands
  bool search = false;          // time the library's candidates, not only its first choice
  std::int64_t most_bytes = 0;  // device memory that may be taken; 0: 80 % of what is free
  std::function<void()> before_search = {};  // ends what else runs on the GPU
};

// What the library chose, for the samples: "algorithm" = 67, "tile" = "256x128", "waves" = 1.94.
struct Detail {
  std::string name;
  std::string value;
};

struct Verification {
  bool passed = false;
  double worst_error = 0.0;   // |result - reference| / tolerance of the format; passed: <= 1
  double scale = 0.0;         // root mean square of the reference
  std::int64_t compared = 0;  // elements
  std::string where;          // the worst element, or what is wrong
};

class Runnable {
 public:
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;
  virtual ~Runnable() = default;

  virtual void launch(Stream stream, int copy) = 0;
  [[nodiscard]] virtual int copies() const = 0;
  [[nodiscard]] virtual Verification verify(Stream stream) = 0;
  [[nodiscard]] virtual std::string_view implementation() const = 0;  // "cublaslt", "own", ...

  [[nodiscard]] virtual std::vector<Detail> details() const { return {}; }
};

// Allocates and fills the operands of a case.
[[nodiscard]] std::unique_ptr<Runnable> prepare(const KernelCase& kernel,
                                                const PrepareOptions& options);

}  // namespace orrery::kernels
