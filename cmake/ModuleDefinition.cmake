# skipstone.def and skipstone_tools.def, made when the project is configured: the DLLs export what the headers mark with SKIPSTONE_API
# and nothing else, as src/api/exported.map says it for ELF. The functions of tools.h are the tools' library's.
include(ApiDeclarations)

function(skipstone_write_definition output)
  list(JOIN ARGN "\n  " names)
  file(CONFIGURE OUTPUT ${output} CONTENT "EXPORTS\n  ${names}\n" @ONLY)
endfunction()

file(GLOB sources ${PROJECT_SOURCE_DIR}/include/skipstone/*.h)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
skipstone_api_declarations(unused runtime_names ${sources})
skipstone_api_declarations(unused tools_names ${PROJECT_SOURCE_DIR}/include/skipstone/tools.h)
list(REMOVE_ITEM tools_names skipstone_tune_params_init)  # the runtime's, whose searches take the same parameters
list(REMOVE_ITEM runtime_names ${tools_names})
skipstone_write_definition(${PROJECT_BINARY_DIR}/skipstone.def ${runtime_names})
skipstone_write_definition(${PROJECT_BINARY_DIR}/skipstone_tools.def ${tools_names})
