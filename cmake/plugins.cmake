# weft_plugins(OUT_SOURCES FAMILY [TABLE_FOLDER folder] [FOLDERS folder ...])
#
# Lists every NAME_FAMILY.cpp of FOLDERS (the current folder) and their parts, sorted, sets OUT_SOURCES
# to them, and writes FAMILY_table.inc into TABLE_FOLDER (that of the library) with one line WEFT_PLUGIN(NAME), sorted, for each definition in them that begins
# a line with "extern const TYPE NAME_FAMILY =": one a file, or several of one small kind. A table
# source expands that file into extern declarations and one constant array; see docs/HACKING.md. No
# static registrars: they vanish when linked from a static library.
function(weft_plugins out family)
  cmake_parse_arguments(ARG "" "TABLE_FOLDER" "FOLDERS" ${ARGN})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  if(NOT ARG_TABLE_FOLDER)
    set(ARG_TABLE_FOLDER "${CMAKE_BINARY_DIR}/generated/weft")
  endif()
  list(TRANSFORM ARG_FOLDERS APPEND "/*_${family}.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  list(SORT found)
  set(names "")
  foreach(path ${found})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(STRINGS "${path}" definitions REGEX "^extern const [A-Za-z]+ [a-z0-9_]+_${family} =")
    foreach(definition ${definitions})
      string(REGEX REPLACE "^extern const [A-Za-z]+ ([a-z0-9_]+)_${family} =.*" "\\1" plugin
                           "${definition}")
      list(APPEND names "${plugin}")
    endforeach()
  endforeach()
  list(SORT names)
  list(TRANSFORM names REPLACE "(.+)" "WEFT_PLUGIN(\\1)\n")
  string(CONCAT lines ${names})
  set(table "${ARG_TABLE_FOLDER}/${family}_table.inc")
  file(CONFIGURE OUTPUT "${table}" CONTENT "${lines}")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
