# Run by ctest with BUILD, SOURCE, WORK, GENERATOR, CXX, PKG_CONFIG, MODEL, FLAGS (sanitizers, may be empty): installs the build into a folder
# of its own, and builds programs against it by find_package and by pkg-config.
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

# The two programs, by whichever way they were built.
function(run_programs way runtime tools)
  run("the program built with ${way}" ${runtime})
  if(NOT output MATCHES "asd")
    message(FATAL_ERROR "the program built with ${way} printed: ${output}")
  endif()
  run("the tools' program built with ${way}" ${tools} ${MODEL} ${WORK}/quantised.gguf)
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(file include/skipstone/skipstone.h include/skipstone/skipstone.hpp include/skipstone/tools.h include/skipstone/version.h bin/skipstone)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

if(EXISTS ${BUILD}/apps/skipstone/share/man/man1/skipstone.1)
  foreach(file man/man1/skipstone-run.1 bash-completion/completions/skipstone zsh/site-functions/_skipstone fish/vendor_completions.d/skipstone.fish)
    if(NOT EXISTS ${prefix}/share/${file})
      message(FATAL_ERROR "share/${file} was not installed")
    endif()
  endforeach()
endif()

run("find_package" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/found -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=${sanitize} -DCMAKE_C_FLAGS=${sanitize})
run("building with find_package" ${CMAKE_COMMAND} --build ${WORK}/found)
run_programs("find_package" ${WORK}/found/runtime_consumer ${WORK}/found/tools_consumer)

# pkg-config's files name the configured prefix; here the libraries lie elsewhere.
file(GLOB_RECURSE pc ${prefix}/skipstone.pc)
get_filename_component(pc_folder "${pc}" DIRECTORY)
get_filename_component(libdir "${pc_folder}" DIRECTORY)
foreach(package skipstone skipstone-tools)
  run("pkg-config ${package}" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --define-variable=libdir=${libdir}
      --define-variable=includedir=${prefix}/include --cflags --libs ${package})
  separate_arguments(flags_${package} UNIX_COMMAND "${output}")
endforeach()
foreach(which runtime tools)
  set(flags ${flags_skipstone})
  if(which STREQUAL tools)
    set(flags ${flags_skipstone-tools})
  endif()
  run("building with pkg-config" ${CXX} -std=c++17 ${sanitize} ${SOURCE}/consumer/${which}_consumer.cpp -o ${WORK}/${which}_by_pkg_config ${flags}
      -Wl,-rpath,${libdir})
endforeach()
run_programs("pkg-config" ${WORK}/runtime_by_pkg_config ${WORK}/tools_by_pkg_config)
