// cpuid without AVX-512 (older_processor.cpp).
#pragma once

// From now on, for the whole process. REQUIRES: x86-64.
void answer_as_an_older_processor();
// How often the library has asked.
int answers_of_an_older_processor();
