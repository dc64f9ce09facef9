# What `cmake --install` copies, in five components:
#   core       orrery, orrery-import, scenarios, profiles, documents, manual, completion
#   gui        orrery-gui with its entry in the menu of the desktop
#   calibrate  orrery-calibrate, orrery-fit
#   mpi        orrery-mpi
#   dev        headers and libraries for find_package(Orrery)
# No path of the prefix is compiled in: a program finds its data beside itself, in ../share/orrery.
#
#   orrery_install_program(target component)
#   orrery_install_library(name)              target orrery_<name>, in other projects orrery::<name>
#   orrery_install_shared()                   everything that is no program, at the end

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ORRERY_PACKAGE_DIR lib/cmake/Orrery)
set(ORRERY_SHARED ${PROJECT_BINARY_DIR}/installed)  # what is made for the installation

function(orrery_install_program target component)
  install(TARGETS ${target} RUNTIME DESTINATION bin COMPONENT ${component})
  set_property(GLOBAL APPEND PROPERTY ORRERY_PROGRAMS ${target})
endfunction()

function(orrery_install_library name)
  set_target_properties(orrery_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS orrery_${name} EXPORT OrreryTargets
    ARCHIVE DESTINATION lib/orrery COMPONENT dev)
endfunction()

# Manual and completion say what the programs of this build say of themselves.
function(orrery_make_manual)
  get_property(programs GLOBAL PROPERTY ORRERY_PROGRAMS)
  find_program(ORRERY_GZIP gzip)
  mark_as_advanced(ORRERY_GZIP)
  set(compress)
  if(ORRERY_GZIP)
    set(compress COMMAND ${ORRERY_GZIP} -9nr ${ORRERY_SHARED}/man1)  # -n: no time, the same bytes
  endif()
  # Programs that are no commands of their own: the page of the command that becomes them.
  file(CONFIGURE OUTPUT ${ORRERY_SHARED}/orrery-mpi.1 CONTENT ".so man1/orrery-sweep.1\n")
  file(CONFIGURE OUTPUT ${ORRERY_SHARED}/orrery-calibrate-cuda.1
    CONTENT ".so man1/orrery-calibrate.1\n")
  add_custom_command(
    OUTPUT ${ORRERY_SHARED}/manual.stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${ORRERY_SHARED}/man1
    COMMAND orrery man --all ${ORRERY_SHARED}/man1
    COMMAND ${CMAKE_COMMAND} -E copy ${ORRERY_SHARED}/orrery-mpi.1
      ${ORRERY_SHARED}/orrery-calibrate-cuda.1 ${ORRERY_SHARED}/man1
    ${compress}
    COMMAND orrery completion bash -o ${ORRERY_SHARED}/orrery.bash
    COMMAND orrery completion zsh -o ${ORRERY_SHARED}/_orrery
    COMMAND orrery completion fish -o ${ORRERY_SHARED}/orrery.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${ORRERY_SHARED}/manual.stamp
    DEPENDS ${programs}
    COMMENT "Manual and completion from the table of commands"
    VERBATIM)
  add_custom_target(orrery_manual ALL DEPENDS ${ORRERY_SHARED}/manual.stamp)
endfunction()

function(orrery_install_manual)
  set(ending)
  if(ORRERY_GZIP)
    set(ending .gz)
  endif()
  set(of_gui orrery-gui orrery-report)
  set(of_calibrate orrery-calibrate orrery-fit)
  set(of_others orrery-calibrate-cuda orrery-mpi)
  set(patterns)
  foreach(page IN LISTS of_gui of_calibrate of_others)
    list(APPEND patterns PATTERN ${page}.1* EXCLUDE)
  endforeach()
  install(DIRECTORY ${ORRERY_SHARED}/man1 DESTINATION share/man COMPONENT core ${patterns})
  foreach(component IN ITEMS gui calibrate)
    if(NOT TARGET orrery-${component})
      continue()
    endif()
    set(patterns)
    foreach(page IN LISTS of_${component})
      list(APPEND patterns PATTERN ${page}.1*)
    endforeach()
    install(DIRECTORY ${ORRERY_SHARED}/man1 DESTINATION share/man COMPONENT ${component}
      FILES_MATCHING ${patterns})
  endforeach()
  if(TARGET orrery-mpi)
    install(FILES ${ORRERY_SHARED}/man1/orrery-mpi.1${ending} DESTINATION share/man/man1
      COMPONENT mpi)
  endif()
  if(TARGET orrery-calibrate-cuda)
    install(FILES ${ORRERY_SHARED}/man1/orrery-calibrate-cuda.1${ending}
      DESTINATION share/man/man1 COMPONENT calibrate)
  endif()
  install(FILES ${ORRERY_SHARED}/orrery.bash DESTINATION share/bash-completion/completions
    RENAME orrery COMPONENT core)
  install(FILES ${ORRERY_SHARED}/_orrery DESTINATION share/zsh/vendor-completions COMPONENT core)
  install(FILES ${ORRERY_SHARED}/orrery.fish DESTINATION share/fish/vendor_completions.d
    COMPONENT core)
endfunction()

function(orrery_install_data)
  install(DIRECTORY scenarios DESTINATION share/orrery COMPONENT core)
  # Scenarios name it in their first line, for editors.
  install(FILES docs/scenario.schema.json DESTINATION share/orrery/docs COMPONENT core)
  install(FILES README.md DESTINATION share/doc/orrery COMPONENT core)
  install(FILES CHANGELOG.md DESTINATION share/doc/orrery/docs COMPONENT core)
  install(DIRECTORY docs DESTINATION share/doc/orrery COMPONENT core
    PATTERN scenario.schema.json EXCLUDE)
  install(FILES ${ORRERY_SHARED}/orrery.spdx.json DESTINATION share/doc/orrery COMPONENT core)
  # Debian packages name the licence text of the system instead (cmake/orrery_package.cmake).
  install(FILES LICENSE DESTINATION share/doc/orrery COMPONENT licence)
endfunction()

function(orrery_install_development)
  install(DIRECTORY sim DESTINATION include/orrery COMPONENT dev
    FILES_MATCHING PATTERN *.hpp PATTERN cli EXCLUDE PATTERN validate EXCLUDE)
  install(EXPORT OrreryTargets NAMESPACE orrery:: DESTINATION ${ORRERY_PACKAGE_DIR} COMPONENT dev)
  orrery_used(zlib LINK ORRERY_ZLIB)  # empty where sim/answer/trace is built without it
  configure_package_config_file(cmake/OrreryConfig.cmake.in ${ORRERY_SHARED}/OrreryConfig.cmake
    INSTALL_DESTINATION ${ORRERY_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${ORRERY_SHARED}/OrreryConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${ORRERY_SHARED}/OrreryConfig.cmake ${ORRERY_SHARED}/OrreryConfigVersion.cmake
    DESTINATION ${ORRERY_PACKAGE_DIR} COMPONENT dev)
endfunction()

function(orrery_install_shared)
  orrery_make_manual()
  orrery_install_manual()
  orrery_install_data()
  orrery_install_development()
endfunction()
