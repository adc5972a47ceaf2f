#include "weft/app/terminal/output_files.h"

#include "weft/base/file.h"

namespace weft {

Status check_outputs(const std::vector<std::string>& outputs, std::vector<std::string> taken,
                     bool force) {
  for (const std::string& output : outputs) {
    for (const std::string& other : taken) {
      if (output != other && !is_same_file(output, other)) continue;
      return invalid_argument(output +
                              ": is a file that this command reads or writes for another purpose; "
                              "choose another name for the output");
    }
    WEFT_TRY(check_output_file(output, force));
    taken.push_back(output);
  }
  return {};
}

}  // namespace weft
