#include "base/platform/console.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace skipstone::platform {
namespace {

int descriptor_of(Stream stream) {
  switch (stream) {
    case Stream::input:
      return STDIN_FILENO;
    case Stream::output:
      return STDOUT_FILENO;
    case Stream::error:
      break;
  }
  return STDERR_FILENO;
}

SignalHandler handler_of_signals = nullptr;

void on_signal(int signal) { handler_of_signals(signal == SIGWINCH ? Signal::resize : signal == SIGINT ? Signal::interrupt : Signal::end); }

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;  // no SA_RESTART: a read of the prompt returns
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The opposite access mode keeps use of a closed stream an error. open() gives the lowest free number, the stream's own.
    [[maybe_unused]] const int taken = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool is_terminal(Stream stream) { return isatty(descriptor_of(stream)) == 1; }

bool has_control_sequences(Stream stream) {
  const char* const term = std::getenv("TERM");
  return is_terminal(stream) && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t columns(Stream stream) {
  winsize size{};
  return ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_writable(Stream stream) {
  const int flags = fcntl(descriptor_of(stream), F_GETFL);
  return flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
}

std::size_t write_some(Stream stream, std::string_view text, std::error_code& error) {
  error.clear();
  while (true) {
    const ssize_t written = ::write(descriptor_of(stream), text.data(), text.size());
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EINTR) continue;
    error.assign(errno, std::generic_category());
    return 0;
  }
}

void write_or_drop(Stream stream, std::string_view text) {
  std::error_code error;
  while (!text.empty() && !error) text.remove_prefix(write_some(stream, text, error));
}

std::intptr_t handle_of(Stream stream) { return descriptor_of(stream); }

void handle_first_signal(SignalHandler handler) {
  handler_of_signals = handler;
  for (const int signal : {SIGINT, SIGTERM}) handle(signal, on_signal, static_cast<int>(SA_RESETHAND));
}

void handle_all_signals(SignalHandler handler) {
  handler_of_signals = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) handle(signal, on_signal, 0);
}

bool wait_for_input(bool (*pending)()) {
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&watched, signal);
  // No signal may arrive between the check for pending ones and the wait.
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  bool ready = false;
  if (!pending()) {
    fd_set input;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    ready = pselect(STDIN_FILENO + 1, &input, nullptr, nullptr, nullptr, &before) > 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ready && !pending();
}

void end_at_once(int exit_code) { _exit(exit_code); }

}  // namespace skipstone::platform
