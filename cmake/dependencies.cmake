# What the library is built on. Read by the build, and again by find_package(unfuse), since a static
# library leaves its own dependencies to whoever links it.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(dnnl REQUIRED)
find_package(PkgConfig REQUIRED)
if(NOT TARGET PkgConfig::minizip)
  pkg_check_modules(minizip REQUIRED IMPORTED_TARGET minizip)
endif()
