// plot_colours: what distinguishes the lines of a plot, on light and on dark ground.
//
// The seven colours stay distinct with the common forms of colour blindness; from the eighth line
// on they repeat with dashes. Elements carry the light colours as attributes, and classes by which
// a media query changes them on dark ground, so that programs without support for styles show the
// light ones.
//
// IMPLEMENTATION: colours of Okabe and Ito, "Color Universal Design", 2008, without black and
// yellow; lighter shades of them on dark ground.
//
// Where it stands: line_plot.h, compare/report_page.h -> here. Threads: pure functions.
// Fails: never; any style is a line.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

// "#0072b2", for attributes.
const char* colour_of(std::size_t style);
// Classes of elements end in it: "s3" is a stroke of that colour, "f3" a filling.
std::size_t colour_number(std::size_t style);
// An attribute with a blank before it; "" for the styles without dashes.
std::string dashes_of(std::size_t style);

// Rules of a style sheet for all plots: the colours on dark ground.
std::string plot_style();
// The element <svg> of a short line in that style, to stand beside a name in a table.
std::string plot_swatch(std::size_t style);

}  // namespace weft
