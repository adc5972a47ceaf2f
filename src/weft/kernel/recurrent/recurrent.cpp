#include "weft/kernel/recurrent/recurrent.h"

#include <algorithm>

#include "weft/array/launch.h"
#include "weft/kernel/recurrent/recurrent_walk.h"

namespace weft {
namespace {

// in: hidden, cell, lengths. out: the output with what it has of the last state.
template <class T>
void output_body(LaunchArrays in, LaunchArrays out, const RecurrentRun& run) {
  const Walk walk = walk_of(in[0], run);
  const std::int64_t* const lengths = recurrent_values<std::int64_t>(in[2]);
  const std::int64_t state = walk.batch * walk.width;
  const T* const hidden = in[0].data<T>();
  T* to = out[0].data<T>();
  for (std::int64_t t = 0; t < walk.steps; ++t) {
    for (std::int64_t n = 0; n < walk.batch; ++n, to += walk.width) {
      if (lives(lengths, n, t)) {
        std::copy_n(hidden + walk.row(walk.after(t), n) * walk.width, walk.width, to);
      } else {
        std::fill_n(to, walk.width, T{0});
      }
    }
  }
  const std::int64_t last = run.reverse ? 0 : walk.steps * state;
  if (out[0].dim(0) > walk.steps) to = std::copy_n(hidden + last, state, to);
  if (out[0].dim(0) > walk.steps + 1) std::copy_n(in[1].data<T>() + last, state, to);
}

Array copied_output(const RecurrentTrace& trace, const Array& lengths, const RecurrentRun& run,
                    std::int64_t rows) {
  const Array& hidden = trace.hidden;
  Array out = Array::empty({rows, hidden.dim(1), hidden.dim(2)}, hidden.dtype(), hidden.device());
  launch("recurrent_output", {&hidden, &trace.cell, &lengths}, {&out},
         [run](LaunchArrays in, LaunchArrays to) {
           if (to[0].dtype() == DType::kF64) return output_body<double>(in, to, run);
           output_body<float>(in, to, run);
         });
  return out;
}

}  // namespace

Array recurrent_output(const RecurrentTrace& trace, const Array& lengths, const RecurrentRun& run) {
  const std::int64_t steps = trace.hidden.dim(0) - 1;
  if (lengths.defined()) return copied_output(trace, lengths, run, steps);
  const std::int64_t first = run.reverse ? 0 : 1;
  return trace.hidden.slice(0, first, first + steps);
}

Array recurrent_output_and_state(const RecurrentTrace& trace, const Array& lengths,
                                 const RecurrentRun& run) {
  return copied_output(trace, lengths, run, trace.hidden.dim(0) + (trace.cell.defined() ? 1 : 0));
}

}  // namespace weft
