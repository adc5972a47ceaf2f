#include "weft/collective/parts/swarm_fingerprint.h"

namespace weft {

void write_fingerprint(Fingerprint& out, const Status& value) { out.add(value.code()); }

void write_fingerprint(Fingerprint& out, const CollectiveId& value) {
  out.add(value.view);
  out.add(value.round);
}

void write_fingerprint(Fingerprint& out, const RoundOutcome& value) {
  out.add(value.round);
  out.add(value.status);
  out.add(value.hash);
}

void write_fingerprint(Fingerprint& out, const StandIn& value) {
  out.add(value.deadline > Duration::zero());
  out.add(value.elements);
  out.add(!value.carried.empty());
}

void write_fingerprint(Fingerprint& out, const RoundWait& value) {
  out.add(value.round);
  out.add(value.elements);
  out.add(value.computing);
  out.add(value.owing);
}

void write_fingerprint(Fingerprint& out, const StateFetch::Snapshot& value) {
  out.add(value.round);
  out.add(value.root);
}

void write_fingerprint(Fingerprint& out, const StateHistory& value) {
  out.add(value.branch);
  out.add(value.samples);
  out.add(value.absorbed);
}

void write_fingerprint(Fingerprint& out, const AbsorbedBranch& value) {
  out.add(value.branch);
  out.add(value.until);
}

void write_fingerprint(Fingerprint& out, const MergeDirective& value) {
  out.add(value.branch);
  out.add(value.view);
  out.add(value.round);
  out.add(value.snapshot);
  out.add(value.samples);
  out.add(value.own_samples);
}

void write_fingerprint(Fingerprint& out, const HeldClaim& value) {
  out.add(value.generation);
  out.add(value.round);
  out.add(value.view_generation);
}

void write_fingerprint(Fingerprint& out, const HeldStateMessage& value) {
  out.add(xxh3_128(value.encode()));
}

void write_fingerprint(Fingerprint& out, const PastRun& value) {
  out.add(value.run);
  out.add(value.generation);
  out.add(value.until);
  out.add(value.proof);
}

}  // namespace weft
