# Run by ctest with PROJECT, SOURCE, WORK, GENERATOR: makes the package for Windows twice, unpacks it, and uses it under Wine as its readers would.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
find_program(COMPILER x86_64-w64-mingw32-g++-posix)
find_program(OBJDUMP x86_64-w64-mingw32-objdump)
if(NOT COMPILER OR NOT OBJDUMP)
  message("SKIPPED: no MinGW-w64 here (Debian: g++-mingw-w64-x86-64-posix)")
  return()
endif()
find_program(WINE wine64 wine PATHS /usr/lib/wine)
if(NOT WINE)
  message("SKIPPED: no Wine here (Debian: wine64)")
  return()
endif()
set(ENV{WINEPREFIX} ${WORK}/wine)
set(wine ${PROJECT}/tools/wine)

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

# ---- the same bytes again, from another build ----
run("tools/package" ${PROJECT}/tools/package windows ${WORK}/first)
file(GLOB first ${WORK}/first/skipstone-*-windows-x86_64.zip)
file(REMOVE_RECURSE ${PROJECT}/build/package-windows/bin ${PROJECT}/build/package-windows/stage)
run("tools/package again" ${PROJECT}/tools/package windows ${WORK}/second)
file(GLOB second ${WORK}/second/skipstone-*-windows-x86_64.zip)
file(SHA256 "${first}" first_hash)
file(SHA256 "${second}" second_hash)
if(NOT first_hash STREQUAL second_hash)
  message(FATAL_ERROR "two packages of the same sources differ: ${first} and ${second}")
endif()

# ---- what is inside ----
file(ARCHIVE_EXTRACT INPUT ${first} DESTINATION ${WORK})
get_filename_component(name ${first} NAME_WLE)
set(unpacked ${WORK}/${name})
foreach(file LICENSE README.txt licences/PCRE2.txt include/skipstone/skipstone.h lib/libskipstone.dll.a lib/skipstone.def
        lib/cmake/skipstone/skipstone-config.cmake lib/pkgconfig/skipstone.pc share/skipstone/models/skipstone-py.gguf)
  if(NOT EXISTS ${unpacked}/${file})
    message(FATAL_ERROR "the package has no ${file}")
  endif()
endforeach()
foreach(file skipstone.exe skipstone.dll skipstone_tools.dll)
  run("objdump ${file}" ${OBJDUMP} -p ${unpacked}/bin/${file})
  string(REGEX MATCHALL "DLL Name: [^\r\n]+" imports "${output}")
  foreach(import IN LISTS imports)
    # Windows' own; the tools need the runtime. Vulkan's loader is opened when it is needed.
    if(NOT import MATCHES "DLL Name: (KERNEL32|msvcrt|ADVAPI32|SHELL32|USER32|WS2_32|api-ms-win-[a-z0-9-]+|ucrtbase)\\.dll$"
       AND NOT (file STREQUAL "skipstone_tools.dll" AND import STREQUAL "DLL Name: skipstone.dll"))
      message(FATAL_ERROR "${file} needs another DLL: ${import}")
    endif()
  endforeach()
  if(file MATCHES "dll$" AND output MATCHES "\\] _Z[A-Za-z0-9_]+|\\] vk[A-Z]")
    message(FATAL_ERROR "${file} exports more than the C API: ${CMAKE_MATCH_0}")
  endif()
endforeach()

# ---- the program ----
run("the program" ${wine} ${unpacked}/bin/skipstone.exe run -p "def f(x):" -n 8)
string(STRIP "${output}" output)
if(output STREQUAL "")
  message(FATAL_ERROR "the program printed nothing")
endif()

# ---- programs that use the library ----
run("find_package" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/consumer -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_TOOLCHAIN_FILE=${PROJECT}/cmake/toolchains/windows.cmake -Dskipstone_DIR=${unpacked}/lib/cmake/skipstone)
run("building with find_package" ${CMAKE_COMMAND} --build ${WORK}/consumer)
file(COPY ${WORK}/consumer/runtime_consumer.exe ${WORK}/consumer/tools_consumer.exe DESTINATION ${unpacked}/bin)
run("the program built with find_package" ${wine} ${unpacked}/bin/runtime_consumer.exe)
run("the tools' program built with find_package" ${wine} ${unpacked}/bin/tools_consumer.exe ${unpacked}/share/skipstone/models/skipstone-py.gguf
    ${WORK}/quantised.gguf)
run("a C compiler" x86_64-w64-mingw32-gcc-posix -DSKIPSTONE_DLL -I${unpacked}/include ${PROJECT}/examples/smallest.c -o ${unpacked}/bin/smallest.exe
    -L${unpacked}/lib -lskipstone)
run("the C program" ${wine} ${unpacked}/bin/smallest.exe ${unpacked}/share/skipstone/models/skipstone-py.gguf "def f(")
if(NOT output MATCHES "[a-z]")
  message(FATAL_ERROR "the C program printed: ${output}")
endif()
