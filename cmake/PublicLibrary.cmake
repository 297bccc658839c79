# The two libraries that programs link, each an archive or a shared object (BUILD_SHARED_LIBS) that exports the C API alone:
#   skipstone::runtime   running models: include/skipstone/skipstone.h and skipstone_experimental.h
#   skipstone::tools     convert, quantize, tune: include/skipstone/tools.h; needs the runtime
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(WIN32)
  include(ModuleDefinition)
endif()

# skipstone_collect(TARGET LAYERS EXTERNALS): the layers under TARGET, and what they link from outside.
function(skipstone_collect target layers_name externals_name)
  set(layers ${${layers_name}})
  set(externals ${${externals_name}})
  if(NOT ${target} IN_LIST layers)
    list(APPEND layers ${target})
    get_target_property(links ${target} LINK_LIBRARIES)
    foreach(link IN LISTS links)
      if(link MATCHES "^skipstone_")
        skipstone_collect(${link} layers externals)
      elseif(link STREQUAL "MPI::MPI_C")
        list(APPEND externals ${MPI_C_LIBRARIES})  # files: a consumer of the archive links them, and needs no MPI that CMake finds
      elseif(link AND NOT link STREQUAL "nlohmann_json::nlohmann_json")
        list(APPEND externals ${link})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES externals)
  endif()
  set(${layers_name} ${layers} PARENT_SCOPE)
  set(${externals_name} ${externals} PARENT_SCOPE)
endfunction()

# skipstone_exports(TARGET LIBRARY): the shared library TARGET exports the part of the C API that is LIBRARY's, and nothing else.
function(skipstone_exports target library)
  if(WIN32)
    target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/${library}.def)
    set_target_properties(${target} PROPERTIES PREFIX "")
  elseif(NOT APPLE)
    target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/api/exported.map)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/api/exported.map)
  endif()
endfunction()

# skipstone_public_library(NAME EXPORTED LIBRARY LAYERS...): the target NAME, known to others as skipstone::EXPORTED, of these layers' objects; its
# file is called LIBRARY.
function(skipstone_public_library name exported library)
  set(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} ${objects})
  add_library(skipstone::${exported} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${exported} OUTPUT_NAME ${library} VERSION ${PROJECT_VERSION}
                        SOVERSION ${SKIPSTONE_SOVERSION} LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:include>)
  skipstone_compile_options(${name})
  if(SKIPSTONE_PORTABLE)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${name} INTERFACE $<$<PLATFORM_ID:Windows>:SKIPSTONE_DLL>)
    skipstone_exports(${name} ${library})
    if(WIN32)  # where the programs find it
      set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
      install(FILES ${PROJECT_BINARY_DIR}/${library}.def DESTINATION ${CMAKE_INSTALL_LIBDIR})  # for other linkers
    endif()
  endif()
  install(TARGETS ${name} EXPORT skipstone-targets)
endfunction()

# What the linker of a program in C needs besides, where the library is an archive of C++.
set(skipstone_cxx_runtime "-lstdc++ -lm")

# skipstone_pkg_config(NAME DESCRIPTION LIBRARIES REQUIRES PRIVATE_REQUIRES): NAME.pc. A program that links an archive links the archive's own dependencies
# too. The file names folders relative to its own, so that it is right wherever an installation lies.
function(skipstone_pkg_config name description libraries requires private_requires)
  set(pc_name ${name})
  set(pc_description ${description})
  set(dependencies "${skipstone_cxx_runtime} -lpthread -ldl")
  if(SKIPSTONE_MPI)
    list(JOIN MPI_C_LIBRARIES " " mpi)
    set(dependencies "${mpi} ${dependencies}")
  endif()
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
  endif()
  foreach(kind libdir includedir datadir)
    string(TOUPPER CMAKE_INSTALL_${kind} folder)
    set(pc_${kind} "${${folder}}")
    if(NOT IS_ABSOLUTE "${${folder}}")
      set(pc_${kind} "\${prefix}/${${folder}}")
    endif()
  endforeach()
  if(BUILD_SHARED_LIBS AND SKIPSTONE_STATIC_DEPENDENCIES)  # all of it is inside
    set(pc_requires "Requires: ${requires}")
    set(pc_libs "Libs: -L\${libdir} ${libraries}")
  elseif(BUILD_SHARED_LIBS)
    set(pc_requires "Requires: ${requires}\nRequires.private: ${private_requires}")
    set(pc_libs "Libs: -L\${libdir} ${libraries}\nLibs.private: ${dependencies}")
  else()
    set(pc_requires "Requires: ${requires} ${private_requires}")
    set(pc_libs "Libs: -L\${libdir} ${libraries} ${dependencies}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/skipstone.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(runtime_layers "")
set(runtime_externals "")
skipstone_collect(skipstone_api runtime_layers runtime_externals)
skipstone_public_library(skipstone runtime skipstone ${runtime_layers})
target_link_libraries(skipstone PRIVATE ${runtime_externals})
skipstone_pkg_config(skipstone "${PROJECT_DESCRIPTION}" "-lskipstone" "" "fmt libpcre2-8")

if(SKIPSTONE_BUILD_TOOLS)
  set(tools_layers "")
  set(tools_externals "")
  skipstone_collect(skipstone_tools tools_layers tools_externals)
  # An archive finds the lower layers in the runtime's; a shared object has hidden copies of the few that it uses, for the runtime's exports
  # nothing but the C API.
  set(own_layers ${tools_layers})
  list(REMOVE_ITEM own_layers ${runtime_layers})
  skipstone_public_library(skipstone_tools_library tools skipstone_tools ${own_layers})
  if(BUILD_SHARED_LIBS)
    list(REMOVE_ITEM tools_layers ${own_layers})
    foreach(layer IN LISTS tools_layers)
      target_link_libraries(skipstone_tools_library PRIVATE $<BUILD_INTERFACE:${layer}>)
    endforeach()
  endif()
  # After the layers, which call it: an import library is searched once.
  target_link_libraries(skipstone_tools_library PUBLIC skipstone PRIVATE ${tools_externals})
  skipstone_pkg_config(skipstone-tools "Making model files and profiles for Skipstone" "-lskipstone_tools" "skipstone = ${PROJECT_VERSION}" "fmt libpcre2-8")
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skipstone TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/skipstone/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skipstone)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/skipstone/models FILES_MATCHING PATTERN "*.gguf" PATTERN "*.skip.json"
        REGEX "prompts/[^/]*\\.jsonl$" PATTERN train EXCLUDE)
install(EXPORT skipstone-targets NAMESPACE skipstone:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/skipstone)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/skipstone-config.cmake.in ${PROJECT_BINARY_DIR}/skipstone-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/skipstone)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/skipstone-config-version.cmake COMPATIBILITY ${SKIPSTONE_COMPATIBILITY})
install(FILES ${PROJECT_BINARY_DIR}/skipstone-config.cmake ${PROJECT_BINARY_DIR}/skipstone-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/skipstone)
