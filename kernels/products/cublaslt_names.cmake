# Names of cuBLASLt's tiles, stages and clusters by number, read from its header:
# orrery_cublaslt_names.inc in the build tree.
function(orrery_cublaslt_names header output)
  set(text "// Generated from cublasLt.h\n")
  foreach(kind IN ITEMS TILE STAGES CLUSTER_SHAPE)
    if(kind STREQUAL CLUSTER_SHAPE)
      set(prefix CUBLASLT_CLUSTER_SHAPE_)
    else()
      set(prefix CUBLASLT_MATMUL_${kind}_)
    endif()
    file(STRINGS ${header} lines REGEX "${prefix}[0-9][0-9xA-Z]* *= *[0-9]+")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*${prefix}([0-9][0-9xA-Z]*) *= *([0-9]+).*"
        "{Kind::${kind}, \\2, \"\\1\"},\n" entry "${line}")
      string(APPEND text "${entry}")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
