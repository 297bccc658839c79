// Help on terminals of several widths.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fixtures/pseudo_terminal.h"

namespace skipstone::e2e {
namespace {

using fixtures::PseudoTerminal;

std::vector<std::string> lines_at(std::uint16_t columns, const std::vector<std::string>& arguments) {
  PseudoTerminal terminal(
      [&] {
        std::vector<char*> raw = {const_cast<char*>(SKIPSTONE_PROGRAM)};
        for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
        raw.push_back(nullptr);
        execv(SKIPSTONE_PROGRAM, raw.data());
        return 99;
      },
      columns);
  EXPECT_EQ(terminal.finish(), 0);
  std::istringstream text(terminal.text());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(HelpOnATerminal, IsWrappedToItsWidthBetweenWords) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"bench", "--help"}, {"help", "serve"}, {"help", "drafters"}}) {
    std::set<std::string> words;  // of the widest
    for (const std::uint16_t columns : {std::uint16_t{120}, std::uint16_t{80}, std::uint16_t{60}}) {
      std::size_t longest = 0;
      for (const std::string& line : lines_at(columns, arguments)) {
        if (line.starts_with("  skipstone ") || line.starts_with("  curl ")) continue;
        EXPECT_LE(line.size(), columns) << line;
        longest = std::max(longest, line.size());
        std::istringstream parts(line);
        for (std::string word; parts >> word;) {
          if (columns == 120) words.insert(word);
          // Lists of options are broken after commas.
          EXPECT_TRUE(words.contains(word) || word.find(',') != std::string::npos || word.find('=') != std::string::npos)
              << word << " in: " << line;
        }
      }
      EXPECT_GT(longest, columns * 3u / 4) << arguments[0] << " does not use the width";
    }
  }
}

}  // namespace
}  // namespace skipstone::e2e
