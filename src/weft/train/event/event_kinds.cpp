// The one table of event kinds; see event.h.
#include <algorithm>

#include <fmt/format.h>

#include "weft/train/event/event.h"

namespace weft {
namespace {

constexpr EventFieldDoc kTicket[] = {
    {"ticket", "text", "What another person passes to `weft join`."},
    {"run_id", "text", "The run's id, 64 hexadecimal digits."},
    {"valid_h", "integer", "For how many hours the ticket lets others join."},
    {"code", "text",
     "A code that can be passed instead on the same network; for founders that answer there."},
};
constexpr EventFieldDoc kStarted[] = {
    {"run_id", "text", "The run's id."},
    {"peer_id", "text", "This peer's id, 64 hexadecimal digits."},
    {"peer", "text", "Its short name, as other events write it."},
    {"role", "text", "founder, joiner, resumed, or the rank in an engine with fixed members."},
    {"model", "text", "Name of the model."},
    {"parameters", "integer", "Number of parameters."},
    {"data", "text", "Name of the dataset."},
    {"train_samples", "integer", "Samples of the training set."},
    {"steps", "integer", "Optimizer steps of the whole run."},
    {"global_batch", "integer", "Samples per step, over all members."},
    {"threads", "integer", "Compute threads of this peer."},
};
constexpr EventFieldDoc kFirstStep[] = {
    {"seconds", "number", "From the start of the process to the start of its first round."},
};
constexpr EventFieldDoc kStateLoaded[] = {
    {"round", "integer", "The round after which the state was taken."},
    {"bytes", "integer", "Size of the state."},
    {"seconds", "number", "From the start of the process until the state was here."},
};
constexpr EventFieldDoc kRound[] = {
    {"round", "integer", "The round."},
    {"rounds", "integer", "Rounds of the whole run, without the evaluation."},
    {"step", "integer", "Optimizer steps in the state; with local.steps, several per round."},
    {"steps", "integer", "Optimizer steps of the whole run."},
    {"loss", "number", "Mean training loss per label over the global batch."},
    {"accuracy", "number",
     "Share of the labels (of tokens, for texts) that were predicted right; "
     "null where they are values."},
    {"bits_per_character", "number", "Texts: the loss in bits per character."},
    {"members", "integer",
     "Members that shared the round; in a loose exchange those that this peer knows to be there."},
    {"neighbours", "integer",
     "Loose exchange: members whose part this peer waited for; with gossip those that it has sent "
     "its parameters to."},
    {"mixed", "integer", "Loose exchange: those of them whose part is in what it combined."},
    {"distance", "number",
     "Loose exchange: of this peer's parameters from what it went on with, over the norm of its "
     "own."},
    {"rank", "integer", "This peer's position among them."},
    {"share", "integer", "Samples of one step's batch that this peer computed."},
    {"learning_rate", "number", "The rate of this step."},
    {"round_seconds", "number", "Time of this round, reruns included."},
    {"samples_per_second", "number",
     "Samples per second over recent rounds: of the whole group, with gossip of this peer."},
    {"eta_s", "number", "Seconds until the last step at that speed."},
    {"compute_share", "number", "Share of recent time spent on forward, backward and optimizer."},
    {"wait_share", "number", "Share spent waiting for other members."},
    {"send_share", "number", "Share spent while this peer's own data was still being sent."},
    {"bytes_sent", "integer", "Bytes this peer has sent so far."},
    {"bytes_received", "integer", "Bytes this peer has received so far."},
    {"state", "text", "XXH3-128 of the state after the round."},
    {"virtual_seconds", "number",
     "`weft sim`: since the beginning. Its other times are virtual, too, and its bytes of all "
     "peers."},
};
constexpr EventFieldDoc kSimulated[] = {
    {"peers", "integer", "Peers that the run began with."},
    {"seed", "integer", "Seed of the simulation."},
    {"rounds", "integer", "The last round that was applied, the evaluation included."},
    {"virtual_seconds", "number", "The virtual time at the end, counted from the start."},
    {"loss", "number", "The loss of the last training round."},
    {"test_loss", "number", "The loss on the test set, if the run has measured it."},
    {"test_accuracy", "number", "Likewise."},
    {"members_accuracy", "number",
     "Where members mix and each has a model of its own, up to 64 of them: the mean of what these "
     "reach on the test set."},
    {"attack_rate", "number",
     "With an attack on data: the share of the test set's attacked samples that the result takes "
     "for what the attack wants."},
    {"component_members", "numbers",
     "After disruptions, up to 64 members: how many are in each connected part of the graph that "
     "is left, the largest first."},
    {"component_accuracies", "numbers", "The mean of what the members of each part reach."},
    {"bytes_sent", "integer", "Bytes sent by all peers: frames including their heads."},
    {"bytes_received", "integer", "Likewise; what was on its way to a crashed peer is missing."},
    {"finished", "integer", "Peers that have the last state."},
    {"crashed", "integer", "Peers that crashed."},
    {"events", "integer", "Events that were simulated."},
    {"event_hash", "text", "Over all of them and every state; the same for the same seed."},
    {"state_hash", "text",
     "SHA-256 of the last state, as in summary.json; with gossip over `peer_states`."},
    {"peer_ids", "list", "Gossip: the ids of the peers that came to the end."},
    {"peer_states", "list", "Gossip: SHA-256 of the last state of each, as in its summary.json."},
    {"distance", "number",
     "Gossip: root mean square distance of the peers' parameters from their mean, over its norm."},
    {"fault", "text", "Why the run did not come to its end; empty: it did."},
};
constexpr EventFieldDoc kPeerRound[] = {
    {"peer", "text", "Short name of the peer."},
    {"round", "integer", "The round."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kPeers[] = {
    {"peers", "list", "Short names of the members, in ring order."},
    {"details", "list", "For each, its condition in words."},
};
constexpr EventFieldDoc kTimings[] = {
    {"peer", "text", "Short name of this peer."},
    {"peers", "list", "Short names of the members, in ring order."},
    {"round", "integer", "The newest round."},
    {"rounds", "integer", "Number of rounds behind the medians."},
    {"round_seconds", "number", "Usual time of a round."},
    {"round_bytes", "number", "Bytes that this peer sends in a round."},
    {"compute_seconds", "numbers",
     "For each member, what it reports of the time that it computes in a round: the median; -1: "
     "nothing."},
    {"entry_seconds", "numbers",
     "For each member, how long after this peer's beginning of a round its report came: the "
     "median; -1: it did not."},
    {"send_rates", "numbers",
     "For each member, the bytes per second at which the link to it took data that waited; 0: it "
     "always kept up."},
    {"link_rates", "numbers",
     "For each receiver in turn, the bytes per second of the links from each member to it, as the "
     "receivers have measured them; 0: not known."},
};
constexpr EventFieldDoc kViewChanged[] = {
    {"number", "integer", "Number of the view."},
    {"members", "list", "Short names, in ring order."},
    {"reason", "text", "Why the members agreed on it."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kPeerLeft[] = {
    {"peer", "text", "Short name of the peer."},
    {"reason", "text", "Why it counts as gone."},
    {"round", "integer", "The round in which it was missed."},
    {"seconds_lost", "number", "The time that its loss has cost so far."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kRerun[] = {
    {"round", "integer", "The round that was run again."},
    {"members", "integer", "Members that share it now."},
    {"reason", "text", "Why."},
    {"seconds_lost", "number", "From the first start of the round to its new start."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kQuorumLost[] = {
    {"missing", "list", "Short names of the unreachable members."},
    {"reason", "text", "What is known about it."},
    {"action", "text", "What this peer does, and what a person can do."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kQuorumBack[] = {
    {"reason", "text", "Who is back."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kSplit[] = {
    {"branch", "text", "Short name of the branch."},
    {"round", "integer", "The last round that it shares with the others."},
    {"members", "list", "Short names of its members, in ring order."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kYielding[] = {
    {"branch", "text", "Short name of the branch that takes this one's state."},
    {"round", "integer", "The last round before."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kMerged[] = {
    {"branch", "text", "Short name of the branch whose state was absorbed."},
    {"round", "integer", "The round of this branch after which it was averaged."},
    {"weight", "number", "Its weight in the mean."},
    {"samples", "integer", "Samples that it had trained on since the split."},
    {"own_samples", "integer", "Samples that this branch had trained on since then."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kMeasuring[] = {
    {"samples", "integer", "Samples that are measured."},
    {"of", "integer", "Samples of this member's part of the test set."},
    {"seconds", "number", "Since the measurement began."},
};
constexpr EventFieldDoc kRefused[] = {
    {"peer", "text", "Short name or address of the refused peer."},
    {"reason", "text", "Why."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kMisconduct[] = {
    {"peer", "text", "Short name of the peer that did something no correct peer does."},
    {"by", "list", "Short name of the member that reports it."},
    {"text", "text",
     "What was observed, and whether it is an accusation: a vote to expel the "
     "peer."},
};
constexpr EventFieldDoc kTicketRevoked[] = {
    {"peer", "text", "Short name of the member that revoked it."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kTwin[] = {
    {"peer", "text", "Short name of the peer whose identity two processes use."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kRing[] = {
    {"round", "integer", "The last round in the present order."},
    {"members", "list", "Short names of the members in the order that is proposed."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kLinkUp[] = {
    {"peer", "text", "Short name of the peer at the other end."},
    {"path", "text", "direct, mapped (a port opened by a router), punched or relayed."},
    {"via", "text", "Short name of the peer that introduced or relays; empty for other paths."},
    {"endpoint", "text", "The address to which the connection goes, or from which it comes."},
    {"inbound", "flag", "Whether the other peer dialled."},
    {"reason", "text", "Why this path and not a more direct one."},
};
constexpr EventFieldDoc kMismatch[] = {
    {"round", "integer", "The round after which the states differ."},
    {"peer", "text", "Short name of the member whose state differs."},
    {"tensor", "text", "The first tensor that differs."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kCheckpoint[] = {
    {"path", "text", "The file."},
    {"step", "integer", "The step after which the state was written."},
    {"bytes", "integer", "Size of the file."},
};
constexpr EventFieldDoc kCheckpointFailed[] = {
    {"step", "integer", "The step after which the state should have been written."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kEvaluation[] = {
    {"samples", "integer", "Test samples, over all members."},
    {"accuracy", "number",
     "Share of the labels that were predicted right; null where they are values."},
    {"loss", "number", "Mean loss per label."},
    {"bits_per_character", "number", "Texts: the loss in bits per character."},
    {"mae", "number", "Values: mean absolute error, in the units of the targets."},
    {"r2", "number", "Values: share of their variance that the model explains, at most 1."},
};
constexpr EventFieldDoc kValidation[] = {
    {"step", "integer", "The step after which the state was measured."},
    {"samples", "integer", "Test samples, over all members."},
    {"accuracy", "number",
     "Share of the labels that were predicted right; null where they are values."},
    {"loss", "number", "Mean loss per label."},
    {"bits_per_character", "number", "Texts: the loss in bits per character."},
    {"best", "flag", "Whether no state before it had a loss as small."},
    {"best_step", "integer", "The step of the smallest loss so far; 0: none was a number."},
};
constexpr EventFieldDoc kStopped[] = {
    {"step", "integer", "The step after which the run stopped."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kInterrupted[] = {
    {"action", "text", "What happens next."},
};
constexpr EventFieldDoc kFailed[] = {
    {"reason", "text", "What went wrong."},
    {"action", "text", "What a person can do."},
};
constexpr EventFieldDoc kProcess[] = {
    {"process", "integer", "Number of the local process, from 1."},
    {"pid", "integer", "Its process id."},
    {"text", "text", "What happened to it."},
};
constexpr EventFieldDoc kPeerFault[] = {
    {"peer", "text", "Short name of the peer."},
    {"process", "integer", "Number of the local process."},
    {"round", "integer", "The newest round at that moment."},
};
constexpr EventFieldDoc kAuditInput[] = {
    {"round", "integer", "The round."},
    {"view", "integer", "Number of the view in which it is run."},
    {"view_hash", "text", "The first digits of that view's hash."},
    {"elements", "integer", "Elements of the vector."},
    {"samples", "number", "Samples that it contains."},
    {"hash", "text", "XXH3-128 of its bytes."},
    {"magnitude", "number", "The sum of the absolute values."},
    {"projections", "text",
     "Sums of its elements with fixed pseudo-random signs; those of the inputs add up to those of "
     "the sum."},
    {"values", "text", "A few of its elements, at equal distances."},
    {"rank", "integer", "This peer's position among the members."},
    {"members", "integer", "Members that share the round."},
};
constexpr EventFieldDoc kAuditSum[] = {
    {"round", "integer", "The round."},
    {"view", "integer", "Number of the view in which this peer got it."},
    {"view_hash", "text", "The first digits of that view's hash."},
    {"elements", "integer", "Elements of the vector."},
    {"samples", "number", "Samples that it contains."},
    {"hash", "text", "XXH3-128 of its bytes."},
    {"magnitude", "number", "The sum of the absolute values."},
    {"projections", "text", "As in audit_input."},
    {"values", "text", "As in audit_input."},
    {"caught_up", "flag",
     "Whether it came from another member's result log; this peer took no "
     "part in it."},
};
constexpr EventFieldDoc kRunOver[] = {
    {"round", "integer", "The last round of the run."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kNote[] = {
    {"text", "text", "Something worth knowing."},
};
constexpr EventFieldDoc kLostLines[] = {
    {"lines", "integer", "How many lines are missing here."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kWaiting[] = {
    {"round", "integer", "The round that waits."},
    {"peers", "list", "Short names of the members for which it waits."},
    {"seconds", "number", "For how long no data has arrived."},
    {"limit_s", "number", "After this time the others go on without them."},
    {"absent", "list", "Short names of the members whose report is not here."},
    {"unsent", "list", "Short names of the members for which data waits to be sent."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kWaitOver[] = {
    {"round", "integer", "The round that goes on."},
    {"peers", "list", "Short names of the members for which it waited."},
    {"seconds", "number", "For how long no data had arrived."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kNotFinite[] = {
    {"round", "integer", "The first round whose loss is not a number."},
    {"own", "flag", "Whether this peer's own part of it was not a number."},
    {"text", "text", "The whole sentence for people."},
};
constexpr EventFieldDoc kSummary[] = {
    {"run_id", "text", "The run's id."},
    {"peer_id", "text", "This peer's id."},
    {"steps", "integer", "Optimizer steps in the state."},
    {"rounds", "integer", "Rounds of training in the state."},
    {"final_loss", "number", "Training loss of the last round; null for a peer that saw none."},
    {"test_accuracy", "number", "Accuracy on the test set; null if it was not measured."},
    {"test_loss", "number", "Mean loss per label on the test set; null if it was not measured."},
    {"test_bits_per_character", "number", "Texts: that loss in bits per character."},
    {"test_mae", "number", "Values: mean absolute error on the test set, in their units."},
    {"test_r2", "number", "Values: share of their variance explained on the test set, at most 1."},
    {"state_hash", "text", "SHA-256 of parameters and optimizer state."},
    {"view_changes", "integer", "Views that came after this peer's first."},
    {"rounds_rerun", "integer", "Rounds that had to be run again."},
    {"seconds", "number", "From the start of the process to its end."},
    {"seconds_lost", "number", "Time of rounds that had to be run again."},
    {"bytes_sent", "integer", "Bytes sent to other peers."},
    {"bytes_received", "integer", "Bytes received from other peers."},
    {"samples_per_second", "number",
     "Samples of the whole group, with gossip of this peer, per second of training; null for a "
     "peer that was in no round."},
    {"not_finite_round", "integer", "If there was one: the first whose loss was not a number."},
    {"best_step", "integer", "With run.evaluate_every_steps: the step of the smallest test loss."},
    {"best_loss", "number", "With run.evaluate_every_steps: that loss."},
    {"members", "integer",
     "Loose exchange: members that this peer knew to be there in its last round."},
    {"neighbours", "integer", "Loose exchange: members whose part it waited for in that round."},
    {"distance", "number", "Gossip: that of its last round."},
    {"missed", "integer", "Gossip: parameters of neighbours that did not come in time, in all."},
    {"rounds_left_out", "integer", "Gossip: rounds that were left out to catch up with others."},
    {"status", "text",
     "finished, left, stopped (the loss was not a number), quorum_lost, missed or failed."},
};

constexpr EventKindDoc kKinds[] = {
    {"ticket",
     "What others need to join: the first event of a founder, and of a newcomer once it is a "
     "member.",
     kTicket},
    {"started", "This peer has its recipe, data and model.", kStarted},
    {"first_step", "This peer begins its first round.", kFirstStep},
    {"state_loaded", "A newcomer holds the state of the group.", kStateLoaded},
    {"round", "A round is committed and applied.", kRound},
    {"peers", "The condition of each member; at most once a second.", kPeers},
    {"timings",
     "How long members compute and how fast their links are, for `weft doctor --run`; every two "
     "seconds, less often in large groups.",
     kTimings},
    {"view_changed", "The members agreed on a new member list.", kViewChanged},
    {"joiner_syncing", "A newcomer takes the state while the others go on.", kPeerRound},
    {"peer_joined", "A newcomer became a member.", kPeerRound},
    {"peer_left", "A member is gone.", kPeerLeft},
    {"round_rerun", "A round was run again without a lost member.", kRerun},
    {"quorum_lost", "Half of the group or more is unreachable.", kQuorumLost},
    {"quorum_back", "Enough members are reachable again.", kQuorumBack},
    {"split",
     "group.on_split = \"merge\": members that are cut off from the others go on by themselves.",
     kSplit},
    {"yielding",
     "Branches of the run have found each other: this one stops, and the other one averages its "
     "state with its own.",
     kYielding},
    {"merged",
     "Branches of the run have found each other: this one has averaged the other one's "
     "state with its own.",
     kMerged},
    {"join_refused", "Somebody asked to join and was refused.", kRefused},
    {"link_up", "A link to a member, or to a newcomer that has proved its ticket, is up.", kLinkUp},
    {"link_refused", "A connection was refused or broke the protocol.", kRefused},
    {"misconduct", "A peer broke the rules, or a member accuses it of that.", kMisconduct},
    {"identity_twin", "Another process uses a member's identity; it was refused.", kTwin},
    {"ring_proposed", "This member has found an order of the ring in which rounds are shorter.",
     kRing},
    {"ticket_revoked", "A ticket is no longer valid.", kTicketRevoked},
    {"state_mismatch", "Two members hold different states.", kMismatch},
    {"checkpoint", "The state was written to disk.", kCheckpoint},
    {"checkpoint_failed",
     "The state could not be written to disk, for the first time since the last success; it is "
     "tried again at the next occasion.",
     kCheckpointFailed},
    {"evaluation", "The test set was measured by all members together.", kEvaluation},
    {"measuring",
     "The progress of a measurement of the test set that takes longer than half a second; once a "
     "second.",
     kMeasuring},
    {"validation",
     "run.evaluate_every_steps: the state before this round was measured on the test set, by all "
     "members together.",
     kValidation},
    {"stopped", "run.early_stop_patience: all members stop at the same round.", kStopped},
    {"run_over",
     "The run has ended: a newcomer has its final state or still takes it, or members still serve "
     "it to newcomers.",
     kRunOver},
    {"interrupted", "A person pressed Ctrl-C, or the process was asked to end.", kInterrupted},
    {"failed", "This peer cannot go on.", kFailed},
    {"process", "A local process that this program started began or ended.", kProcess},
    {"peer_killed", "The demo killed a peer with SIGKILL.", kPeerFault},
    {"peer_added", "The demo let a new peer join.", kPeerFault},
    {"audit_input", "group.audit: this peer's input to a round, before the others have all of it.",
     kAuditInput},
    {"audit_sum", "group.audit: the result of a round, before it is applied.", kAuditSum},
    {"waiting", "A round has waited for members for more than 2 s, and still does.", kWaiting},
    {"overdue",
     "A round has waited for a member for so long that the member will be removed "
     "soon.",
     kWaiting},
    {"awaited", "The other members wait for this one.", kWaiting},
    {"waiting_over", "A wait that was reported is over.", kWaitOver},
    {"not_finite", "For the first time the loss of a round is not a number.", kNotFinite},
    {"lost_lines", "Lines were dropped: the disk was full, or nobody read.", kLostLines},
    {"note", "Something worth knowing.", kNote},
    {"simulated", "`weft sim`: the last event, the result of the whole simulation.", kSimulated},
    {"summary", "The last event: the fields of OUT/summary.json.", kSummary},
};

std::string_view type_of(const EventValue& value) {
  constexpr std::string_view kNames[] = {"flag", "integer", "number", "text", "list", "numbers"};
  return kNames[value.index()];
}

bool matches(std::string_view documented, const EventValue& value) {
  return documented == type_of(value) || (documented == "number" && type_of(value) == "integer");
}

}  // namespace

std::span<const EventKindDoc> event_kinds() { return kKinds; }

bool is_documented(const Event& event) {
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const EventKindDoc& known) { return known.kind == event.kind; });
  if (kind == std::end(kKinds)) return false;
  return std::all_of(event.fields.begin(), event.fields.end(), [&](const auto& field) {
    return std::any_of(kind->fields.begin(), kind->fields.end(), [&](const EventFieldDoc& known) {
      return known.name == field.first && matches(known.type, field.second);
    });
  });
}

std::string event_page() {
  std::string out =
      "# Events\n\n`OUT/events.jsonl` and `--json` hold one JSON object per line. Every object has "
      "`t` (Unix time in seconds)\nand `kind`; the other fields depend on the kind. Numbers that "
      "are not known are left out or null.\nThis page is written from the table in "
      "`src/weft/train/event/event_kinds.cpp`; a test compares them.\n";
  for (const EventKindDoc& kind : kKinds) {
    out += fmt::format("\n## {}\n\n{}\n\n| field | type | meaning |\n|---|---|---|\n", kind.kind,
                       kind.help);
    for (const EventFieldDoc& field : kind.fields) {
      out += fmt::format("| `{}` | {} | {} |\n", field.name, field.type, field.help);
    }
  }
  return out;
}

}  // namespace weft
