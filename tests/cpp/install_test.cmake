# Installs the library, builds examples/cpp against the installation with find_package(unfuse), and runs it.
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
