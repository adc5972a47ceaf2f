// AllReduce: the Collective whose result is the sum, under the names that rounds and benches use.
//
// Threads and failures: see collective.h.
#pragma once

#include <memory>
#include <utility>

#include "weft/collective/reduce/collective.h"

namespace weft {

using AllReduce = Collective;
using AllReduceOptions = CollectiveOptions;
using AllReduceSink = CollectiveSink;

// make_collective() of kind kAllReduce.
inline std::unique_ptr<AllReduce> make_all_reduce(const AllReduceOptions& options,
                                                  std::int64_t elements, AllReduceSink& sink,
                                                  std::shared_ptr<FloatBuffer> buffer = nullptr) {
  return make_collective(options, elements, sink, std::move(buffer));
}

}  // namespace weft
