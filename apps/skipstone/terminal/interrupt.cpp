#include "terminal/interrupt.h"

#include <atomic>

#include "base/platform/console.h"
#include "skipstone/skipstone_experimental.h"

namespace cli::interrupt {
namespace {

namespace platform = skipstone::platform;
using platform::Signal;

std::atomic<int> signalled{0};  // SIGINTs that take() has not returned yet
std::atomic<bool> ending{false}, new_size{false};
std::atomic<skipstone_session*> current{nullptr};

constexpr int patience = 5;
constexpr int exit_code_of_interrupts = 130;  // 128 + SIGINT, the shells' convention

void cancel_session() {
  if (skipstone_session* session = current.load()) skipstone_session_cancel(session);
}

void on_signal(Signal signal) {
  ++signalled;
  if (signal == Signal::end) skipstone_job_stop();
  cancel_session();
}

void on_signal_in_conversation(Signal signal) {
  if (signal == Signal::resize) {
    new_size.store(true);
    return;
  }
  if (signal == Signal::end) {
    ending.store(true);
    skipstone_job_stop();
  }
  if (++signalled >= patience) platform::end_at_once(exit_code_of_interrupts);
  cancel_session();
}

bool something_came() { return requested() || terminated() || new_size.load(); }

}  // namespace

void install() { platform::handle_first_signal(on_signal); }
void install_for_conversation() { platform::handle_all_signals(on_signal_in_conversation); }

bool requested() { return signalled.load() > 0; }
bool take() { return signalled.exchange(0) > 0; }
bool terminated() { return ending.load(); }
bool take_resized() { return new_size.exchange(false); }

void set_session(skipstone_session* session) {
  current.store(session);
  // A signal that came before the session was known must stop it too.
  if (session != nullptr && requested()) skipstone_session_cancel(session);
}

bool wait_for_input() { return platform::wait_for_input(something_came); }

}  // namespace cli::interrupt
