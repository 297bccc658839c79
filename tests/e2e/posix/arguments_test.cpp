// What only POSIX systems have in arguments: bytes that are no text.
#include <gtest/gtest.h>

#include "e2e/cli_hostile.h"

namespace skipstone::e2e {
namespace {

TEST_F(CliHostile, ArgumentsThatAreNoText) {
  expect_refused({"run", "-m", model(), "-p", "caf\xC3( is not UTF-8"}, 2, "UTF-8");
  expect_refused({"run", "-m", model(), "-p", "x", "--device", hostile_text().substr(0, 100000)}, 4);
}

}  // namespace
}  // namespace skipstone::e2e
