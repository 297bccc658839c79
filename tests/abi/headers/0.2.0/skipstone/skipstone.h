/* Skipstone's C API: GGUF language models on Vulkan devices, drafting with the model's own layers.
 *
 * Conventions
 * - Every function that can fail returns a skipstone_status; skipstone_last_error() then has the sentence, per thread.
 * - Text is UTF-8. Strings that come back as `char**` belong to the caller: give them to skipstone_string_free().
 * - Strings and arrays that come back as `const` pointers belong to the handle they were asked from.
 * - Reports (devices, inspect, doctor, statistics) are JSON documents; fields may be added to them, never change their meaning.
 *
 * Old programs, new library
 * - Every struct has a `struct_size`: the sizeof that its maker was built with. Fill parameter structs with their *_params_init(), then
 *   change what you need; set `struct_size` of structs to be filled before the call. Structs grow at their ends only, and fields that one
 *   side does not know keep their defaults, so programs built against an older header keep working with a newer library. A parameter
 *   that an older library does not know is refused (SKIPSTONE_UNSUPPORTED) unless it is zero.
 * - This holds for these headers; skipstone_experimental.h is without promise.
 *
 * Threads
 * - An engine may be shared by sessions and threads. A session is used by one thread at a time (except skipstone_session_cancel()).
 *   Engines and sessions may be made and freed in any order from any thread.
 * - A call that would change a session from inside one of its own callbacks, or beside a running call of another thread, is refused
 *   (SKIPSTONE_INVALID_ARGUMENT).
 */
#ifndef SKIPSTONE_H
#define SKIPSTONE_H

#include "skipstone/base.h"
#include "skipstone/chat.h"
#include "skipstone/diagnostics.h"
#include "skipstone/engine.h"
#include "skipstone/session.h"

#endif
