// The library's messages in the words that a Python program uses: weft.float32 for f32,
// weft.no_grad() for NoGrad, retain_graph=True for keep_graph, cat for concat.
#pragma once

#include <string>
#include <string_view>

namespace weft::python {

std::string in_words_of_python(std::string_view message);

}  // namespace weft::python
