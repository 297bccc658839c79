#include "program.h"

#include <chrono>
#include <sstream>

namespace skipstone::e2e {
namespace {

/// Progress of slow loads, "compiling kernels ...", depends on the machine's mood; the rest is what tests look at.
std::string without_progress(const std::string& text) {
  std::istringstream lines(text);
  std::string line, rest;
  while (std::getline(lines, line)) {
    if (!line.ends_with(" ...")) rest.append(line).append("\n");
  }
  return rest;
}

fixtures::ProcessStart start_of(const Command& what) {
  fixtures::ProcessStart start{.program = what.program, .arguments = what.arguments, .folder = what.folder};
  start.in = what.in;
  start.out = what.out;
  start.error = what.error;
  start.interruptible = what.interrupt_at_output || what.interrupt_when || !what.interrupt_at_error.empty();
  for (const char* name :
       {"SKIPSTONE_MODEL", "SKIPSTONE_DEVICE", "SKIPSTONE_TEMP", "SKIPSTONE_PROMPT", "SKIPSTONE_JSON", "SKIPSTONE_STATS"}) {
    start.environment[name] = std::nullopt;
  }
  for (const auto& [name, value] : what.environment) start.environment[name] = value;
  return start;
}

bool is_time_to_interrupt(const Command& what, const Result& so_far) {
  return (what.interrupt_when && what.interrupt_when()) || (what.interrupt_at_output && !so_far.out.empty()) ||
         (!what.interrupt_at_error.empty() && contains(so_far.error, what.interrupt_at_error));
}

}  // namespace

Result run(const Command& what) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  fixtures::Process process(start_of(what));
  process.give_input(what.input);
  Result result;
  bool interrupted = false, killed = false;
  const int pause = what.interrupt_when ? 1 : what.seconds > 0 ? 100 : -1;
  while (process.read(result.out, result.error, pause)) {
    if (!interrupted && is_time_to_interrupt(what, result)) {
      process.interrupt();
      interrupted = true;
    }
    if (what.close_after > 0 && result.out.size() >= what.close_after) process.stop_reading_output();
    if (what.seconds > 0 && !killed && std::chrono::duration<double>(Clock::now() - begin).count() > what.seconds) {
      process.kill();
      killed = true;
    }
  }
  result.error = without_progress(result.error);
  const fixtures::ProcessEnd end = process.wait();
  result.code = end.code;
  result.signal = end.signal;
  return result;
}

}  // namespace skipstone::e2e
