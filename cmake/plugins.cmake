# weft_plugins(OUT_SOURCES FAMILY)
#
# Lists every NAME_FAMILY.cpp of the current folder, sorted, sets OUT_SOURCES to them, and writes
# FAMILY_table.inc with one line WEFT_PLUGIN(NAME) each. A table source expands that file into
# extern declarations and one constant array; see docs/HACKING.md. No static registrars: they
# vanish when linked from a static library.
function(weft_plugins out family)
  file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_${family}.cpp")
  list(SORT found)
  set(lines "")
  foreach(path ${found})
    get_filename_component(stem "${path}" NAME_WE)
    string(REGEX REPLACE "_${family}$" "" plugin "${stem}")
    string(APPEND lines "WEFT_PLUGIN(${plugin})\n")
  endforeach()
  set(table "${CMAKE_BINARY_DIR}/generated/weft/${family}_table.inc")
  file(CONFIGURE OUTPUT "${table}" CONTENT "${lines}")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
