// The event that tells a thread waiting for input of Ctrl-C: console.cpp sets it, reading in files.cpp takes it.
#pragma once

namespace skipstone::platform {

/// A HANDLE that resets itself when it is taken.
void* signal_event();

}  // namespace skipstone::platform
