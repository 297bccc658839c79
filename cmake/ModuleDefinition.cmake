# skipstone_module_definition(OUTPUT SOURCE...): OUTPUT, a .def file, exports the functions that SOURCE... mark with SKIPSTONE_API: what
# src/api/exported.map does for ELF. Once a DLL has one, it exports nothing else.
function(skipstone_module_definition output)
  set(names "")
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
    string(REPLACE ";" "@" text "${text}")  # a semicolon separates CMake's lists
    string(REGEX MATCHALL "\nSKIPSTONE_API [^@{(]*[ *]skipstone_[a-z0-9_]+\\(|\nSKIPSTONE_FIRST\\(skipstone_[a-z0-9_]+," declarations "${text}")
    foreach(declaration IN LISTS declarations)
      string(REGEX MATCH "skipstone_[a-z0-9_]+[(,]$" name "${declaration}")
      string(REGEX REPLACE "[(,]" "" name "${name}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  list(JOIN names "\n  " names)
  file(CONFIGURE OUTPUT ${output} CONTENT "EXPORTS\n  ${names}\n" @ONLY)
endfunction()

# Of both libraries, made when the project is configured.
file(GLOB headers ${PROJECT_SOURCE_DIR}/include/skipstone/*.h)
set(tools_header ${PROJECT_SOURCE_DIR}/include/skipstone/tools.h)
list(REMOVE_ITEM headers ${tools_header})
skipstone_module_definition(${PROJECT_BINARY_DIR}/skipstone.def ${headers} ${PROJECT_SOURCE_DIR}/src/api/compatibility.cpp)
skipstone_module_definition(${PROJECT_BINARY_DIR}/skipstone_tools.def ${tools_header})
