#pragma once

// Which element stores a precision, and which format of the CPU references is an element? The two
// only meet here: device code knows elements, references know formats.

#include "kernels/device/element.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

// Of bf16, fp16 and fp32 operands.
[[nodiscard]] Element element_of(Precision precision);
[[nodiscard]] reference::NumberFormat format_of(Element element);

}  // namespace orrery::kernels
