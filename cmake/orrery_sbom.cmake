# Which libraries are in which program, with version and licence: a bill of materials in SPDX 2.3,
# and what `orrery doctor` prints of them. From what CMake found, so that it is that of this build.
#
#   orrery_uses(NAME fmt VERSION 9.1.0 LICENCE MIT FROM https://... LINK dynamic BY core ...)
#     LINK  dynamic: loaded from the system; static: part of the program
#     BY    core: the simulator's libraries, hence every program; else a program
#   orrery_write_sbom(file)
#   orrery_write_build_info(file)

function(orrery_uses)
  cmake_parse_arguments(ARG "" "NAME;VERSION;LICENCE;FROM;LINK" "BY" ${ARGN})
  if(NOT ARG_VERSION)
    set(ARG_VERSION unknown)
  endif()
  set_property(GLOBAL APPEND PROPERTY ORRERY_USED ${ARG_NAME})
  foreach(field IN ITEMS VERSION LICENCE FROM LINK BY)
    set_property(GLOBAL PROPERTY ORRERY_USED_${ARG_NAME}_${field} "${ARG_${field}}")
  endforeach()
endfunction()

function(orrery_used name field result)
  get_property(value GLOBAL PROPERTY ORRERY_USED_${name}_${field})
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Headers without a version of their own: that of the Debian package.
function(orrery_debian_version package result)
  set(version)
  find_program(ORRERY_DPKG_QUERY dpkg-query)
  mark_as_advanced(ORRERY_DPKG_QUERY)
  if(ORRERY_DPKG_QUERY)
    execute_process(COMMAND ${ORRERY_DPKG_QUERY} --show --showformat=\${Version} ${package}
      OUTPUT_VARIABLE version ERROR_QUIET)
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# A JSON object of a package; the text needs no escapes.
function(orrery_sbom_package result id name version licence_concluded licence_declared from)
  set(${result} "    {
      \"SPDXID\": \"SPDXRef-${id}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"${from}\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${licence_concluded}\",
      \"licenseDeclared\": \"${licence_declared}\",
      \"copyrightText\": \"NOASSERTION\"
    }" PARENT_SCOPE)
endfunction()

function(orrery_sbom_relation result from kind to)
  set(${result} "    {\"spdxElementId\": \"SPDXRef-${from}\", \"relationshipType\": \"${kind}\", \"relatedSpdxElement\": \"SPDXRef-${to}\"}"
    PARENT_SCOPE)
endfunction()

# The licence of a program as a whole: QCustomPlot's where it is linked, else Orrery's own.
function(orrery_program_licence program result)
  orrery_used(QCustomPlot BY by)
  if(program IN_LIST by)
    set(${result} GPL-3.0-or-later PARENT_SCOPE)
  else()
    set(${result} Apache-2.0 PARENT_SCOPE)
  endif()
endfunction()

function(orrery_write_sbom file)
  get_property(programs GLOBAL PROPERTY ORRERY_PROGRAMS)
  get_property(libraries GLOBAL PROPERTY ORRERY_USED)
  set(packages)
  set(relations)
  foreach(program IN LISTS programs)
    orrery_program_licence(${program} licence)
    orrery_sbom_package(package Program-${program} ${program} ${PROJECT_VERSION} ${licence}
      Apache-2.0 NOASSERTION)
    list(APPEND packages "${package}")
    orrery_sbom_relation(relation DOCUMENT DESCRIBES Program-${program})
    list(APPEND relations "${relation}")
  endforeach()
  foreach(library IN LISTS libraries)
    foreach(field IN ITEMS VERSION LICENCE FROM LINK BY)
      orrery_used(${library} ${field} ${field})
    endforeach()
    if(VERSION STREQUAL unknown)
      set(VERSION NOASSERTION)
    endif()
    orrery_sbom_package(package Library-${library} ${library} ${VERSION} ${LICENCE} ${LICENCE}
      ${FROM})
    list(APPEND packages "${package}")
    if(LINK STREQUAL static)
      set(kind STATIC_LINK)
    else()
      set(kind DYNAMIC_LINK)
    endif()
    if(BY STREQUAL core)
      set(BY ${programs})
    endif()
    foreach(program IN LISTS BY)
      orrery_sbom_relation(relation Program-${program} ${kind} Library-${library})
      list(APPEND relations "${relation}")
    endforeach()
  endforeach()
  list(JOIN packages ",\n" packages)
  list(JOIN relations ",\n" relations)
  string(SHA256 digest "${packages}${relations}")
  string(SUBSTRING ${digest} 0 16 digest)
  string(TIMESTAMP created UTC)  # that of SOURCE_DATE_EPOCH, where it is set
  file(CONFIGURE OUTPUT ${file} CONTENT "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"orrery-${PROJECT_VERSION}\",
  \"documentNamespace\": \"urn:orrery:sbom:${PROJECT_VERSION}:${digest}\",
  \"creationInfo\": {
    \"created\": \"${created}\",
    \"creators\": [\"Tool: CMake-${CMAKE_VERSION}\", \"Organization: Orrery\"]
  },
  \"hasExtractedLicensingInfos\": [
    {
      \"licenseId\": \"LicenseRef-NVIDIA\",
      \"name\": \"CUDA Toolkit End User License Agreement\",
      \"extractedText\": \"https://docs.nvidia.com/cuda/eula\"
    }
  ],
  \"packages\": [
${packages}
  ],
  \"relationships\": [
${relations}
  ]
}
" @ONLY)
endfunction()

function(orrery_write_build_info file)
  get_property(libraries GLOBAL PROPERTY ORRERY_USED)
  set(ORRERY_LIBRARY_ROWS)
  foreach(library IN LISTS libraries)
    orrery_used(${library} BY by)
    if("${by}" STREQUAL core OR "orrery" IN_LIST by)
      orrery_used(${library} VERSION version)
      orrery_used(${library} LICENCE licence)
      list(APPEND ORRERY_LIBRARY_ROWS "{\"${library}\", \"${version}\", \"${licence}\"}")
    endif()
  endforeach()
  list(JOIN ORRERY_LIBRARY_ROWS ",\n                        " ORRERY_LIBRARY_ROWS)
  get_property(left_out GLOBAL PROPERTY ORRERY_LEFT_OUT)
  set(ORRERY_LEFT_OUT_ROWS)
  foreach(part IN LISTS left_out)
    list(APPEND ORRERY_LEFT_OUT_ROWS "R\"row(${part})row\"")
  endforeach()
  list(JOIN ORRERY_LEFT_OUT_ROWS ",\n                       " ORRERY_LEFT_OUT_ROWS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.cpp.in ${file} @ONLY)
endfunction()
