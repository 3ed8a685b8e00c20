# Installs the library, builds examples/cpp against the installation with find_package(unfuse), and runs it;
# then leaves out what the library is built on.
#   cmake -D BUILD=... -D SOURCE=... -D GENERATOR=... -P install_test.cmake
set(prefix ${BUILD}/install_test/prefix)
set(example ${BUILD}/install_test/example)
file(REMOVE_RECURSE ${BUILD}/install_test)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output ERROR_VARIABLE error)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/cpp -B ${example} -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${example})
run(${prefix}/bin/unfuse --version)
execute_process(COMMAND ${example}/run_model ${SOURCE}/tests/data/encoder_dynamic.pt2
                OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES ": 2 2 16\n")
  message(FATAL_ERROR "the example printed: ${output}")
endif()

# Configures a project that would use unfuse, and fails unless it is told what is missing.
function(expect_missing name)
  set(project ${BUILD}/install_test/without_${name})
  file(WRITE ${project}/CMakeLists.txt
       "cmake_minimum_required(VERSION 3.25)\nproject(without LANGUAGES CXX)\nfind_package(unfuse)\n"
       "message(STATUS \"unfuse: \${unfuse_FOUND}\")\n")
  execute_process(COMMAND ${ARGN} -S ${project} -B ${project}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
                  OUTPUT_VARIABLE output ERROR_VARIABLE error COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[ \n]+" " " said "${output}${error}")
  if(NOT said MATCHES "unfuse: (FALSE|False|0)" OR NOT said MATCHES "unfuse could not be found because .*${name}")
    message(FATAL_ERROR "without ${name}, find_package(unfuse) says: ${said}")
  endif()
endfunction()

expect_missing(fmt ${CMAKE_COMMAND} -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
expect_missing(minizip ${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${BUILD}/install_test ${CMAKE_COMMAND})
