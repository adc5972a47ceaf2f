# What most sources include anyway, read once for a whole build; tests add GoogleTest.
set(WEFT_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint>
  <cstdio> <cstdlib> <cstring> <deque> <filesystem> <functional> <limits> <list> <map> <memory>
  <mutex> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view>
  <system_error> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h>)

# weft_batch(TARGET): compiles the target's sources WEFT_BATCH at a time, as one source that includes
# them, so that what their headers hold is read and compiled once a batch instead of once a source.
# No two sources of a target may therefore give one name to different things of their own, which
# tools/tidy.py checks. Sources with flags or pragmas of their own are compiled alone.
function(weft_batch target)
  if(NOT WEFT_BATCH)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WEFT_BATCH})
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${folder}")
    if(NOT path MATCHES "\\.cpp$" OR NOT EXISTS "${path}")
      continue()
    endif()
    file(STRINGS "${path}" pragmas LIMIT_COUNT 1 REGEX "^#pragma GCC ")
    if(pragmas)
      set_source_files_properties("${path}" TARGET_DIRECTORY ${target}
        PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# weft_precompile(TARGET OWNER HEADER...): the target's sources begin with the headers, which the
# first target of that OWNER compiles for all.
function(weft_precompile target owner)
  if(NOT WEFT_BATCH)
    return()
  endif()
  get_property(first GLOBAL PROPERTY weft_precompiled_${owner})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY weft_precompiled_${owner} ${target})
  endif()
endfunction()
