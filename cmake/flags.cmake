# Compiler flags for the whole tree. Nothing else sets flags, but for the few sources whose
# folder says why.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Contraction is off everywhere: a*b+c rounds the same on every machine, so that peers with
# different processors hold the same bits after the same update.
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -ffp-contract=off)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -DWEFT_DEBUG_CHECKS=1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -DWEFT_DEBUG_CHECKS=1")

if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  if(WEFT_SANITIZE MATCHES "undefined")
    # AddressSanitizer stops at null pointers and outside of objects anyway; checking both twice,
    # and types by their tables, takes a quarter of the time to compile.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees flows that are none once the code is instrumented; the release build has both.
    add_compile_options(-Wno-stringop-overflow -Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES "thread")
    # ThreadSanitizer knows no fences; asio's queues hold a lock anyway where threads meet.
    add_compile_definitions(WEFT_TSAN=1 ASIO_DISABLE_FENCED_BLOCK=1)
  endif()
endif()
if(WEFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# The faster linkers, where one is installed; a hundred programs are linked for the tests.
find_program(WEFT_LINKER NAMES mold ld.lld)
if(WEFT_LINKER)
  get_filename_component(linker "${WEFT_LINKER}" NAME)
  string(REPLACE "ld.lld" "lld" linker "${linker}")
  add_link_options(-fuse-ld=${linker})
endif()

# The launcher looks for ccache whenever it runs: whoever installs it later compiles nothing anew.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/launch_compiler")
endif()
# Precompiled headers do not fit sources with flags of their own: those read the headers themselves.
set(CMAKE_PCH_WARN_INVALID OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # ccache must know what a precompiled header holds
endif()
find_package(Threads REQUIRED)
