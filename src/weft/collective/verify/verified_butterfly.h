// VerifiedButterfly: a butterfly by a robust rule whose chunk owners may lie.
//
//   commitment  to all: hashes of the input by owner, and of a nonce      | from all, before
//   inputs      to each owner, who checks them against the commitments    | anything else is sent
//   tables      to all, signed (rules that need distances)
//   results     to all: the finished chunk, and its hash, signed
//   echo        to all, once all is here: what each member signed, and the nonce
//   verdicts    to all: a few members for each chunk, drawn from all nonces, have repeated it
//
// It is complete once all echoes agree and each chunk was repeated with the same bits by those that
// were drawn for it, so a falsified chunk is never handed on unless all of them lie as well. No
// member knows which ones are drawn before all results are signed; a member that signs two results,
// tables or commitments is convicted by the two.
//
// Every member can check each lie: "chunk C is false" makes all members fetch the inputs of C,
// which the commitments fix, and repeat it; then each knows whether its owner or the accuser lied.
// "The input of member I is not what it committed to" makes all fetch that input; those that get
// the right one send it on to the member that lacks it. What a member does to a single other one,
// only that one can know (ExchangeFinding); the swarm expels a member about which most others have
// findings.
//
// IMPLEMENTATION: commitments before data, and random members that repeat an owner's work, after
// E. Gorbunov, A. Borzunov, M. Diskin, M. Ryabinin, "Secure distributed training at scale", ICML
// 2022 (BTARD); draws from nonces that were committed to, after M. Blum, "Coin flipping by
// telephone", 1981. We check before the result is applied, not after, and need no broadcast
// channel: signed statements and echoes take its place.
//
// Bytes that a member sends: 2 (n-1)/n of the vector as a butterfly, and (n-1)/n for each verifier.
// Memory: the vector twice, the inputs of its own chunk, and those of each chunk that it repeats.
// The exchange begins once all input is given: the commitment needs all of it.
//
// Where it stands: make_collective() makes one where CollectiveOptions::verification demands it.
// Threads: one owner. Fails: as a Collective.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/verify/chunk_inputs.h"
#include "weft/collective/verify/chunk_table.h"
#include "weft/collective/verify/statement_book.h"
#include "weft/wire/verify_message.h"

namespace weft {

class VerifiedButterfly : public Collective {
 public:
  // REQUIRES: elements > 0, more than one member, the names of all and a signer.
  VerifiedButterfly(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                    std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override { pump(to); }
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override { return table_.segment_count(); }
  bool contributed() const override { return covered_ == elements_; }
  bool complete() const override { return complete_; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }
  std::vector<ExchangeFinding> take_findings() override { return std::exchange(findings_, {}); }

  // The members that repeat each chunk, by owner; empty before they are drawn.
  const std::vector<std::vector<Rank>>& verifiers() const { return verifiers_; }

 protected:
  // A frame on its way to the sink.
  struct Outgoing {
    CollectiveOp op{};
    std::uint32_t segment = 0;
    SharedBytes body;
  };
  // --- Where the liars of weft/attack lie, in tests; others leave these as they are.
  virtual void on_measured(Distances& /*table*/) {}
  virtual void on_combined(std::span<float> /*chunk*/) {}
  virtual bool judges(Rank /*owner*/, bool right) { return right; }
  // False: the frame is not sent.
  virtual bool on_sending(Rank /*to*/, Outgoing& /*frame*/) { return true; }
  const ChunkTable& chunks() const { return table_; }
  const StatementBook& book() const { return book_; }

 private:
  // The chunk of one owner.
  struct Chunk {
    // Which of its segments are here; how many.
    std::uint32_t here = 0;
    // All are here, as their owner signed them; or they differ from that.
    bool whole = false;
    bool spoilt = false;
    // This member repeats it; has done so, with that outcome.
    bool wanted = false;
    bool repeated = false;
    bool right = false;
    // By rank: whether the member has stated that the chunk is right, and that it is false.
    std::vector<bool> said_right;
    std::vector<bool> said_false;
  };
  struct Peer {
    bool open = false;
    std::deque<Outgoing> queue;
    std::optional<CommitmentMessage> commitment;
    std::optional<Distances> table;
    std::optional<EchoMessage> echo;
    // The chunks for which it wants this member's input, since its link is up.
    std::set<std::uint32_t> requests;
    int complaints = 0;
  };

  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.value()); }
  Peer& peer(Rank rank) { return peers_[index(rank)]; }
  const Peer& peer(Rank rank) const { return peers_[index(rank)]; }
  Chunk& chunk(Rank owner) { return state_[index(owner)]; }
  const Chunk& chunk(Rank owner) const { return state_[index(owner)]; }
  Rank owner(std::uint32_t segment) const { return table_.segment(segment).owner; }
  // The others first to last, from this member's successor on.
  template <class Use>
  void for_others(Use&& use) const {
    for (int step = 1; step < options_.size; ++step) {
      use(Rank((options_.rank.value() + step) % options_.size));
    }
  }

