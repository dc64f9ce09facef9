# Read by cpack for each kind of package.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
else()
  # One archive that can be unpacked anywhere: orrery-VERSION-SYSTEM/bin/orrery.
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
