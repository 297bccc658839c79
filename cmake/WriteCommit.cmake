# Writes OUTPUT, the source of skipstone::commit(), from the git checkout in SOURCE ("unknown" where it is none).
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(WRITE ${OUTPUT} "#include \"base/commit.h\"\n\nnamespace skipstone {\n\nconst char* commit() { return \"${commit}\"; }\n\n}  // namespace skipstone\n")
