// What may be in a message: text from files, names and arguments, made safe.
#include "base/escape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "fixtures/failure.h"

namespace skipstone {
namespace {

using fixtures::failure_of;

/// All that a terminal could act on, and what is no UTF-8.
const std::string hostile = "\033[2J\r\n\t\x07\x7f\xc2\x9b\xe2\x80\xae\xff\xc3";

bool is_plain(const std::string& text) {
  return escaped(text) == text && std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

TEST(Escape, LeavesNothingThatDrivesATerminal) {
  EXPECT_EQ(escaped(hostile), R"(\u{1b}[2J\r\n\t\u{7}\u{7f}\u{9b}\u{202e}\xff\xc3)");
  EXPECT_EQ(escaped("grün ▁Hello \\n"), "grün ▁Hello \\n");
  EXPECT_TRUE(is_plain(escaped(hostile)));
}

TEST(Escape, ShortensAtACharacter) {
  EXPECT_EQ(shortened("12345", 5), "12345");
  EXPECT_EQ(shortened("123456", 5), "12345... (6 bytes)");
  EXPECT_EQ(shortened("1234ü6", 5), "1234... (7 bytes)");
  EXPECT_EQ(shortened("\n" + std::string(1000, 'x'), 3), "\\nxx... (1001 bytes)");
}

TEST(Escape, MessagesKeepTheirFrontAndTheirEnd) {
  for (const std::string& filling : {std::string(1u << 20, 'x'), std::string(5000, '\n'), std::string(3000, '\xff'), hostile + std::string(4096, 'y')}) {
    std::string umlauts;
    for (int i = 0; i < 3000; ++i) umlauts += "ü";
    for (const std::string& middle : {filling, filling + umlauts}) {
      const std::string text = message_text("file.gguf: '" + middle + "'; download it again");
      EXPECT_LE(text.size(), longest_message);
      EXPECT_TRUE(is_plain(text));
      EXPECT_TRUE(text.starts_with("file.gguf: '"));
      EXPECT_TRUE(text.ends_with("'; download it again"));
    }
  }
  EXPECT_EQ(message_text("short"), "short");
}

TEST(Escape, EveryErrorIsPlain) {
  const auto failure = failure_of([] { fail(Code::bad_file, "{}: '{}' is no model", hostile, std::string(1u << 20, '\033')); });
  EXPECT_TRUE(is_plain(failure.message));
  EXPECT_LE(failure.message.size(), longest_message);
  EXPECT_TRUE(failure.message.ends_with("' is no model"));
}

TEST(Escape, EveryLineOfTheLogIsPlain) {
  std::vector<std::string> lines;
  log::set_sink([&](log::Level, std::string_view line) { lines.emplace_back(line); });
  log::warning("'{}' is left out: {}", hostile, std::string(1u << 20, '\n'));
  log::set_sink({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(is_plain(lines[0]));
  EXPECT_LE(lines[0].size(), longest_message);
}

}  // namespace
}  // namespace skipstone
