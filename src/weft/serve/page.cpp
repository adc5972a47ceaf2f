#include "weft/serve/page.h"

#include <algorithm>
#include <array>

#include "weft/base/check.h"

namespace weft {
namespace {

struct PageFile {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<PageFile, 3> kFiles = {{
#include "page_table.inc"
}};

std::string_view page_content_type(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

}  // namespace

HttpResponse page_response(std::string_view path) {
  const std::string_view name = path == "/" ? "page.html" : path.substr(1);
  const auto file = std::find_if(kFiles.begin(), kFiles.end(),
                                 [&](const PageFile& each) { return each.name == name; });
  WEFT_CHECK(file != kFiles.end());
  return {.body = std::string(file->text),
          .content_type = std::string(page_content_type(name)),
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; "
                       "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace weft
