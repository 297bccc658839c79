// How a thread that waits for input learns of Ctrl-C: console.cpp sets this event, reading in files.cpp takes it.
#pragma once

namespace skipstone::platform {

/// A HANDLE that resets itself when it is taken.
void* signal_event();

}  // namespace skipstone::platform
