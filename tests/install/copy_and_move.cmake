# cmake -DBUILD=... -DTO=... -P: installs the build and moves the result, so that nothing in it can
# lean on the folder it was installed to.
file(REMOVE_RECURSE ${TO})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${TO}/first
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${TO}/first "${TO}/moved here")
