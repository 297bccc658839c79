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
 * - A call that would change a session or a parser of answers from inside one of its own callbacks, or beside a running call of another
 *   thread, is refused (SKIPSTONE_INVALID_ARGUMENT), and so are questions to it by another thread; functions without a status then say 0 or
 *   NULL. A callback that tells of progress cannot run the engine that the call is about: its sessions' calls, and new ones, are refused.
 * - A handle that a callback frees, its own session, engine, chat or parser too, exists until the call that ran it returns, and must
 *   not be used any more; a generation whose session is freed ends at its next token. A handle freed outside callbacks must not be used
 *   either.
 *
 * Arrays
 * - A count above 0 needs an array. One that no array can have is refused before anything is read: texts have at most 2^30 bytes, lists of
 *   tokens 2^28 tokens, lists of files, texts and names 65,536 of them.
 */
#ifndef SKIPSTONE_H
#define SKIPSTONE_H

#include "skipstone/base.h"
#include "skipstone/chat.h"
#include "skipstone/diagnostics.h"
#include "skipstone/engine.h"
#include "skipstone/grammar.h"
#include "skipstone/session.h"

#endif
