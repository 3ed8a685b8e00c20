# Cross build for 64-bit Arm on Debian; tests run under qemu-user.
#
#   cmake -S . -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
#
# Needs g++-aarch64-linux-gnu, qemu-user, and the arm64 packages of the libraries: either installed
# beside the native ones (dpkg --add-architecture arm64) or unpacked anywhere, and that directory
# given as UNFUSE_AARCH64_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(UNFUSE_AARCH64_ROOT "" CACHE PATH "Unpacked arm64 packages; empty when they are installed")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES UNFUSE_AARCH64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${UNFUSE_AARCH64_ROOT} /usr/aarch64-linux-gnu /)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${UNFUSE_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${UNFUSE_AARCH64_ROOT}")

set(library_path /usr/aarch64-linux-gnu/lib)
if(UNFUSE_AARCH64_ROOT)
  set(unpacked ${UNFUSE_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
  # Libraries that the ones linked with need in turn.
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${unpacked}")
  set(library_path ${unpacked}:${library_path})
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${library_path})
