// The page at "/" to try a model: a text box, a place for an image, or a row of a table.
//
// Its three files (page/) are part of the program. Its headers let browsers run nothing but these
// (Content-Security-Policy), so a text that gets into the page by mistake is not run either; and
// the page makes elements of texts, never of HTML.
// Threads: pure functions.
#pragma once

#include <string_view>

#include "weft/http/http_response.h"

namespace weft {

// REQUIRES: `path` is "/", "/page.css" or "/page.js".
HttpResponse page_response(std::string_view path);

}  // namespace weft
