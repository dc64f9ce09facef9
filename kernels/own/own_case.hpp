#pragma once

// Turns an own kernel into a case that can be measured and checked: the derived class describes the
// operands of one set, launches on a set and compares; this one allocates, fills, marks and reads.
//
// Outputs are filled with a pattern that no kernel writes before a checked call.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/comparison.hpp"
#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

// A matrix in device memory; what it holds is padded, so that its last pack is whole.
struct DeviceMatrix {
  DeviceMatrix(Element of, std::int64_t height, std::int64_t width);

  DeviceBuffer buffer;
  Element element;
  std::int64_t rows;
  std::int64_t columns;

  [[nodiscard]] std::int64_t count() const { return rows * columns; }
};

// Up to `most` of 0 .. count - 1: the first, the last, and some between.
[[nodiscard]] std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t most);

[[noreturn]] void throw_shape(const KernelCase& kernel, std::string_view wanted);

class OwnCase : public Runnable {
 public:
  // Allocates and fills the sets, and loads the kernels by a first launch, which must not happen
  // while a graph is captured.
  void allocate(const PrepareOptions& options);

  void launch(Stream stream, int copy) final {
    enqueue(sets_[static_cast<std::size_t>(copy)], stream);
  }

  [[nodiscard]] int copies() const final { return static_cast<int>(sets_.size()); }

  [[nodiscard]] Verification verify(Stream stream) final;

  [[nodiscard]] std::string_view implementation() const override { return "own"; }

 protected:
  // Number of an operand.
  using Operand = int;
  static constexpr Operand kNone = -1;

  // What one call reads and writes.
  struct Set {
    std::vector<DeviceMatrix> operands;
    std::vector<std::int64_t> indices;  // of the operand with indices
    PinnedBuffer host;                  // of transfers
    std::uint64_t seed = 0;

    [[nodiscard]] const DeviceMatrix& operator[](Operand operand) const {
      return operands[static_cast<std::size_t>(operand)];
    }

    // Null for kNone.
    template <typename T>
    [[nodiscard]] T* as(Operand operand) const {
      return operand == kNone ? nullptr : (*this)[operand].buffer.template as<T>();
    }
  };

  // A checked call: its operands as numbers, and what is compared with them.
  class Check {
   public:
    Check(const OwnCase& owner, const Set& checked, Stream on)
        : set(checked), stream(on), owner_(owner) {}

    [[nodiscard]] std::vector<double> row(Operand operand, std::int64_t index) const;
    // Columns first .. first + count of every row, [rows, count]; only they are moved, so that
    // large matrices are checked by columns too.
    [[nodiscard]] std::vector<double> columns(Operand operand, std::int64_t first,
                                              std::int64_t count) const;
    // Neighbouring elements.
    [[nodiscard]] std::vector<double> run(Operand operand, std::int64_t first,
                                          std::int64_t count) const;
    // One call, of which every output must have written all its elements.
    void call();
    void mark(Operand operand) const;                      // as not written
    void written(Operand operand, std::string_view name);  // fails where a mark is left
    void expect_row(Operand operand, std::int64_t index, std::span<const double> expected,
                    const reference::Tolerance& tolerance);
    void expect(Operand operand, std::int64_t row, std::int64_t column, double found,
                double expected, const reference::Tolerance& tolerance);

    const Set& set;
    Stream stream;
    Comparison comparison = {};

   private:
    const OwnCase& owner_;
  };

  // Operands of every set, described by the constructor. Normal numbers:
  Operand random(Element element, std::int64_t rows, std::int64_t columns, float deviation = 1.0F);
  // Memory that a call, or fill(), writes first:
  Operand room(Element element, std::int64_t rows, std::int64_t columns);
  // The same, all of which a call must write; the name is for messages:
  Operand output(std::string_view name, Element element, std::int64_t rows, std::int64_t columns);
  void make_output(std::string_view name, Operand operand);  // one that is described already

  // So many indices of type T:
  template <typename T>
  Operand indices(std::int64_t count) {
    return room(Element::fp32, count, sizeof(T) / sizeof(float));
  }

  template <typename T>
  static void upload_indices(Set& set, Operand operand, Stream stream) {
    const std::vector<T> narrow(set.indices.begin(), set.indices.end());
    upload<T>(set, operand, narrow, stream);
  }

  // Waits for the stream.
  template <typename T>
  static void upload(const Set& set, Operand operand, std::span<const T> values, Stream stream) {
    copy_to_device(set[operand].buffer.data(), values.data(),
                   static_cast<std::int64_t>(values.size_bytes()), stream);
  }

  virtual void enqueue(const Set& set, Stream stream) const = 0;

  // What is neither normal numbers nor written by a call.
  virtual void fill(Set& /*set*/, Stream /*stream*/) const {}

  // Calls once and compares what it wrote.
  virtual void compare(Check& check) const = 0;

 private:
  struct Description {
    Element element;
    std::int64_t rows;
    std::int64_t columns;
    std::string_view name = {};           // of an output
    std::optional<float> deviation = {};  // of normal numbers
  };

  Operand describe(const Description& description);

  std::vector<Description> described_;
  std::vector<Set> sets_;
};

template <typename Case>
[[nodiscard]] std::unique_ptr<Runnable> make_own(const KernelCase& kernel,
                                                 const PrepareOptions& options) {
  auto made = std::make_unique<Case>(kernel);
  made->allocate(options);
  return made;
}

// Case<__nv_bfloat16> or Case<__half>.
template <template <typename> class Case>
[[nodiscard]] std::unique_ptr<Runnable> make_own_16(const KernelCase& kernel,
                                                    const PrepareOptions& options) {
  return kernel.precision == Precision::fp16 ? make_own<Case<__half>>(kernel, options)
                                             : make_own<Case<__nv_bfloat16>>(kernel, options);
}

// Storage format of T.
template <typename T>
inline constexpr Element kElementOf = Element::fp32;
template <>
inline constexpr Element kElementOf<__nv_bfloat16> = Element::bf16;
template <>
inline constexpr Element kElementOf<__half> = Element::fp16;

// Indices of tokens, experts or rows, made on the host: they are few beside the data they point at.
//
//   index i = integer(seed, i, bound)     (device/random.hpp)
[[nodiscard]] std::vector<std::int64_t> random_indices(std::int64_t count, std::int64_t bound,
                                                       std::uint64_t seed);

}  // namespace orrery::kernels
