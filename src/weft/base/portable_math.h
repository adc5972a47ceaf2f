// Functions whose bits are the same on every processor and with every C library.
//
// The C library's exp, log, pow and cos have one code for processors with fused multiply-add and
// another for those without, and their last bits differ. Whatever members of a swarm compute for
// themselves and must agree on uses these: only +, -, *, / and the exact floor, frexp and ldexp.
// They are within a few units of the last place, powers within about as many units as the exponent.
// Threads: any. Fails: never; what has no value is NaN.
#pragma once

namespace weft {

// 0 beneath and infinity beyond the range of double.
double portable_exp(double x);
// Natural; -infinity for 0.
double portable_log(double x);
// `base` to the power of `exponent`. REQUIRES: base >= 0.
double portable_pow(double base, double exponent);
// REQUIRES: |x| <= 1000.
double portable_cos(double x);

}  // namespace weft
