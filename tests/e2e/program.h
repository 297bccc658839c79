// Runs the command-line program the way a shell does, and says what came out of it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fixtures/process.h"

namespace skipstone::e2e {

using fixtures::Stream;

struct Command {
  std::vector<std::string> arguments;
  std::string input = {};                               ///< standard input
  std::map<std::string, std::string> environment = {};  ///< on top of the test's own
  std::size_t close_after = 0;                          ///< closes standard output's reader after so many bytes; 0: never
  bool interrupt_at_output = false;                     ///< SIGINT or a console's Ctrl-C is sent when the first bytes come out
  std::string program = SKIPSTONE_PROGRAM;
  std::function<bool()> interrupt_when = {};                              ///< asked every millisecond; it is sent when this first holds
  std::string interrupt_at_error = {};                                    ///< it is sent when standard error has this in it; "": never
  Stream in = Stream::piped, out = Stream::piped, error = Stream::piped;  ///< in: piped or closed
  std::string folder = {};                                                ///< to work in; "": the test's own
  double seconds = 0;                                                     ///< it is killed after as many; 0: never
};

struct Result {
  int code = -1;           ///< exit code, or -1 where a signal ended the program
  int signal = 0;          ///< which
  std::string out, error;  ///< error: without progress
};

Result run(const Command& what);

/// The short form for most tests.
inline Result run(std::vector<std::string> arguments) { return run(Command{.arguments = std::move(arguments)}); }

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace skipstone::e2e
