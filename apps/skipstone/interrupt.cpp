#include "interrupt.h"

#include <sys/select.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace cli::interrupt {
namespace {

std::atomic<int> signalled{0};  // SIGINTs that nobody took
std::atomic<bool> ending{false}, new_size{false};
std::atomic<skipstone_session*> current{nullptr};

constexpr int patience = 5;

void cancel_session() {
  if (skipstone_session* session = current.load()) skipstone_session_cancel(session);
}

void on_signal(int) {
  ++signalled;
  cancel_session();
}

void on_signal_in_conversation(int signal) {
  if (signal == SIGWINCH) {
    new_size.store(true);
    return;
  }
  if (signal != SIGINT) ending.store(true);
  if (++signalled >= patience) _exit(128 + SIGINT);
  cancel_session();
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;  // no SA_RESTART: a read of the prompt returns
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install() {
  for (const int signal : {SIGINT, SIGTERM}) handle(signal, on_signal, static_cast<int>(SA_RESETHAND));
}

void install_for_conversation() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) handle(signal, on_signal_in_conversation, 0);
}

bool requested() { return signalled.load() > 0; }
bool take() { return signalled.exchange(0) > 0; }
bool terminated() { return ending.load(); }
bool take_resized() { return new_size.exchange(false); }

void set_session(skipstone_session* session) {
  current.store(session);
  // A signal that came before the session was known must stop it too.
  if (session != nullptr && requested()) skipstone_session_cancel(session);
}

bool wait_for_input() {
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&watched, signal);
  // Between the look at what has come and the wait nothing may come.
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  bool ready = false;
  if (!requested() && !terminated() && !new_size.load()) {
    fd_set input;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    ready = pselect(STDIN_FILENO + 1, &input, nullptr, nullptr, nullptr, &before) > 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ready && !requested() && !terminated();
}

}  // namespace cli::interrupt
