# `cmake --install`: the library, its headers, the command, and what find_package(unfuse) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS unfuse EXPORT unfuse-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/unfuse DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET unfuse_command)
  install(TARGETS unfuse_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/unfuse)
install(EXPORT unfuse-targets NAMESPACE unfuse:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/unfuse-config.cmake.in
                              ${PROJECT_BINARY_DIR}/unfuse-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unfuse-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/unfuse-config.cmake
              ${PROJECT_BINARY_DIR}/unfuse-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake
        DESTINATION ${package_folder})
