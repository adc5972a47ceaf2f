// How far members are to be trusted whose histories are alike: FoolsGold's weights.
// Threads: pure. Fails: never.
#pragma once

#include <span>
#include <vector>

namespace weft {

// For each history a weight from 0 to 1 that falls with its largest cosine to another one, which is
// reduced first for those that are less alike to their nearest than that one is to its own. A
// history without length is like no other. REQUIRES: histories of one length, of finite length.
std::vector<double> trust_by_likeness(std::span<const std::span<const float>> histories);

// Whether its length is a number.
bool has_finite_length(std::span<const float> history);

}  // namespace weft
