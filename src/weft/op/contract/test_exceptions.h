// Features that operations of the table lack, with the reason, for several tests. Tests only.
#pragma once

#include <map>
#include <string>

namespace weft {

// Whose gradient cannot be differentiated.
inline const std::map<std::string, std::string>& without_second_gradient() {
  static const std::map<std::string, std::string> reasons = {
      {"ctc_loss", "its backward is a recursion over alignments"},
  };
  return reasons;
}

}  // namespace weft
