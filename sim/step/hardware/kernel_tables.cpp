#include "sim/step/hardware/kernel_tables.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::hardware {

std::size_t place_axes(kernels::Operation operation) {
  return kernels::is_memory_bound(operation) ? 1 : kernels::row_of(operation).axes.size();
}

double place_of(double extent) { return extent > 0.0 ? std::log(extent) : -1.0; }

KernelPlace place_of(const kernels::KernelCase& call, Bytes moved) {
  KernelPlace place = {};
  if (kernels::is_memory_bound(call.operation)) {
    place[0] = place_of(in_bytes(moved));
    return place;
  }
  for (std::size_t i = 0; i < place_axes(call.operation); ++i) {
    place[i] = place_of(static_cast<double>(call.extents[i]));
  }
  return place;
}

void finish_series(KernelSeries& series) {
  ORRERY_CHECK(!series.points.empty(), "a series of measured kernels needs a point");
  series.low = series.points.front().place;
  series.high = series.low;
  for (const KernelPoint& point : series.points) {
    for (std::size_t i = 0; i < kernels::kMaxAxes; ++i) {
      series.low[i] = std::min(series.low[i], point.place[i]);
      series.high[i] = std::max(series.high[i], point.place[i]);
    }
  }
}

const KernelSeries* KernelTables::find(kernels::Operation operation, kernels::Role role,
                                       kernels::Precision precision) const {
  for (const KernelSeries& one : series) {
    if (one.operation == operation && one.role == role && one.precision == precision) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace orrery::hardware
