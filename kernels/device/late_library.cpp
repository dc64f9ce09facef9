#include "kernels/device/late_library.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace orrery::kernels {

namespace {

struct Row {
  const char* file;
  std::string_view without;
};

// In the order of LateLibrary.
constexpr std::array<Row, 3> kRows = {
    {{"libnccl.so.2", "no collectives"},
     {"libcudnn.so.9", "attention runs on kernels of our own, none in 8 bits"},
     {"libnvrtc.so.13", "nothing is compiled at run time"}}};

const Row& row_of(LateLibrary which) {
  return kRows[static_cast<std::size_t>(which)];
}

}  // namespace

const SharedLibrary& late_library(LateLibrary which) {
  using At = SharedLibrary::At;
  static const SharedLibrary nccl(row_of(LateLibrary::nccl).file, At::end_of_process);
  static const SharedLibrary cudnn(row_of(LateLibrary::cudnn).file, At::end_of_process);
  static const SharedLibrary nvrtc(row_of(LateLibrary::nvrtc).file, At::end_of_process);
  switch (which) {
    case LateLibrary::nccl:
      return nccl;
    case LateLibrary::cudnn:
      return cudnn;
    case LateLibrary::nvrtc:
      break;
  }
  return nvrtc;
}

std::string absence_of(LateLibrary which) {
  const std::string& absence = late_library(which).absence();
  return absence.empty() ? absence : fmt::format("{}: {}", absence, row_of(which).without);
}

void throw_function_missing(LateLibrary which, const char* name) {
  const std::string absence = absence_of(which);
  throw Unsupported(absence.empty()
                        ? fmt::format("{} here is too old: it has no {}", row_of(which).file, name)
                        : absence,
                    "library missing");
}

}  // namespace orrery::kernels
