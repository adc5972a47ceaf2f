// What tests of verified collectives need beside a CollectiveNetwork: names and signers.
//
// Threads: one owner. For tests.
#pragma once

#include <memory>
#include <string>

#include "weft/base/hash.h"
#include "weft/collective/reduce/test_core_network.h"
#include "weft/collective/verify/sim_signer.h"

namespace weft {

inline PeerId verified_peer_id(int rank) {
  return {sha256(as_bytes("verified peer " + std::to_string(rank)))};
}

// `options` with each chunk repeated by so many members.
inline CollectiveOptions verified(CollectiveOptions options, int verifiers) {
  options.verification.verifiers = verifiers;
  for (int rank = 0; rank < options.size; ++rank) {
    options.verification.members.push_back(verified_peer_id(rank));
  }
  return options;
}

inline CollectiveOptions signing(CollectiveOptions options) {
  options.verification.signer = make_sim_signer(verified_peer_id(options.rank.value()));
  return options;
}

// Honest members.
inline std::unique_ptr<Collective> make_signing(const CollectiveOptions& options,
                                                std::int64_t elements, CollectiveSink& sink) {
  return make_collective(signing(options), elements, sink);
}

}  // namespace weft
