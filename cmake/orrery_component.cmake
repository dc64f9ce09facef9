# One static library per folder of sim/: orrery_component(name SOURCES ... PUBLIC ... PRIVATE ...)
# makes target orrery_<name> with the alias orrery::<name>. PUBLIC libraries appear in headers,
# PRIVATE ones only in sources.

add_library(orrery_flags INTERFACE)
target_include_directories(orrery_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(orrery_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion $<$<BOOL:${ORRERY_WERROR}>:-Werror>
  -ffp-contract=off)
# A local name may be that of a constant in another source of the same batch; the preset dev, which
# compiles sources one by one, tells when it is one of its own.
target_compile_options(orrery_flags INTERFACE
  "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>")
# g++ 12 misreads inlined library templates at -O2 and above: -Wmaybe-uninitialized in third-party
# headers, -Wrestrict in "literal" + std::string (GCC bug 105651).
target_compile_options(orrery_flags INTERFACE
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>")

# orrery_precompile(target PRIVATE headers... | REUSE_FROM other): target_precompile_headers for g++ 12,
# which does not tell templates of a precompiled header apart as those of the library, and warns of
# the same misreadings as above under three more names.
function(orrery_precompile target)
  target_precompile_headers(${target} ${ARGN})
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

foreach(sanitizer IN LISTS ORRERY_SANITIZE)
  target_compile_options(orrery_flags INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(orrery_flags INTERFACE -fsanitize=${sanitizer})
endforeach()

if(ORRERY_FUZZ)
  target_compile_options(orrery_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# orrery_batch(target): a dozen sources at a time, where the build is one of batches.
function(orrery_batch target)
  if(ORRERY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# orrery_for_shared(target): fit for the Python extension as well, a shared library. Hidden symbols keep
# the code that of a program: calls without a detour, functions inlined.
function(orrery_for_shared target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

set(ORRERY_LIBRARIES ${PROJECT_SOURCE_DIR}/sim)
set(ORRERY_NOT_EXPORTED cli validate)

function(orrery_component name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(orrery_${name} STATIC ${ARG_SOURCES})
  add_library(orrery::${name} ALIAS orrery_${name})
  cmake_path(IS_PREFIX ORRERY_LIBRARIES ${CMAKE_CURRENT_SOURCE_DIR} of_sim)
  orrery_batch(orrery_${name})
  target_link_libraries(orrery_${name} PUBLIC ${ARG_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:orrery_flags> ${ARG_PRIVATE})
  if(of_sim)
    orrery_for_shared(orrery_${name})
  endif()
  target_include_directories(orrery_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:include/orrery>)
  # For other projects: the simulator without its command line.
  if(of_sim AND NOT name IN_LIST ORRERY_NOT_EXPORTED)
    orrery_install_library(${name})
  endif()
endfunction()