  // --- Sending (verified_butterfly.cpp).
  void enqueue(Rank to, Outgoing frame);
  void enqueue_all(CollectiveOp op, std::uint32_t segment, const Bytes& body);
  // This member's input for a segment, and a segment of the result.
  SharedBytes own_piece(std::uint32_t segment) const;
  SharedBytes finished_piece(std::uint32_t segment) const;
  void enqueue_input(Rank to, Rank chunk_owner, Rank contributor);
  void serve_requests(Rank to);
  void pump(Rank to);

  // --- Frames (verified_frames.cpp).
  Status check_segment(Rank from, const SegmentHead& head, std::size_t body_bytes) const;
  Status take_frame(Rank from, const SegmentHead& head, ByteSpan body);
  Status take_commitment(Rank from, ByteSpan body);
  Status take_input(Rank from, std::uint32_t segment, ByteSpan body);
  Status take_table(Rank from, ByteSpan body);
  Status take_final(std::uint32_t segment, ByteSpan body);
  Status take_statements(Rank from, ByteSpan body);
  Status take_statement(Rank from, const Statement& statement);
  Status take_echo(Rank from, ByteSpan body);
  Status take_request(Rank from, std::uint32_t chunk_number);
  Status take_handed_on(Rank source, std::uint32_t number, ByteSpan body);

  // --- The steps (verified_steps.cpp): each does what is due, once.
  void advance();
  void commit();
  bool all_committed() const;
  void begin_sending();
  void measure();
  void select();
  void combine();
  void check_result(Rank owner);
  bool everything_signed() const;
  void echo();
  void draw();
  bool echo_holds(Rank from);
  void finish();

  // --- Repeated chunks and what is found (verified_findings.cpp).
  void want_input(Rank chunk_owner, Rank contributor);
  void on_input(Rank chunk_owner, Rank contributor);
  void on_false_input(Rank chunk_owner, Rank contributor);
  void repeat(Rank owner);
  void conclude(Rank owner, std::span<const float> values, bool right);
  void take_false(const Statement& statement);
  void take_complaint(const Statement& statement);
  // The input that the complainer lacks, if it is here.
  void hand_on(const Statement& complaint);
  void contradict(const Statement& first, const Statement& second);
  void spread(std::vector<Statement> statements);
  bool settled(Rank owner) const;
  // The member that a repetition waits for; this one if none.
  Rank repeat_waits_for() const;
  void find(Rank member, std::string text);

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  const bool measures_;
  CollectiveSink& sink_;
  const ChunkTable table_;
  StatementBook book_;
  ChunkInputs inputs_;
  std::shared_ptr<FloatBuffer> input_;
  std::shared_ptr<FloatBuffer> result_;
  std::int64_t covered_ = 0;
  std::vector<Peer> peers_;
  std::vector<Chunk> state_;
  std::vector<bool> final_here_;

  // What this member has sent to all others, once it has.
  Bytes commitment_;
  bool sending_ = false;
  Bytes own_table_;
  std::optional<WeightMatrix> weights_;
  Bytes own_result_;
  Bytes own_echo_;
  std::vector<Bytes> own_verdicts_;
  // Statements that all members should have, from any sender, and which of them are here.
  std::vector<Bytes> spread_;
  std::set<Bytes> spread_before_;
  std::vector<std::vector<Rank>> verifiers_;
  // (chunk, contributor) of inputs that this member has asked for, and that came wrong; whose
  // complaints are open.
  std::set<std::pair<int, int>> wanted_inputs_;
  std::set<std::pair<int, int>> false_inputs_;
  std::vector<Statement> complaints_;
  std::set<std::pair<StatementKind, std::uint32_t>> contradicted_;
  // Somebody's lie is proved to all: this exchange cannot end.
  bool void_ = false;
  bool complete_ = false;
  std::vector<ExchangeFinding> findings_;
  std::set<std::pair<int, std::string>> found_;
};

}  // namespace weft
