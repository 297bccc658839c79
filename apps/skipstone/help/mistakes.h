// What is wrong with a command line that does not parse, in the user's words.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct Mistake {
  std::string sentence;  ///< what is wrong, with the nearest name where one is near
  std::string usage;     ///< of the command that was meant, or of the program, and what to type to read on; one line
};

/// `arguments`: without the program's name, in their order. `error`: the parser's sentence, for what has no better one.
Mistake explain_mistake(const CLI::App& app, const std::vector<std::string>& arguments, std::string_view error);

}  // namespace cli
