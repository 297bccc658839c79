# Compute kernels: glslc -> spirv-val -> embedded words, and a generated table of ids.
#
#   skipstone_kernel(NAME SOURCE file.comp ABI header [TEXELS mask] [INCLUDES folder ...] [DEFINES ...] [COOPMAT])   one variant; TEXELS:
#              bindings that are texel buffers; INCLUDES: folders after shaders/; COOPMAT: needs SKIPSTONE_COOPMAT, else its row has no words
#   skipstone_kernel_alias(NAME KERNEL)                                another id of a kernel
#   skipstone_embed_kernels(TARGET)                                    after all of them: generates kernel_table.{h,cpp} and adds them
set(SKIPSTONE_KERNELS_FROM "" CACHE PATH "A build folder of the same sources whose compiled kernels serve here too: for several builds at once")
find_program(GLSLC glslc REQUIRED)
find_program(SPIRV_VAL spirv-val REQUIRED)

# Whether compiler and validator know cooperative matrices (Debian 12's do not). Asked again when either program is another one.
set(tools "${GLSLC};${SPIRV_VAL}")
if(NOT "${SKIPSTONE_COOPMAT_TOOLS}" STREQUAL "${tools}")
  set(probe ${CMAKE_CURRENT_LIST_DIR}/probe_coopmat.comp)
  set(spirv ${CMAKE_BINARY_DIR}/probe_coopmat.spv)
  execute_process(COMMAND ${GLSLC} --target-env=vulkan1.2 -o ${spirv} ${probe} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  set(culprit "${GLSLC}")
  if(failed EQUAL 0)
    execute_process(COMMAND ${SPIRV_VAL} --target-env vulkan1.2 ${spirv} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    set(culprit "${SPIRV_VAL}")
  endif()
  if(failed EQUAL 0)
    set(coopmat ON)
    message(STATUS "Kernels of the cooperative-matrix tier: built")
  else()
    set(coopmat OFF)
    message(STATUS "Kernels of the cooperative-matrix tier: left out, for ${culprit} does not know GL_KHR_cooperative_matrix; newer "
                   "programs (from 2024 on) can be named: -DGLSLC=/path/to/glslc -DSPIRV_VAL=/path/to/spirv-val")
  endif()
  set(SKIPSTONE_COOPMAT ${coopmat} CACHE INTERNAL "The shader compiler knows cooperative matrices")
  set(SKIPSTONE_COOPMAT_TOOLS "${tools}" CACHE INTERNAL "What SKIPSTONE_COOPMAT was found out about")
endif()

function(skipstone_kernel name)
  cmake_parse_arguments(K "COOPMAT" "SOURCE;ABI;TEXELS" "INCLUDES;DEFINES" ${ARGN})
  if(NOT K_TEXELS)
    set(K_TEXELS 0)
  endif()
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNELS ${name})
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_ABIS ${K_ABI})
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_TEXELS ${K_TEXELS})
  if(K_COOPMAT AND NOT SKIPSTONE_COOPMAT)
    set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_SPIRV none)
    return()
  endif()
  if(SKIPSTONE_KERNELS_FROM)
    return()
  endif()
  set(spirv ${CMAKE_CURRENT_BINARY_DIR}/${name}.spv)
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_SPIRV ${spirv})
  list(TRANSFORM K_DEFINES PREPEND -D)
  list(TRANSFORM K_INCLUDES PREPEND -I)
  # No spirv-opt (-O): drivers optimise themselves, and nothing must reassociate what the numerics contract fixes.
  add_custom_command(
    OUTPUT ${spirv}
    COMMAND ${GLSLC} --target-env=vulkan1.2 -I ${CMAKE_CURRENT_SOURCE_DIR} ${K_INCLUDES} ${K_DEFINES} -MD -MF ${spirv}.d
            -o ${spirv} ${CMAKE_CURRENT_SOURCE_DIR}/${K_SOURCE}
    COMMAND ${SPIRV_VAL} --target-env vulkan1.2 ${spirv}
    DEPENDS ${K_SOURCE}
    DEPFILE ${spirv}.d
    COMMENT "Kernel ${name}" VERBATIM)
endfunction()

function(skipstone_kernel_alias name kernel)
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_ALIASES "${name} = ${kernel}")
endfunction()

function(skipstone_embed_kernels target)
  get_property(names GLOBAL PROPERTY SKIPSTONE_KERNELS)
  get_property(abis GLOBAL PROPERTY SKIPSTONE_KERNEL_ABIS)
  get_property(texels GLOBAL PROPERTY SKIPSTONE_KERNEL_TEXELS)
  get_property(spirv GLOBAL PROPERTY SKIPSTONE_KERNEL_SPIRV)
  get_property(aliases GLOBAL PROPERTY SKIPSTONE_KERNEL_ALIASES)
  set(files ${spirv})
  list(REMOVE_ITEM files none)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedKernels.cmake)
  if(SKIPSTONE_KERNELS_FROM)
    set(generated ${SKIPSTONE_KERNELS_FROM}/shaders/generated)
  else()
    add_custom_command(
      OUTPUT ${generated}/kernels/kernel_ids.h ${generated}/kernels/kernel_table.cpp
      COMMAND ${CMAKE_COMMAND} "-DNAMES=${names}" "-DABIS=${abis}" "-DTEXELS=${texels}" "-DSPIRV=${spirv}" "-DALIASES=${aliases}" -DDIRECTORY=${generated}/kernels -P ${script}
      DEPENDS ${files} ${script}
      COMMENT "Embedding kernels" VERBATIM)
  endif()
  add_library(${target} STATIC ${generated}/kernels/kernel_table.cpp ${generated}/kernels/kernel_ids.h)
  target_include_directories(${target} PUBLIC ${generated} ${PROJECT_SOURCE_DIR}/shaders ${PROJECT_SOURCE_DIR}/src)
endfunction()
