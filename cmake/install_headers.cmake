# Installs weft/weft.h, weft/swarm.h, what else is public, and every header of ours that one of these includes.
#
# Run by `cmake --install`, which sets SOURCE_FOLDER (the tree's src) and INCLUDE_FOLDER (below the
# prefix, or absolute). Headers that no public one reaches are nobody's business outside.
cmake_minimum_required(VERSION 3.25)
set(found weft/weft.h weft/swarm.h weft/autograd/format.h)
set(waiting ${found})
while(waiting)
  list(POP_FRONT waiting header)
  file(STRINGS "${SOURCE_FOLDER}/${header}" lines REGEX "^#include \"weft/[^\"]+\"")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST found)
      list(APPEND found ${included})
      list(APPEND waiting ${included})
    endif()
  endforeach()
endwhile()
cmake_path(ABSOLUTE_PATH INCLUDE_FOLDER BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
foreach(header ${found})
  get_filename_component(folder "${header}" DIRECTORY)
  file(INSTALL "${SOURCE_FOLDER}/${header}" DESTINATION "${INCLUDE_FOLDER}/${folder}")
endforeach()
