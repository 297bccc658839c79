// Tables on terminals of several widths.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "fixtures/pseudo_terminal.h"

namespace skipstone::e2e {
namespace {

std::string compared_at(std::uint16_t columns) {
  fixtures::PseudoTerminal terminal(
      [] {
        execl(SKIPSTONE_PROGRAM, SKIPSTONE_PROGRAM, "compare", SKIPSTONE_RECORDS "/laptop.json", SKIPSTONE_RECORDS "/desktop.json",
              nullptr);
        return 99;
      },
      columns);
  EXPECT_EQ(terminal.finish(), 0);
  return terminal.text();
}

TEST(CompareOnATerminal, NoLineIsWiderAndNoNumberIsLost) {
  for (const unsigned columns : {40u, 60u, 80u, 100u, 160u}) {
    const std::string text = compared_at(static_cast<std::uint16_t>(columns));
    std::istringstream lines(text);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), columns) << line;
      longest = std::max(longest, line.size());
    }
    EXPECT_GT(longest, columns * 3 / 4) << "the width is not used";
    for (const char* number : {"2150", "11400", "184.0", "452.0", "24 %", "1.31", "1.98", "2.30", "402.0"})
      EXPECT_NE(text.find(number), std::string::npos) << columns << ": " << number;
  }
}

std::string printed_at(std::uint16_t columns, std::vector<std::string> arguments) {
  fixtures::PseudoTerminal terminal(
      [&] {
        arguments.insert(arguments.begin(), SKIPSTONE_PROGRAM);
        std::vector<char*> words;
        for (std::string& word : arguments) words.push_back(word.data());
        words.push_back(nullptr);
        execv(SKIPSTONE_PROGRAM, words.data());
        return 99;
      },
      columns);
  EXPECT_EQ(terminal.finish(), 0);
  return terminal.text();
}

TEST(TablesOnATerminal, AreNoWiderThanIt) {
  const std::string model = SKIPSTONE_MODELS "/skipstone-py.gguf";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"bench", "-m", model, "--limit", "1"},
                                                  {"bench", "-m", model, "-p", "4", "-n", "2", "-r", "1"},
                                                  {"devices", "--plan", "-m", model},
                                                  {"devices", "--costs", "-m", model}}) {
    for (const std::uint16_t columns : {std::uint16_t{70}, std::uint16_t{80}}) {
      std::istringstream lines(printed_at(columns, command));
      std::size_t rows = 0;
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("|")) continue;
        ++rows;
        EXPECT_LE(line.size() - std::ranges::count(line, '\r'), columns) << line;
      }
      EXPECT_GT(rows, 2u) << command[0];
    }
  }
}

}  // namespace
}  // namespace skipstone::e2e
