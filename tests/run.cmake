# run(WHAT COMMAND...): runs a command for tests written in CMake. Its standard output is in `output` afterwards, what it says on standard error in
# `errors`; where it fails the test fails, and shows both.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(failed)
    message(FATAL_ERROR "${what} failed:\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
endfunction()
