# Which build is this? A script: writes OUT, a source file that gives the program's version with a hash
# of the libraries that decide its figures. Other sources, compilers or flags give other libraries.
#   cmake -DLIBRARIES=a.a,b.a -DVERSION=1.2.3 -DOUT=build_id.cpp -P cmake/orrery_build_id.cmake
set(all)
string(REPLACE "," ";" LIBRARIES "${LIBRARIES}")
foreach(library IN LISTS LIBRARIES)
  file(SHA256 ${library} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [=[
#include "sim/cli/frame/build_info.hpp"

namespace orrery::cli {

std::string_view program_version() {
  return "@VERSION@, build @id@";
}

}  // namespace orrery::cli
]=])
