#include <array>
#include <string_view>

#include "fuzz/mutator.h"

namespace skipstone::fuzz {

std::uint64_t hostile_number(std::uint64_t value, std::size_t file_bytes, Random& random) {
  // The last five: NaN, infinity and the largest number as floats and doubles.
  constexpr std::array<std::uint64_t, 31> numbers{0,          1,           2,           3,           7,           8,
                                                  9,          12,          13,          31,          32,          33,
                                                  127,        128,         255,         256,         65535,       65536,
                                                  0x7fffffff, 0x80000000u, 0xffffffffu, 1ull << 32u, 1ull << 61u, 1ull << 62u,
                                                  INT64_MAX,  1ull << 63u, 0x7fc00000u, 0x7f800000u, 0x7f7fffffu, 0x7ff8000000000000u,
                                                  UINT64_MAX};
  switch (random.below(6)) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value << (1 + random.below(40));
    case 3:
      return file_bytes + random.below(64) - 32;
    default:
      return random.one_in(8) ? random.next() >> random.below(64) : numbers[random.below(numbers.size())];
  }
}

std::string hostile_text(std::string text, Random& random) {
  using namespace std::string_view_literals;
  constexpr std::array texts{""sv,
                             "\0"sv,
                             " "sv,
                             "\x1b[2J\x1b]0;title\a"sv,
                             "line\nend\r\n"sv,
                             "\xff\xfe"sv,
                             "\xed\xa0\x80"sv,
                             "\xc0\xaf"sv,
                             "\xf4\x90"sv,
                             "\xe2\x80\xae"sv,
                             "%s%n{}{0}"sv,
                             "../../etc/passwd"sv,
                             "<s>"sv,
                             "<0x41>"sv,
                             "<0xZZ>"sv,
                             "\xe2\x96\x81"sv,
                             "a b"sv,
                             "default"sv};
  switch (random.below(4)) {
    case 0:
      return std::string(texts[random.below(texts.size())]);
    case 1:
      if (text.empty()) return "x";
      text[random.below(text.size())] = static_cast<char>(random.next());
      return text;
    case 2:
      return text.substr(0, random.below(text.size() + 1));
    default: {
      const std::string_view unit = texts[random.below(texts.size())];
      std::string many;
      for (std::size_t size = std::size_t{1} << random.below(17); many.size() < size;) many += unit.empty() ? "\x7f"sv : unit;
      return many;
    }
  }
}

}  // namespace skipstone::fuzz
