# Run by ctest with PROJECT, SOURCE, WORK, GENERATOR, CXX, MODEL: the project as a folder of another one, as a shared library. Configured always;
# built and run, which takes as long as the project itself does, where SKIPSTONE_FULL_TESTS is set.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

run("configuring" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DSKIPSTONE_SOURCE=${PROJECT}
    -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Release)
# The targets are there (-n: nothing is built), and nothing comes with the folder but the libraries.
run("planning the programs" ${CMAKE_COMMAND} --build ${WORK} --target runtime_consumer tools_consumer -- -n)
foreach(target skipstone_cli c_api_test example_smallest)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target ${target} -- -n RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    message(FATAL_ERROR "${target} came with the folder")
  endif()
endforeach()
# Running models needs neither the tools nor what they need.
run("configuring the runtime alone" ${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/runtime -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DSKIPSTONE_BUILD_TOOLS=OFF -DSKIPSTONE_BUILD_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -DPROTOZERO_INCLUDE_DIR=PROTOZERO_INCLUDE_DIR-NOTFOUND
    -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
if(NOT DEFINED ENV{SKIPSTONE_FULL_TESTS})
  return()
endif()
run("building" ${CMAKE_COMMAND} --build ${WORK} --target runtime_consumer tools_consumer)
run("the runtime's program" ${WORK}/runtime_consumer)
run("the tools' program" ${WORK}/tools_consumer ${MODEL} ${WORK}/quantised.gguf)
