// Runs the command-line program the way a shell does, and says what came out of it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace skipstone::e2e {

/// What a standard stream of the program is.
enum class Stream {
  piped,   ///< to the test
  closed,  ///< no descriptor at all
  full,    ///< /dev/full: every write fails with ENOSPC
  broken   ///< a pipe whose reader is gone
};

struct Command {
  std::vector<std::string> arguments;
  std::string input = {};                               ///< standard input
  std::map<std::string, std::string> environment = {};  ///< on top of the test's own
  std::string output_file = {};                         ///< standard output goes there instead
  std::size_t close_after = 0;                          ///< closes standard output's reader after so many bytes; 0: never
  int signal_at_output = 0;                             ///< sent when the first bytes come out; 0: none
  std::string program = SKIPSTONE_PROGRAM;
  std::function<bool()> interrupt_when = {};  ///< asked every millisecond; SIGINT is sent when it first holds
  std::string interrupt_at_error = {};        ///< SIGINT is sent when standard error has this in it; "": never
  Stream in = Stream::piped, out = Stream::piped, error = Stream::piped;  ///< in: piped or closed
};

struct Result {
  int code = -1;           ///< exit code, or -1 where a signal ended the program
  int signal = 0;          ///< which
  std::string out, error;  ///< error: without progress
};

Result run(const Command& what);

/// The short form for most tests.
inline Result run(std::vector<std::string> arguments) { return run(Command{std::move(arguments), {}, {}, {}, 0, 0}); }

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace skipstone::e2e
