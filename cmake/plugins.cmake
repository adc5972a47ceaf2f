# weft_plugins(OUT_SOURCES FAMILY)
#
# Lists every NAME_FAMILY.cpp of the current folder and its parts, sorted, sets OUT_SOURCES to them, and writes
# FAMILY_table.inc with one line WEFT_PLUGIN(NAME), sorted, for each definition in them that begins
# a line with "extern const TYPE NAME_FAMILY =": one a file, or several of one small kind. A table
# source expands that file into extern declarations and one constant array; see docs/HACKING.md. No
# static registrars: they vanish when linked from a static library.
function(weft_plugins out family)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_${family}.cpp")
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
  set(table "${CMAKE_BINARY_DIR}/generated/weft/${family}_table.inc")
  file(CONFIGURE OUTPUT "${table}" CONTENT "${lines}")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
