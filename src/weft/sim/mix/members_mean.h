// The mean of several members' models, and how far they are from it.
// Threads: pure. Fails: never. REQUIRES: models of one length.
#pragma once

#include <span>
#include <vector>

namespace weft::sim {

using MemberModels = std::vector<std::span<const float>>;

// Added up in f64, in the order of the members. `elements` zeros where there is no member.
std::vector<float> members_mean(const MemberModels& models, std::size_t elements);
// Root mean square distance of the models from `mean`, over its norm; 0 where that is 0.
double members_distance(const MemberModels& models, std::span<const float> mean);

}  // namespace weft::sim
