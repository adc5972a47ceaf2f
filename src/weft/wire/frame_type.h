// The number of every frame type, in one place, so that no two families share one.
//
//   0x01-0x0f  links: used inside net, never shown above it
//   0x10-0x2f  membership
//   0x30-0x4f  collectives
//   0x50-0x6f  state transfer
//   0x70-0x7f  gossip
//   0x90-0x9f  methods of loose exchange
//   0x80-0x8f  parked links: used inside net, never shown above it
#pragma once

#include <cstdint>

namespace weft::frame_type {

// Links (wire/link_message.h).
inline constexpr std::uint8_t kHello = 0x01;
inline constexpr std::uint8_t kHelloReply = 0x02;
inline constexpr std::uint8_t kGoodbye = 0x03;
// Peers that bring two others together (wire/reach_message.h).
inline constexpr std::uint8_t kIntroduce = 0x04;
inline constexpr std::uint8_t kIntroduction = 0x05;
inline constexpr std::uint8_t kRelayOffer = 0x06;
inline constexpr std::uint8_t kReachRefused = 0x07;
inline constexpr std::uint8_t kLastReachType = 0x07;
// Two peers of one machine (wire/link_message.h).
inline constexpr std::uint8_t kShortcut = 0x08;
inline constexpr std::uint8_t kShortcutHello = 0x09;
inline constexpr std::uint8_t kLaneMoved = 0x0a;
// Several connections for one lane (wire/link_message.h).
inline constexpr std::uint8_t kConnections = 0x0b;
// Whether the process at the other end still answers (wire/link_message.h).
inline constexpr std::uint8_t kAlive = 0x0c;
inline constexpr std::uint8_t kLastLinkType = 0x0f;

// Membership (wire/membership_message.h).
inline constexpr std::uint8_t kHeartbeat = 0x10;
inline constexpr std::uint8_t kSuspicion = 0x11;
inline constexpr std::uint8_t kPrepare = 0x12;
inline constexpr std::uint8_t kPromise = 0x13;
inline constexpr std::uint8_t kAccept = 0x14;
inline constexpr std::uint8_t kAccepted = 0x15;
inline constexpr std::uint8_t kRejected = 0x16;
inline constexpr std::uint8_t kViewNotice = 0x17;
inline constexpr std::uint8_t kRemoved = 0x18;
inline constexpr std::uint8_t kOutside = 0x19;
inline constexpr std::uint8_t kLeaving = 0x1a;
inline constexpr std::uint8_t kJoiner = 0x1b;
// Branches (wire/branch_message.h).
inline constexpr std::uint8_t kBranch = 0x1e;
inline constexpr std::uint8_t kStanding = 0x1f;
// Who may take part (wire/admission_message.h).
inline constexpr std::uint8_t kAccusation = 0x1c;
inline constexpr std::uint8_t kRevocation = 0x1d;
// Joining (wire/join_message.h).
inline constexpr std::uint8_t kRecipeRequest = 0x20;
inline constexpr std::uint8_t kRecipe = 0x21;
inline constexpr std::uint8_t kJoinRequest = 0x22;
inline constexpr std::uint8_t kJoinAccepted = 0x23;
inline constexpr std::uint8_t kJoinRefused = 0x24;
inline constexpr std::uint8_t kAdmitRequest = 0x25;
// Who has the run's key (wire/admission_message.h).
inline constexpr std::uint8_t kMemberProof = 0x2c;
// The end of the run (wire/end_message.h).
inline constexpr std::uint8_t kRunOver = 0x2e;
inline constexpr std::uint8_t kLastMembershipType = 0x2f;

// Collectives (wire/collective_message.h).
inline constexpr std::uint8_t kSegment = 0x30;
inline constexpr std::uint8_t kReady = 0x31;
inline constexpr std::uint8_t kDone = 0x32;
inline constexpr std::uint8_t kFinished = 0x33;
inline constexpr std::uint8_t kStateHash = 0x34;
inline constexpr std::uint8_t kProgress = 0x35;
// Collectives that are not rounds (wire/group_message.h).
inline constexpr std::uint8_t kGroupSegment = 0x36;
inline constexpr std::uint8_t kGroupReady = 0x37;
inline constexpr std::uint8_t kGroupDone = 0x38;
inline constexpr std::uint8_t kLastGroupType = 0x3f;
// Rates and delays between members (wire/link_rate_message.h).
inline constexpr std::uint8_t kLinkReport = 0x40;
inline constexpr std::uint8_t kProbe = 0x41;
// What members report of a round beside its sums (wire/collective_message.h).
inline constexpr std::uint8_t kReport = 0x42;
inline constexpr std::uint8_t kLastCollectiveType = 0x4f;

// State transfer (wire/state_message.h).
inline constexpr std::uint8_t kStateQuery = 0x50;
inline constexpr std::uint8_t kStateOffer = 0x51;
inline constexpr std::uint8_t kBlockRequest = 0x52;
inline constexpr std::uint8_t kBlock = 0x53;
inline constexpr std::uint8_t kBlockMissing = 0x54;
inline constexpr std::uint8_t kResultRequest = 0x55;
inline constexpr std::uint8_t kResult = 0x56;
inline constexpr std::uint8_t kResultMissing = 0x57;
inline constexpr std::uint8_t kHeldState = 0x58;
inline constexpr std::uint8_t kStateReceived = 0x59;
inline constexpr std::uint8_t kLastStateType = 0x6f;

// Gossip (wire/gossip_message.h).
inline constexpr std::uint8_t kGossipBook = 0x70;
inline constexpr std::uint8_t kGossipParameters = 0x71;
inline constexpr std::uint8_t kGossipAbsent = 0x72;
inline constexpr std::uint8_t kGossipParametersRequest = 0x73;
inline constexpr std::uint8_t kGossipWelcome = 0x74;
inline constexpr std::uint8_t kLastGossipType = 0x7f;

// Parked links (wire/parking_message.h).
inline constexpr std::uint8_t kParkAsk = 0x80;
inline constexpr std::uint8_t kParkAnswer = 0x81;
inline constexpr std::uint8_t kParkDone = 0x82;
inline constexpr std::uint8_t kParkResume = 0x83;
inline constexpr std::uint8_t kRouted = 0x84;
inline constexpr std::uint8_t kFirstParkingType = 0x80;
inline constexpr std::uint8_t kLastParkingType = 0x8f;

// Methods of loose exchange (wire/mix_message.h).
inline constexpr std::uint8_t kMixGiven = 0x90;
inline constexpr std::uint8_t kMixReturned = 0x91;
inline constexpr std::uint8_t kMixReceived = 0x92;
inline constexpr std::uint8_t kMixRoster = 0x93;
inline constexpr std::uint8_t kMixLeaving = 0x94;
inline constexpr std::uint8_t kLastMixType = 0x9f;

}  // namespace weft::frame_type
