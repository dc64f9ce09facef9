#include "kernels/element_formats.hpp"

#include "sim/base/check.hpp"

namespace orrery::kernels {

Element element_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return Element::bf16;
    case Precision::fp16:
      return Element::fp16;
    default:
      ORRERY_CHECK(precision == Precision::fp32, "{} is no wide type", to_string(precision));
      return Element::fp32;
  }
}

reference::NumberFormat format_of(Element element) {
  switch (element) {
    case Element::fp32:
      return reference::NumberFormat::fp32;
    case Element::bf16:
      return reference::NumberFormat::bf16;
    case Element::fp16:
      return reference::NumberFormat::fp16;
    case Element::e4m3:
      return reference::NumberFormat::e4m3;
    case Element::e5m2:
      return reference::NumberFormat::e5m2;
    case Element::e8m0:
      return reference::NumberFormat::e8m0;
    case Element::e2m1:
      return reference::NumberFormat::e2m1;
  }
  return reference::NumberFormat::fp32;  // not reached: every enumerator returns above
}

}  // namespace orrery::kernels
