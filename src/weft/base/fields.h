// WEFT_FIELDS: the members of a struct, each named once, and said to be told in a fingerprint or
// not.
//
//   struct Joiner {
//     bool ready = false;
//     TimePoint heard;
//     WEFT_FIELDS((ready), (heard))
//   };
//
// The first list is what tells two states apart; the second what does not: clocks, texts, and what
// follows from the rest. A member that is in neither list does not compile: names_all() takes the
// struct apart by a structured binding, which wants as many names as there are members.
//
// Threads: declarations. Fails: never.
#pragma once

#include <string_view>
#include <tuple>

#define WEFT_FIELDS(told_names, other_names)                                                  \
  template <class Self>                                                                       \
  static auto told(Self& self) {                                                              \
    return std::tie(WEFT_FIELDS_EACH(WEFT_FIELDS_OF_SELF, WEFT_FIELDS_BARE told_names));      \
  }                                                                                           \
  static constexpr std::string_view kTold = #told_names;                                      \
  template <class Self>                                                                       \
  static void names_all(const Self& self) {                                                   \
    [[maybe_unused]] const auto& [WEFT_FIELDS_BARE told_names WEFT_FIELDS_MORE other_names] = \
        self;                                                                                 \
  }

// Where all members are left out, or none is.
#define WEFT_FIELDS_UNTOLD(...)                        \
  template <class Self>                                \
  static auto told(Self& /*self*/) {                   \
    return std::tuple<>();                             \
  }                                                    \
  static constexpr std::string_view kTold = "none";    \
  template <class Self>                                \
  static void names_all(const Self& self) {            \
    [[maybe_unused]] const auto& [__VA_ARGS__] = self; \
  }

#define WEFT_FIELDS_BARE(...) __VA_ARGS__
#define WEFT_FIELDS_MORE(...) __VA_OPT__(, ) __VA_ARGS__
#define WEFT_FIELDS_OF_SELF(name) self.name

// macro(a), macro(b), ... for up to 64 names.
#define WEFT_FIELDS_PARENS ()
#define WEFT_FIELDS_EACH(macro, ...) \
  __VA_OPT__(WEFT_FIELDS_AGAIN(WEFT_FIELDS_NEXT(macro, __VA_ARGS__)))
#define WEFT_FIELDS_NEXT(macro, first, ...) \
  macro(first) __VA_OPT__(, WEFT_FIELDS_STEP WEFT_FIELDS_PARENS(macro, __VA_ARGS__))
#define WEFT_FIELDS_STEP() WEFT_FIELDS_NEXT
#define WEFT_FIELDS_AGAIN(...) \
  WEFT_FIELDS_AGAIN3(WEFT_FIELDS_AGAIN3(WEFT_FIELDS_AGAIN3(WEFT_FIELDS_AGAIN3(__VA_ARGS__))))
#define WEFT_FIELDS_AGAIN3(...) \
  WEFT_FIELDS_AGAIN2(WEFT_FIELDS_AGAIN2(WEFT_FIELDS_AGAIN2(WEFT_FIELDS_AGAIN2(__VA_ARGS__))))
#define WEFT_FIELDS_AGAIN2(...) \
  WEFT_FIELDS_AGAIN1(WEFT_FIELDS_AGAIN1(WEFT_FIELDS_AGAIN1(WEFT_FIELDS_AGAIN1(__VA_ARGS__))))
#define WEFT_FIELDS_AGAIN1(...) __VA_ARGS__
