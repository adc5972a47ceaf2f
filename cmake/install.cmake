# What `cmake --install` puts where others find it: the program, and the learning column as
# libraries with find_package(weft) -> weft::learning and with pkg-config.
#
# Included once every folder is there. The config file asks for the dependencies again; weft.pc has
# them as words for a linker, behind --static: no public header includes one of theirs. A library that
# a folder begins to use needs a line in LINKER_NAMES only if it comes as an imported target.
if(NOT TARGET weft_io OR NOT TARGET weft_nn OR NOT TARGET weft_data OR WEFT_SANITIZE)
  return()
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(LEARNING_FOLDERS base array kernel autograd op graph data nn optim io)
# imported target|what a linker calls it.
set(LINKER_NAMES fmt::fmt|fmt spdlog::spdlog|spdlog OpenSSL::Crypto|crypto)

set(pc_own "")
set(pc_other "")
foreach(folder ${LEARNING_FOLDERS})
  set_target_properties(weft_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS weft_${folder} EXPORT weft-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # What is used stands behind who uses it on a linker's command line.
  list(PREPEND pc_own -lweft_${folder})
  get_target_property(used weft_${folder} LINK_LIBRARIES)
  foreach(library ${used})
    if(library MATCHES "^weft_")
      continue()
    elseif(library STREQUAL "Threads::Threads")
      list(APPEND pc_other -pthread)
    elseif(library STREQUAL "OpenMP::OpenMP_CXX")
      list(APPEND pc_other -fopenmp)
    elseif(library MATCHES "^\\$<BUILD_INTERFACE:")
      continue()  # headers alone, which no header of ours includes
    elseif(library MATCHES "::")
      set(known ${LINKER_NAMES})
      list(FILTER known INCLUDE REGEX "^${library}\\|")
      if(NOT known)
        message(FATAL_ERROR "weft_${folder}: say in LINKER_NAMES what a linker calls ${library}")
      endif()
      string(REGEX REPLACE "^.*\\|" "-l" name "${known}")
      list(APPEND pc_other ${name})
    elseif(IS_ABSOLUTE "${library}")
      get_filename_component(name "${library}" NAME_WE)
      string(REGEX REPLACE "^lib" "-l" name "${name}")
      list(APPEND pc_other ${name})
    else()
      list(APPEND pc_other -l${library})
    endif()
  endforeach()
endforeach()
foreach(words pc_own pc_other)
  list(REMOVE_DUPLICATES ${words})
  list(JOIN ${words} " " ${words})
endforeach()

set_target_properties(weft_learning PROPERTIES EXPORT_NAME learning)
target_compile_features(weft_learning INTERFACE cxx_std_20)
install(TARGETS weft_learning EXPORT weft-targets)
install(CODE "set(SOURCE_FOLDER \"${CMAKE_SOURCE_DIR}/src\")
set(INCLUDE_FOLDER \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake")
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION "${config_folder}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in"
  "${CMAKE_BINARY_DIR}/weft-config.cmake" INSTALL_DESTINATION "${config_folder}")
# Interfaces may change with every minor version before 1.0.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/weft-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/weft-config.cmake"
              "${CMAKE_BINARY_DIR}/weft-config-version.cmake" DESTINATION "${config_folder}")

# Paths from the file's own place, so that the prefix may be chosen when installing.
file(RELATIVE_PATH pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${CMAKE_CURRENT_LIST_DIR}/weft.pc.in" "${CMAKE_BINARY_DIR}/weft.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/weft.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/NOTICE"
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
