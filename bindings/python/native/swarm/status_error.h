// throw_status: a Status on its way to Python, for weft._swarm, which is a module of its own.
//
// The classes are those of weft._core (errors.h), so that one `except weft.TimeoutError` serves
// both modules. Threads: under the interpreter's lock.
#pragma once

#include "weft/base/status.h"

namespace weft::python {

// Throws the Python exception of the code with the Status' message. REQUIRES: !status.ok().
[[noreturn]] void throw_status(const Status& status);

}  // namespace weft::python
