# weft_test_flags(TARGET): how the code of tests is compiled. The library is tested as it is shipped;
# a test's own code is compiled in less time with less optimisation.
function(weft_test_flags target)
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    # g++ 12 falsely warns that moving a std::string goes beyond its end.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> -Wno-array-bounds
                                                                      -Wno-stringop-overflow)
  endif()
  weft_batch(${target})
  weft_precompile(${target} tests <gmock/gmock.h> <gtest/gtest.h> ${WEFT_COMMON_HEADERS})
endfunction()

# weft_folder(NAME [WAITS] SOURCES a.cpp ... [USES folder ...] [LIBRARIES lib ...]
#             [TEST_USES folder ...] [TEST_LIBRARIES lib ...])
#
# Makes the static library weft_NAME of one folder of src/weft and, from every x_test.cpp beside
# the sources, the program NAME_test, which is the ctest NAME. USES is a subset of the folder's
# line in layers.txt. A folder that WAITS, for the network or for a person, and has no loop over
# elements but in sources with flags of their own, is compiled with less optimisation, which takes
# three quarters of the time.
function(weft_folder name)
  cmake_parse_arguments(ARG "WAITS" "" "SOURCES;USES;LIBRARIES;TEST_USES;TEST_LIBRARIES" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  target_include_directories(weft_${name} PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>"
                                                 "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set(uses ${ARG_USES})
  list(TRANSFORM uses PREPEND weft_)
  target_link_libraries(weft_${name} PUBLIC ${uses} ${ARG_LIBRARIES} Threads::Threads)
  if(ARG_WAITS)
    target_compile_options(weft_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  weft_batch(weft_${name})
  weft_precompile(weft_${name} library ${WEFT_COMMON_HEADERS})

  file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  if(WEFT_TEST_FILES)
    list(TRANSFORM WEFT_TEST_FILES PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE chosen)
    foreach(test ${tests})
      if(NOT test IN_LIST chosen)
        list(REMOVE_ITEM tests "${test}")
      endif()
    endforeach()
  endif()
  if(NOT WEFT_TESTS OR NOT tests)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name}_test ${tests})
  set(test_uses ${ARG_TEST_USES})
  list(TRANSFORM test_uses PREPEND weft_)
  target_link_libraries(${name}_test PRIVATE weft_${name} ${test_uses} ${ARG_TEST_LIBRARIES}
                                             GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE
    WEFT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" WEFT_BINARY_DIR="${CMAKE_BINARY_DIR}")
  weft_test_flags(${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS "fast" TIMEOUT 900)
endfunction()
