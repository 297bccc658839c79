#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace cli::interrupt {
namespace {

std::atomic<bool> signalled{false};
std::atomic<skipstone_session*> current{nullptr};

void on_signal(int) {
  signalled.store(true);
  if (skipstone_session* session = current.load()) skipstone_session_cancel(session);
}

}  // namespace

void install() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: a read of the prompt returns
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool requested() { return signalled.load(); }

void set_session(skipstone_session* session) {
  current.store(session);
  // A signal that came before the session was known must stop it too.
  if (session != nullptr && requested()) skipstone_session_cancel(session);
}

}  // namespace cli::interrupt
