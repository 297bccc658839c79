#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace skipstone::e2e {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

/// In the child, after its pipes are in place.
void spoil(int stream, Stream how) {
  if (how == Stream::closed) close(stream);
  if (how == Stream::full) dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), stream);
  if (how == Stream::broken) {
    Pipe pipe;
    dup2(pipe.ends[1], stream);
  }
}

[[noreturn]] void become(const Command& what, const Pipe& in, const Pipe& out, const Pipe& error) {
  dup2(in.ends[0], STDIN_FILENO);
  const int output = what.output_file.empty() ? out.ends[1] : open(what.output_file.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(error.ends[1], STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);  // the test may ignore it, and that is inherited
  spoil(STDIN_FILENO, what.in);
  spoil(STDOUT_FILENO, what.out);
  spoil(STDERR_FILENO, what.error);
  for (const char* name :
       {"SKIPSTONE_MODEL", "SKIPSTONE_DEVICE", "SKIPSTONE_TEMP", "SKIPSTONE_PROMPT", "SKIPSTONE_JSON", "SKIPSTONE_STATS"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : what.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments{const_cast<char*>(what.program.c_str())};
  for (const std::string& argument : what.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(what.program.c_str(), arguments.data());
  _exit(127);
}

/// Appends what can be read; closes the end where there is no more.
bool drain(Pipe& pipe, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(pipe.ends[0], buffer.data(), buffer.size());
  if (got <= 0) {
    pipe.close_end(0);
    return false;
  }
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

/// Progress of slow loads, "compiling kernels ...", depends on the machine's mood; the rest is what tests look at.
std::string without_progress(const std::string& text) {
  std::istringstream lines(text);
  std::string line, rest;
  while (std::getline(lines, line)) {
    if (!line.ends_with(" ...")) rest.append(line).append("\n");
  }
  return rest;
}

}  // namespace

Result run(const Command& what) {
  Pipe in, out, error;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(what, in, out, error);
  in.close_end(0);
  out.close_end(1);
  error.close_end(1);
  // Test inputs fit a pipe's buffer; a program that has gone already shows in its exit code.
  signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const ssize_t written = write(in.ends[1], what.input.data(), what.input.size());
  in.close_end(1);

  Result result;
  bool signalled = false;
  while (out.ends[0] >= 0 || error.ends[0] >= 0) {
    std::array<pollfd, 2> ends{{{out.ends[0], POLLIN, 0}, {error.ends[0], POLLIN, 0}}};
    poll(ends.data(), ends.size(), what.interrupt_when ? 1 : -1);
    if (what.interrupt_when && !signalled && what.interrupt_when()) {
      kill(child, SIGINT);
      signalled = true;
    }
    if (ends[0].revents != 0 && drain(out, result.out)) {
      if (what.signal_at_output != 0 && !signalled) kill(child, what.signal_at_output);
      signalled = true;
      if (what.close_after > 0 && result.out.size() >= what.close_after) out.close_end(0);
    }
    if (ends[1].revents != 0) drain(error, result.error);
    if (!what.interrupt_at_error.empty() && !signalled && result.error.find(what.interrupt_at_error) != std::string::npos) {
      kill(child, SIGINT);
      signalled = true;
    }
  }
  result.error = without_progress(result.error);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace skipstone::e2e
