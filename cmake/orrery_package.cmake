# What `cpack` makes: Debian packages orrery, orrery-gui, orrery-calibrate, orrery-mpi and
# liborrery-dev, and one archive of everything. Dependencies are those of the programs' libraries, as
# dpkg-shlibdeps finds them; a library that no Debian package owns (CUDA from elsewhere) is none.

set(ORRERY_MAINTAINER "Orrery maintainers <maintainers@orrery.invalid>" CACHE STRING
    "Who answers for the packages: Name <address>")

set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_VENDOR Orrery)
set(CPACK_PACKAGE_CONTACT "${ORRERY_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of large-scale training runs")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/orrery_cpack.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(ORRERY_CUDA)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
endif()

# One package: its name, what it depends on beside its libraries, and what apt shows of it.
macro(orrery_package component package depends description)
  string(TOUPPER ${component} upper)
  list(APPEND ORRERY_PACKAGES ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  orrery_package_papers(${component} ${package})
endmacro()

# What Debian wants beside the files of each package: who may copy it, and what has changed.
function(orrery_package_papers component package)
  set(folder ${ORRERY_SHARED}/${package})
  set(ORRERY_MORE_COPYRIGHT)
  if(component STREQUAL gui)
    file(READ ${PROJECT_SOURCE_DIR}/cmake/copyright_gui.txt ORRERY_MORE_COPYRIGHT)
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/copyright.in ${folder}/copyright @ONLY)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(CONFIGURE OUTPUT ${folder}/changelog.Debian CONTENT "@package@ (@PROJECT_VERSION@-1) stable; urgency=medium

  * Release @PROJECT_VERSION@; docs/CHANGELOG.md of the package orrery tells what is new.

 -- @ORRERY_MAINTAINER@  @date@
" @ONLY)
  # Only in packages: a plain `cmake --install` leaves these out.
  install(FILES ${folder}/copyright DESTINATION share/doc/${package} COMPONENT ${component}
    EXCLUDE_FROM_ALL)
  if(ORRERY_GZIP)
    execute_process(COMMAND ${ORRERY_GZIP} -9nf ${folder}/changelog.Debian)
    install(FILES ${folder}/changelog.Debian.gz DESTINATION share/doc/${package}
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/lintian/${package})
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/lintian/${package}
      DESTINATION share/lintian/overrides COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endfunction()

set(same "orrery (= ${PROJECT_VERSION}-1)")
orrery_package(core orrery ""
"Given a model, a parallel layout, a cluster and the way it fails, Orrery
answers: does it fit in memory, how long is a step and why, when does the
run finish, what does it cost, and what is lost to failures.

This package holds the command line, scenarios to start from, and profiles
of GPUs and training stacks. No GPU is needed.")
if(TARGET orrery-gui)
  orrery_package(gui orrery-gui "${same}"
"The desktop program: edits scenarios of Orrery and shows their answer in
timelines, charts, comparisons, and reports of one page. The program as a
whole is under the GPL, version 3 or later, because of QCustomPlot.")
endif()
if(TARGET orrery-calibrate)
  orrery_package(calibrate orrery-calibrate "${same}"
"Measures the kernels of a training step on a GPU, and fits the coefficients
of training stacks to measured steps. Measuring needs an NVIDIA driver and
the libraries of the CUDA toolkit, which are not part of Debian; fitting and
listing do not.")
endif()
if(TARGET orrery-mpi)
  orrery_package(mpi orrery-mpi "${same}, openmpi-bin"
"Lets the processes of mpirun share the points of a sweep, and the plans that a
search simulates.")
endif()
set(libraries libboost-dev libfmt-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev)
if(NOT ORRERY_STD_THREAD)
  list(APPEND libraries libtbb-dev)
endif()
list(JOIN libraries ", " libraries)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
orrery_package(dev liborrery-dev "${libraries}"
"Static libraries and headers for programs that evaluate scenarios: in CMake,
find_package(Orrery) gives the target orrery::evaluate.")

set(CPACK_COMPONENTS_ALL ${ORRERY_PACKAGES})
include(CPack)
