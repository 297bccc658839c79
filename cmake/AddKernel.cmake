# Compute kernels: glslc -> spirv-val -> embedded words, and a generated table of ids.
#
#   skipstone_kernel(NAME SOURCE file.comp ABI header [TEXELS mask] [DEFINES ...])   one variant; TEXELS: bindings that are texel buffers
#   skipstone_embed_kernels(TARGET)                                    after all of them: generates kernel_table.{h,cpp} and adds them
find_program(GLSLC glslc REQUIRED)
find_program(SPIRV_VAL spirv-val REQUIRED)

function(skipstone_kernel name)
  cmake_parse_arguments(K "" "SOURCE;ABI;TEXELS" "DEFINES" ${ARGN})
  if(NOT K_TEXELS)
    set(K_TEXELS 0)
  endif()
  set(spirv ${CMAKE_CURRENT_BINARY_DIR}/${name}.spv)
  list(TRANSFORM K_DEFINES PREPEND -D)
  # No spirv-opt (-O): drivers optimise themselves, and nothing must reassociate what the numerics contract fixes.
  add_custom_command(
    OUTPUT ${spirv}
    COMMAND ${GLSLC} --target-env=vulkan1.2 -I ${CMAKE_CURRENT_SOURCE_DIR} ${K_DEFINES} -MD -MF ${spirv}.d
            -o ${spirv} ${CMAKE_CURRENT_SOURCE_DIR}/${K_SOURCE}
    COMMAND ${SPIRV_VAL} --target-env vulkan1.2 ${spirv}
    DEPENDS ${K_SOURCE}
    DEPFILE ${spirv}.d
    COMMENT "Kernel ${name}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNELS ${name})
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_ABIS ${K_ABI})
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_TEXELS ${K_TEXELS})
  set_property(GLOBAL APPEND PROPERTY SKIPSTONE_KERNEL_SPIRV ${spirv})
endfunction()

function(skipstone_embed_kernels target)
  get_property(names GLOBAL PROPERTY SKIPSTONE_KERNELS)
  get_property(abis GLOBAL PROPERTY SKIPSTONE_KERNEL_ABIS)
  get_property(texels GLOBAL PROPERTY SKIPSTONE_KERNEL_TEXELS)
  get_property(spirv GLOBAL PROPERTY SKIPSTONE_KERNEL_SPIRV)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/generated/kernels)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedKernels.cmake)
  add_custom_command(
    OUTPUT ${directory}/kernel_ids.h ${directory}/kernel_table.cpp
    COMMAND ${CMAKE_COMMAND} "-DNAMES=${names}" "-DABIS=${abis}" "-DTEXELS=${texels}" "-DSPIRV=${spirv}" -DDIRECTORY=${directory} -P ${script}
    DEPENDS ${spirv} ${script}
    COMMENT "Embedding kernels" VERBATIM)
  add_library(${target} STATIC ${directory}/kernel_table.cpp ${directory}/kernel_ids.h)
  target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/generated ${PROJECT_SOURCE_DIR}/shaders ${PROJECT_SOURCE_DIR}/src)
endfunction()
