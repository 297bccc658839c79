// Ctrl-C: the first one asks for a clean stop, the second one ends the program at once; in a conversation it stops the running answer.
#pragma once

#include "skipstone/skipstone.hpp"

namespace cli::interrupt {

/// From now on Ctrl-C and SIGTERM are noted instead of ending the program.
void install();

/// From now on every SIGINT is noted until take() returns it; a fifth one that was not taken ends the program. SIGTERM and SIGHUP are
/// noted for terminated(), SIGWINCH for take_resized().
void install_for_conversation();

/// Whether a signal has come.
bool requested();

/// Whether SIGINT has come since the last call.
bool take();

/// Whether the conversation is to end.
bool terminated();

/// Whether the terminal's size has changed since the last call.
bool take_resized();

/// The session that a signal cancels; null for none. To be cleared before the session is destroyed.
void set_session(skipstone_session* session);

/// Sets the session that a signal cancels, for the lifetime of this object.
class Interruptible {
 public:
  explicit Interruptible(const skipstone::Session& session) { set_session(session.get()); }
  ~Interruptible() { set_session(nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

/// Waits until standard input can be read; false if a signal came first.
bool wait_for_input();

}  // namespace cli::interrupt
