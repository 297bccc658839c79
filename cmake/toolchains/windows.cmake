# MinGW-w64 as Debian packages it: programs for Windows 10 1903 and later on x86-64 that need no DLL but those of the system. docs/windows.md
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triple x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${triple}-gcc-posix)
set(CMAKE_CXX_COMPILER ${triple}-g++-posix)
set(CMAKE_RC_COMPILER ${triple}-windres)

# A joined source has more sections than the usual object format can count.
set(CMAKE_CXX_FLAGS_INIT "-Wa,-mbig-obj")
# The C++ library and the threads are archives; no file carries the time of its making.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static -static-libgcc -static-libstdc++ -Wl,--no-insert-timestamp")
endforeach()

# Nothing of the building machine but its programs: cmake/StaticDependencies.cmake fills the first folder.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/dependencies /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_BINARY_DIR}/dependencies/lib/pkgconfig)

get_filename_component(project_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CMAKE_CROSSCOMPILING_EMULATOR ${project_root}/tools/wine)
