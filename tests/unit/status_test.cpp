#include "base/status.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace skipstone {
namespace {

TEST(Status, FailCarriesCodeAndFormattedMessage) {
  try {
    fail(Code::bad_file, "'{}' ends at byte {}", "model.gguf", 42);
    FAIL() << "fail() returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::bad_file);
    EXPECT_STREQ(error.what(), "'model.gguf' ends at byte 42");
  }
}

TEST(Status, ErrorsCarryWhereTheyAre) {
  try {
    fail_about("messages[2].role", Code::invalid_argument, "{}: is {}", "messages[2].role", "missing");
    FAIL() << "fail_about() returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_STREQ(error.what(), "messages[2].role: is missing");
    EXPECT_EQ(error.where(), "messages[2].role");
  }
  EXPECT_EQ(Error(Code::io, "no").where(), "");
  EXPECT_EQ(Error(Code::io, "no", "a\033").where(), "a\\u{1b}");
}

TEST(Status, MessagesMayContainBracesOfTheirArguments) {
  try {
    fail(Code::invalid_argument, "{}", "{not a format}");
    FAIL() << "fail() returned";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "{not a format}");
  }
}

TEST(Status, CodesAreThoseOfThePublicInterface) {
  EXPECT_EQ(static_cast<int>(Code::ok), 0);
  EXPECT_EQ(static_cast<int>(Code::invalid_argument), 1);
  EXPECT_EQ(static_cast<int>(Code::not_found), 2);
  EXPECT_EQ(static_cast<int>(Code::bad_file), 3);
  EXPECT_EQ(static_cast<int>(Code::unsupported), 4);
  EXPECT_EQ(static_cast<int>(Code::out_of_memory), 5);
  EXPECT_EQ(static_cast<int>(Code::no_device), 6);
  EXPECT_EQ(static_cast<int>(Code::device_lost), 7);
  EXPECT_EQ(static_cast<int>(Code::io), 8);
  EXPECT_EQ(static_cast<int>(Code::cancelled), 9);
  EXPECT_EQ(static_cast<int>(Code::internal), 10);
}

}  // namespace
}  // namespace skipstone
