// Ctrl-C: the first one asks for a clean stop, the second one ends the program at once.
#pragma once

#include "skipstone/skipstone.h"

namespace cli::interrupt {

/// From now on SIGINT and SIGTERM are noted instead of ending the program.
void install();

/// Whether a signal has come.
bool requested();

/// The session that a signal cancels; null for none. To be cleared before the session goes.
void set_session(skipstone_session* session);

}  // namespace cli::interrupt
