# skipstone_layer(NAME [SOURCES ...] [USES layer ...] [LINKS target ...])
#
# One static library per folder of src/. A layer sees only the layers it USES, and those that these use. A header without a source would
# compile from anywhere, so tools/check-includes compares every include with the property SKIPSTONE_LAYERS: a line NAME|FOLDER|SOURCES|USES each.
function(skipstone_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;USES;LINKS" ${ARGN})
  add_library(skipstone_${name} STATIC ${L_SOURCES})
  target_include_directories(skipstone_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(JOIN L_SOURCES " " sources)
  list(JOIN L_USES " " uses)
  set_property(GLOBAL APPEND_STRING PROPERTY SKIPSTONE_LAYERS "${name}|${folder}|${sources}|${uses}\n")
  list(TRANSFORM L_USES PREPEND skipstone_)
  target_link_libraries(skipstone_${name} PUBLIC ${L_USES} ${L_LINKS})
  skipstone_compile_options(skipstone_${name})
endfunction()

# Warnings and sanitizers for our own code.
function(skipstone_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
  if(CMAKE_UNITY_BUILD)
    # What another source of the same compiler run declares is no concern of this one; the other presets keep these warnings.
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  # Same arithmetic in every build: the oracle must not fuse where the source does not say fma.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees overlapping copies in std::string's own functions (its bug 105651), and uninitialised values where an aggregate with a
    # std::shared_ptr is a temporary.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
  if(SKIPSTONE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SKIPSTONE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${SKIPSTONE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SKIPSTONE_SANITIZE})
  endif()
endfunction()
