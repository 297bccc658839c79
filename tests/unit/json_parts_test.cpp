// JSON text taken apart: every byte of a value stays.
#include "json/json_parts.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace skipstone {
namespace {

TEST(JsonParts, KeepsOrderAndDigits) {
  const std::string text =
      R"( { "b" : 123456789012345678901234567890, "a":[1.0, "x,]}\"", {"c":{}}] ,"\u00e9\"":null,"d":true, "" : "\\" } )";
  const auto members = json_members(text);
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0], JsonMember("b", "123456789012345678901234567890"));
  EXPECT_EQ(members[1], JsonMember("a", R"([1.0, "x,]}\"", {"c":{}}])"));
  EXPECT_EQ(members[2], JsonMember("\u00e9\"", "null"));
  EXPECT_EQ(members[3], JsonMember("d", "true"));
  EXPECT_EQ(members[4], JsonMember("", R"("\\")"));
  EXPECT_EQ(json_items(members[1].second), (std::vector<std::string_view>{"1.0", R"("x,]}\"")", R"({"c":{}})"}));
  EXPECT_EQ(json_member(members, "d"), "true");
  EXPECT_EQ(json_member(members, "\u00e9\""), "") << "null is as absent";
  EXPECT_EQ(json_member(members, "e"), "");
  EXPECT_TRUE(json_members("{}").empty() && json_items(" [ ] ").empty());
}

TEST(JsonParts, AddsMembers) {
  EXPECT_EQ(json_object_with("{ }", {}), "{ }");
  EXPECT_EQ(json_object_with("{}", {{"a", "1"}, {"\"", "[]"}}), R"({"a":1,"\"":[]})");
  EXPECT_EQ(json_object_with(R"({"z": 1.0 })", {{"a", "\"}\""}}), R"({"z": 1.0 ,"a":"}"})");
}

}  // namespace
}  // namespace skipstone
