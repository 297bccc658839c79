# cmake -DHEADERS=a.h,b.h -DOUTPUT=declared.c -P declarations.cmake
# Writes a C file that defines every function of the public headers, so that a compiler puts down their types for abidiff; and, beside it,
# OUTPUT.symbols: their names, one a line.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/ApiDeclarations.cmake)
string(REPLACE "," ";" HEADERS "${HEADERS}")
skipstone_api_declarations(declarations names ${HEADERS})
set(code "")
foreach(header IN LISTS HEADERS)
  string(APPEND code "#include \"${header}\"\n")
endforeach()
foreach(declaration IN LISTS declarations)
  string(APPEND code "SKIPSTONE_API ${declaration}{ __builtin_trap(); }\n")
endforeach()
list(JOIN names "\n" names)
file(WRITE ${OUTPUT} "${code}")
file(WRITE ${OUTPUT}.symbols "${names}\n")
