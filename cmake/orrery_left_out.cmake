# What this build leaves out, said once, in one line, with the reason of each part.
#   orrery_leave_out("benchmarks (Google Benchmark is missing)")     while configuring
#   orrery_print_left_out()                                          at the end

function(orrery_leave_out what)
  set_property(GLOBAL APPEND PROPERTY ORRERY_LEFT_OUT "${what}")
endfunction()

function(orrery_print_left_out)
  get_property(left_out GLOBAL PROPERTY ORRERY_LEFT_OUT)
  if(NOT left_out)
    message(STATUS "Left out: nothing")
    return()
  endif()
  list(JOIN left_out ", " line)
  message(STATUS "Left out: ${line}")
endfunction()
