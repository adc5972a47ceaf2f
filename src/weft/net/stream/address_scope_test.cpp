#include "weft/net/stream/address_scope.h"

#include <gtest/gtest.h>

#include "weft/net/stream/socket.h"

namespace weft::address_scope_test {
namespace {

AddressScope scope(const char* text) { return scope_of(asio::ip::make_address(text)); }

TEST(AddressScope, EachRangeIsWhatItIsInEveryCoat) {
  using enum AddressScope;
  struct Case {
    const char* text;
    AddressScope scope;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"127.0.0.1", kHost},
           {"127.255.3.4", kHost},
           {"::1", kHost},
           {"::ffff:127.0.0.1", kHost},
           {"64:ff9b::7f00:1", kHost},
           {"2002:7f00:1::", kHost},
           {"0.0.0.0", kNone},
           {"0.1.2.3", kNone},
           {"::", kNone},
           {"::ffff:0.0.0.0", kNone},
           {"::7f00:1", kNone},
           {"224.0.0.1", kNone},
           {"255.255.255.255", kNone},
           {"ff02::1", kNone},
           {"169.254.169.254", kLink},
           {"::ffff:169.254.169.254", kLink},
           {"fe80::1", kLink},
           {"10.1.2.3", kSite},
           {"172.31.0.1", kSite},
           {"172.32.0.1", kWorld},
           {"192.168.1.1", kSite},
           {"64:ff9b::c0a8:101", kSite},
           {"64:ff9b:1::1", kSite},
           {"fd00::1", kSite},
           {"fec0::1", kSite},
           {"100.64.0.1", kShared},
           {"100.127.255.255", kShared},
           {"100.128.0.1", kWorld},
           {"100.63.255.255", kWorld},
           {"100.192.0.1", kWorld},
           {"203.0.113.7", kWorld},
           {"::ffff:203.0.113.7", kWorld},
           {"2001:db8::1", kWorld},
       }) {
    EXPECT_EQ(scope(each.text), each.scope) << each.text;
  }
}

TEST(AddressScope, NoNumericAddressIsThisMachineInDisguise) {
  for (const char* text : {"[::ffff:0.0.0.0]:6379", "0.1.2.3:6379", "[::]:6379", "0.0.0.0:6379",
                           "[::7f00:1]:6379", "255.255.255.255:6379"}) {
    EXPECT_FALSE(numeric_address(text).ok()) << text;
  }
  EXPECT_EQ(address_text(numeric_address("[::ffff:10.0.0.7]:80").value()), "10.0.0.7:80");
}

}  // namespace
}  // namespace weft::address_scope_test
