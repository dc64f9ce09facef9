#pragma once

// Maps precisions to device elements, and elements to formats of the CPU references. They meet only
// here: device code knows elements, references know formats.

#include "kernels/device/element.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

// Of bf16, fp16 and fp32 operands.
[[nodiscard]] Element element_of(Precision precision);
[[nodiscard]] reference::NumberFormat format_of(Element element);

}  // namespace orrery::kernels
