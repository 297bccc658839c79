// Messages between ranks as bytes, and bytes that are none.
#include "cluster/message_bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/status.h"

namespace skipstone::cluster {
namespace {

using exec::StageCommand;
using exec::StageMessage;

StageMessage example() {
  return {.command = StageCommand::read_kv,
          .code = Code::unsupported,
          .not_before = -5,
          .request = {std::byte{1}, std::byte{2}, std::byte{3}},
          .rows = {1.5f, -0.0f},
          .cosines = {0.25f},
          .bytes = std::vector<std::byte>(1000, std::byte{7})};
}

void expect_same(const StageMessage& a, const StageMessage& b) {
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.not_before, b.not_before);
  EXPECT_EQ(a.request, b.request);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  EXPECT_TRUE(a.rows.empty() || std::memcmp(a.rows.data(), b.rows.data(), a.rows.size() * sizeof(float)) == 0);
  EXPECT_EQ(a.cosines, b.cosines);
  EXPECT_EQ(a.bytes, b.bytes);
}

Code code_of(std::span<const std::byte> bytes) {
  try {
    message_from(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

TEST(MessageBytes, AreReadAsTheyWereWritten) {
  expect_same(message_from(to_bytes(example())), example());
  const StageMessage empty{.command = StageCommand::end, .request = {}, .rows = {}, .cosines = {}, .bytes = {}};
  expect_same(message_from(to_bytes(empty)), empty);
  for (int ask = 0; ask <= static_cast<int>(StageCommand::failed); ++ask) {
    StageMessage message = example();
    message.command = static_cast<StageCommand>(ask);
    EXPECT_EQ(message_from(to_bytes(message)).command, message.command);
  }
}

TEST(MessageBytes, OfAnyOtherLengthAreRefused) {
  std::vector<std::byte> bytes = to_bytes(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(code_of(std::span(bytes).first(size)), Code::io) << size;
  bytes.push_back(std::byte{0});
  EXPECT_EQ(code_of(bytes), Code::io);
}

TEST(MessageBytes, WithHugeSizesAreRefused) {
  const std::vector<std::byte> bytes = to_bytes(example());
  for (const std::size_t field : {24, 32, 40, 48}) {  // the sizes of the header
    for (const std::uint64_t size : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 2,
                                     std::uint64_t{1} << 40, std::uint64_t{2000}}) {
      std::vector<std::byte> wrong = bytes;
      std::memcpy(wrong.data() + field, &size, sizeof(size));
      EXPECT_EQ(code_of(wrong), Code::io) << field << ' ' << size;
    }
  }
}

TEST(MessageBytes, WithUnknownWordsAreRefused) {
  for (const std::size_t place : {0, 4, 8}) {  // magic, ask, code
    std::vector<std::byte> wrong = to_bytes(example());
    wrong[place] = std::byte{0x7F};
    EXPECT_EQ(code_of(wrong), Code::io) << place;
  }
}

TEST(MessageBytes, OfAnyKindAreAMessageOrAnError) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = to_bytes(example());
    for (int change = 0; change < 4; ++change) bytes[random() % (change < 3 ? 56 : bytes.size())] = static_cast<std::byte>(random());
    const Code code = code_of(bytes);
    EXPECT_TRUE(code == Code::ok || code == Code::io);
  }
}

}  // namespace
}  // namespace skipstone::cluster
