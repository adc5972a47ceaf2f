# Reads the instruction sets that loops are compiled for, a list of "Name|features|lanes|use", out
# of src/weft/base/isa/isa_list.h: those before its #elif are x86-64's, then those of aarch64 come,
# and those behind its #else are anybody's.
function(weft_read_isas result)
  set(file "${CMAKE_SOURCE_DIR}/src/weft/base/isa/isa_list.h")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  string(FIND "${text}" "#elif" arm)
  string(FIND "${text}" "#else" others)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    string(SUBSTRING "${text}" 0 ${arm} text)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
    math(EXPR length "${others} - ${arm}")
    string(SUBSTRING "${text}" ${arm} ${length} text)
  else()
    string(SUBSTRING "${text}" ${others} -1 text)
  endif()
  # An entry may take several lines.
  string(REGEX REPLACE "[ \\\\]*\n    " " " text "${text}")
  set(uses "all|compute|dots|tests")
  string(REGEX MATCHALL "\n  X\\([A-Za-z0-9]+, *\"[^\"]*\", *\"[^\"]*\", *[0-9]+, *(${uses})," lines "${text}")
  set(isas "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^\n  X\\(([A-Za-z0-9]+), *\"[^\"]*\", *\"([^\"]*)\", *([0-9]+), *(${uses}),$"
           "\\1|\\2|\\3|\\4" entry "${line}")
    list(APPEND isas "${entry}")
  endforeach()
  set(${result} "${isas}" PARENT_SCOPE)
endfunction()

# What the compiler is told of features: x86-64 has a name for each; g++ wants an architecture with
# extensions for aarch64, and clang the names of these.
function(weft_isa_target features result)
  set(target "${features}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(REPLACE "," "+" target "arch=armv8.2-a+${features}")
  endif()
  set(${result} "${target}" PARENT_SCOPE)
endfunction()

# weft_loops(FOLDER [MEMORY | PLAIN | DOTS] SOURCES x_loops.cpp ... [OPTIONS flag ...]): compiles
# each source once for every instruction set, MEMORY and PLAIN loops for fewer and DOTS for more
# (src/weft/base/isa/isa_loops.h), into weft_FOLDER.
function(weft_loops folder)
  cmake_parse_arguments(ARG "MEMORY;PLAIN;DOTS" "" "SOURCES;OPTIONS" ${ARGN})
  weft_read_isas(isas)
  foreach(entry IN LISTS isas)
    string(REPLACE "|" ";" entry "${entry}")
    list(GET entry 0 isa)
    list(GET entry 1 features)
    list(GET entry 2 lanes)
    list(GET entry 3 use)
    if((ARG_MEMORY AND NOT use STREQUAL "all") OR (ARG_PLAIN AND use STREQUAL "tests") OR
       (use STREQUAL "dots" AND NOT ARG_DOTS))
      continue()
    endif()
    set(level -O3)
    if(WEFT_SANITIZE)
      set(level -O1 -fexpensive-optimizations)
    elseif(use STREQUAL "tests")
      set(level -Os)
    endif()
    foreach(source ${ARG_SOURCES})
      get_filename_component(name "${source}" NAME_WE)
      set(target weft_${folder}_${name}_${isa})
      add_library(${target} OBJECT "${source}")
      target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src")
      target_compile_definitions(${target} PRIVATE WEFT_ISA=${isa} WEFT_LANES=${lanes})
      if(features)
        string(TOUPPER "${features}" macros)
        string(REGEX REPLACE "([^,]+)" "WEFT_WITH_\\1" macros "${macros}")
        string(REPLACE "," ";" macros "${macros}")
        weft_isa_target("${features}" wanted)
        target_compile_definitions(${target} PRIVATE "WEFT_ISA_FEATURES=\"${wanted}\"" ${macros})
      endif()
      # Loops are compiled in full in every build but a sanitizer's, whose checks take -O3 four times
      # as long to compile; what fuses multiply-adds is on there, too, so that the bits are the same.
      # Square roots that may set errno, and operations that may trap, are not computed several at a
      # time; the bits are the same.
      target_compile_options(${target} PRIVATE ${level} -fno-math-errno -fno-trapping-math
                                               -fopenmp-simd ${ARG_OPTIONS})
      target_sources(weft_${folder} PRIVATE $<TARGET_OBJECTS:${target}>)
    endforeach()
  endforeach()
endfunction()
