#include "weft/app/terminal/exit_code.h"

#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/base/printable.h"

namespace weft {

ExitCode report(const Status& status) {
  write_error(fmt::format("weft: {}\n", printable_lines(status.message())));
  return exit_code_of(status);
}

}  // namespace weft
