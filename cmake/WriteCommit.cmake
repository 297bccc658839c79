# Writes OUTPUT, a header that defines SKIPSTONE_COMMIT, from the git checkout in SOURCE ("unknown" where it is none).
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(WRITE ${OUTPUT} "#define SKIPSTONE_COMMIT \"${commit}\"\n")
