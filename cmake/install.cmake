# What `cmake --install` puts where others find it: the program, the learning column as libraries
# with find_package(weft) -> weft::learning and with pkg-config weft, and what a member of a group
# needs beside it: weft::swarm, pkg-config weft-swarm.
#
# Included once every folder is there. The config file asks for the dependencies again; the .pc files
# have them as words for a linker, behind --static: no public header includes one of theirs. A library
# that a folder begins to use needs a line in LINKER_NAMES only if it comes as an imported target; one
# that is found by its path is named twice, $<BUILD_INTERFACE:path> and $<INSTALL_INTERFACE:name>, so
# that what is installed may be moved to another machine.
if(NOT TARGET weft_io OR NOT TARGET weft_nn OR NOT TARGET weft_data OR WEFT_SANITIZE)
  return()
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(LEARNING_FOLDERS base array kernel autograd op graph data nn optim io)
set(SWARM_FOLDERS aggregate codec wire net peer collective swarm)
# imported target|what a linker calls it.
set(LINKER_NAMES fmt::fmt|fmt spdlog::spdlog|spdlog OpenSSL::Crypto|crypto OpenSSL::SSL|ssl)

# weft_install_folders(NAME FOLDER...): installs their libraries, and puts into pc_NAME_own and
# pc_NAME_other what a linker is told of them and of what they use.
function(weft_install_folders name)
  set(own "")
  set(other "")
  foreach(folder ${ARGN})
    set_target_properties(weft_${folder} PROPERTIES EXPORT_NAME ${folder})
    install(TARGETS weft_${folder} EXPORT weft-targets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    # What is used stands behind who uses it on a linker's command line.
    list(PREPEND own -lweft_${folder})
    get_target_property(used weft_${folder} LINK_LIBRARIES)
    foreach(library ${used})
      if(library MATCHES "^weft_")
        continue()
      elseif(library STREQUAL "Threads::Threads")
        list(APPEND other -pthread)
      elseif(library STREQUAL "OpenMP::OpenMP_CXX")
        list(APPEND other -fopenmp)
      elseif(library MATCHES "^\\$<BUILD_INTERFACE:")
        continue()  # headers alone, which no header of ours includes; or named once more, see above
      elseif(library MATCHES "^\\$<INSTALL_INTERFACE:(.*)>$")
        list(APPEND other -l${CMAKE_MATCH_1})
      elseif(library MATCHES "::")
        set(known ${LINKER_NAMES})
        list(FILTER known INCLUDE REGEX "^${library}\\|")
        if(NOT known)
          message(FATAL_ERROR "weft_${folder}: say in LINKER_NAMES what a linker calls ${library}")
        endif()
        string(REGEX REPLACE "^.*\\|" "-l" linker_name "${known}")
        list(APPEND other ${linker_name})
      elseif(IS_ABSOLUTE "${library}")
        message(FATAL_ERROR "weft_${folder}: ${library} is a path of this machine; see above")
      else()
        list(APPEND other -l${library})
      endif()
    endforeach()
  endforeach()
  foreach(words own other)
    list(REMOVE_DUPLICATES ${words})
    list(JOIN ${words} " " ${words})
    set(pc_${name}_${words} "${${words}}" PARENT_SCOPE)
  endforeach()
endfunction()

weft_install_folders(learning ${LEARNING_FOLDERS})
set(pc_names weft)
if(TARGET weft_swarm)
  weft_install_folders(swarm ${SWARM_FOLDERS})
  list(APPEND pc_names weft-swarm)
endif()

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
foreach(pc_name ${pc_names})
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${pc_name}.pc.in" "${CMAKE_BINARY_DIR}/${pc_name}.pc"
                 @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/${pc_name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/NOTICE"
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
