# Run by ctest with BUILD, SOURCE, WORK, GENERATOR, CXX, PKG_CONFIG, FLAGS (sanitizers, may be empty).
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(prefix ${WORK}/prefix)
set(sanitize "")
if(FLAGS)
  set(sanitize "-fsanitize=${FLAGS}")
endif()

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(file include/skipstone/skipstone.h include/skipstone/skipstone.hpp bin/skipstone)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

run("find_package" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/consumer -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=${sanitize})
run("building with find_package" ${CMAKE_COMMAND} --build ${WORK}/consumer)
run("the program built with find_package" ${WORK}/consumer/consumer)
if(NOT output MATCHES "asd")
  message(FATAL_ERROR "the program built with find_package printed: ${output}")
endif()

# pkg-config's file names the configured prefix; here the library lies elsewhere.
file(GLOB_RECURSE pc ${prefix}/*.pc)
get_filename_component(pc_folder "${pc}" DIRECTORY)
get_filename_component(libdir "${pc_folder}" DIRECTORY)
run("pkg-config" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --define-variable=libdir=${libdir}
    --define-variable=includedir=${prefix}/include --cflags --libs skipstone)
separate_arguments(flags UNIX_COMMAND "${output}")
run("building with pkg-config" ${CXX} -std=c++17 ${sanitize} ${SOURCE}/consumer/consumer.cpp -o ${WORK}/by_pkg_config ${flags} -Wl,-rpath,${libdir})
run("the program built with pkg-config" ${WORK}/by_pkg_config)
