// What a try sends: the bytes of one type of frame with one kind of content, drawn from a seed.
//
// Threads: values. Fails: never.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "frame_makers.h"
#include "raw_link.h"

namespace weft::hostile {

enum class Content : std::uint8_t {
  kRight,      // in good order, with what is so at present
  kWrong,      // other values in one field or all, other bytes, the other lane, an unwanted body
  kOld,        // in good order, with what was so at first
  kHuge,       // lists, texts and bodies at their bounds and beyond, lengths without bytes
  kTruncated,  // ends too early, with true lengths or without
  kReplayed,   // what this or another peer has said or heard before
  kFlood,      // the same, many times over
};
std::optional<Content> parse_content(std::string_view name);
// Frames of a flood.
inline constexpr std::size_t kFloodFrames = 200;

struct Shot {
  Lane lane = Lane::kControl;
  Bytes bytes;
};

// What was said on links of this run, a few frames of each type.
class Recording {
 public:
  void add(std::uint8_t type, Bytes head, Bytes body);
  // None of that type: nothing.
  std::optional<HeardFrame> any(std::uint8_t type, Rng& rng) const;

 private:
  std::map<std::uint8_t, std::deque<HeardFrame>> frames_;
};

struct Knowledge {
  Facts now;
  // As it was when the run was met first.
  Facts first;
  Recording recording;
};

std::vector<Shot> make_shots(const FrameKind& kind, Content content, const Knowledge& knowledge,
                             Rng& rng);

}  // namespace weft::hostile
