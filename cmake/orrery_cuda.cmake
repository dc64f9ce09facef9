# What of the CUDA toolkit is here? Sets ORRERY_CUDA, ORRERY_NCCL, ORRERY_CUDNN and
# ORRERY_CUDNN_FRONTEND; says in one line what is left out and why.
#   orrery_cuda_component(name SOURCES a.cu b.cpp PUBLIC ... PRIVATE ...)  as orrery_component

option(ORRERY_WITH_CUDA "Build the calibration backend where the CUDA toolkit is found" ON)
set(ORRERY_CUDA_ARCHITECTURES "80-real;90-real;100-real;120-real;90-virtual" CACHE STRING
    "GPU architectures of the calibration backend")

set(ORRERY_CUDA OFF)
set(ORRERY_NCCL OFF)
set(ORRERY_CUDNN OFF)
set(ORRERY_CUDNN_FRONTEND OFF)

include(CheckLanguage)
if(ORRERY_WITH_CUDA AND NOT ORRERY_SANITIZE)
  check_language(CUDA)
endif()
if(NOT ORRERY_WITH_CUDA)
  orrery_leave_out("calibration on GPUs (ORRERY_WITH_CUDA is off)")
elseif(ORRERY_SANITIZE)
  orrery_leave_out("calibration on GPUs (not with sanitizers)")
elseif(NOT CMAKE_CUDA_COMPILER)
  orrery_leave_out("calibration on GPUs (no CUDA compiler)")
else()
  set(CMAKE_CUDA_ARCHITECTURES ${ORRERY_CUDA_ARCHITECTURES})
  if(ORRERY_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ORRERY_LAUNCHER})
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)  # not before: CMake 3.25 tests the compiler with it before it knows it
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 ends at C++17 for nvcc
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_VERSION VERSION_LESS 12.9)
    orrery_leave_out("calibration on GPUs (CUDA toolkit ${CUDAToolkit_VERSION}, 12.9 or later is needed)")
  elseif(NOT TARGET CUDA::cublasLt)
    orrery_leave_out("calibration on GPUs (cuBLASLt is missing)")
  else()
    set(ORRERY_CUDA ON)
  endif()
endif()

if(ORRERY_CUDA)
  add_library(orrery_cuda_flags INTERFACE)
  target_include_directories(orrery_cuda_flags INTERFACE ${PROJECT_SOURCE_DIR})
  set(orrery_cuda_warnings "-Xcompiler=-Wall,-Wextra,-Wshadow")
  if(ORRERY_WERROR)
    set(orrery_cuda_warnings "-Werror=all-warnings;${orrery_cuda_warnings},-Werror")
  endif()
  target_compile_options(orrery_cuda_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:${orrery_cuda_warnings}>")
  target_compile_options(orrery_cuda_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:orrery_flags,INTERFACE_COMPILE_OPTIONS>>")

  # Headers only: the libraries are opened when they are needed (kernels/device/runtime.hpp).
  foreach(library IN ITEMS NCCL CUDNN)
    string(TOLOWER ${library}.h header)
    find_path(ORRERY_${library}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS})
    mark_as_advanced(ORRERY_${library}_INCLUDE)
    if(ORRERY_${library}_INCLUDE)
      set(ORRERY_${library} ON)
    endif()
  endforeach()
  if(NOT ORRERY_NCCL)
    orrery_leave_out("calibration of collectives (NCCL is missing)")
  endif()

  # No Debian package; the Python package of that name holds the headers in include/, where
  # scripts/cudnn-frontend puts the version that is tested.
  find_package(Python3 QUIET COMPONENTS Interpreter)
  find_path(ORRERY_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
    HINTS ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include ${CUDAToolkit_INCLUDE_DIRS}
          ${Python3_SITELIB}/include ${Python3_SITEARCH}/include ${Python3_SITELIB}/../include)
  mark_as_advanced(ORRERY_CUDNN_FRONTEND_INCLUDE)
  if(ORRERY_CUDNN AND ORRERY_CUDNN_FRONTEND_INCLUDE AND TARGET CUDA::nvrtc)
    set(ORRERY_CUDNN_FRONTEND ON)
  elseif(NOT ORRERY_CUDNN)
    orrery_leave_out("cuDNN attention (no headers of cuDNN: own kernels are built)")
  else()
    orrery_leave_out("cuDNN attention (no headers of cudnn-frontend: own kernels are built. \
scripts/cudnn-frontend gets them, ORRERY_CUDNN_FRONTEND_INCLUDE names another folder)")
  endif()
endif()

function(orrery_cuda_component name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(orrery_${name} STATIC ${ARG_SOURCES})
  add_library(orrery::${name} ALIAS orrery_${name})
  target_link_libraries(orrery_${name} PUBLIC CUDA::cudart_static ${ARG_PUBLIC}
    PRIVATE orrery_cuda_flags ${ARG_PRIVATE})
  target_include_directories(orrery_${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()
