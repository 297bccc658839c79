/* Common to every part of Skipstone's C API: status codes, error sentences, versions, messages, progress. Included by skipstone.h. */
#ifndef SKIPSTONE_BASE_H
#define SKIPSTONE_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "skipstone/version.h"

/* Marks the symbols that the shared library exports. Windows programs that link the DLL define SKIPSTONE_DLL (the CMake targets do). */
#if defined(_WIN32)
#if defined(SKIPSTONE_BUILDING_DLL)
#define SKIPSTONE_API __declspec(dllexport)
#elif defined(SKIPSTONE_DLL)
#define SKIPSTONE_API __declspec(dllimport)
#else
#define SKIPSTONE_API
#endif
#else
#define SKIPSTONE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ------------------------------------------------------------------------------------------------------------ */

/* Counts the additions to the stable API: a library whose skipstone_abi_version() is at least the SKIPSTONE_ABI_VERSION that a program was
 * built with has everything that the program can name. */
#define SKIPSTONE_ABI_VERSION 2

SKIPSTONE_API uint32_t skipstone_abi_version(void);

/* "0.2.0", and the commit it was built from ("unknown" outside a git checkout). */
SKIPSTONE_API const char* skipstone_version(void);
SKIPSTONE_API const char* skipstone_commit(void);

/* ---- status ------------------------------------------------------------------------------------------------------------- */

typedef enum skipstone_status {
  SKIPSTONE_OK = 0,
  SKIPSTONE_INVALID_ARGUMENT = 1, /* the caller asked for something that cannot be */
  SKIPSTONE_NOT_FOUND = 2,        /* a file, device or name does not exist */
  SKIPSTONE_BAD_FILE = 3,         /* a file is damaged or not what it says */
  SKIPSTONE_UNSUPPORTED = 4,      /* well-formed, but this build or device cannot do it */
  SKIPSTONE_OUT_OF_MEMORY = 5,    /* host or device memory, found by planning or by the driver */
  SKIPSTONE_NO_DEVICE = 6,        /* no Vulkan loader, no driver or no device */
  SKIPSTONE_DEVICE_LOST = 7,      /* the driver gave the device up; the engine and its sessions are of no more use */
  SKIPSTONE_IO = 8,               /* reading or writing failed */
  SKIPSTONE_CANCELLED = 9,        /* a callback asked to stop */
  SKIPSTONE_INTERNAL = 10         /* a defect of the library */
} skipstone_status;

/* "ok", "invalid_argument", ...; "unknown" for other numbers. */
SKIPSTONE_API const char* skipstone_status_name(skipstone_status status);

/* The error of this thread's last failed call, as one sentence; "" before the first. Valid until the thread's next call. */
SKIPSTONE_API const char* skipstone_last_error(void);

/* Frees a `char**` result of any function. NULL is fine. */
SKIPSTONE_API void skipstone_string_free(char* text);

/* ---- messages, progress ------------------------------------------------------------------------------------------------- */

typedef enum skipstone_log_level {
  SKIPSTONE_LOG_DEBUG = 0,
  SKIPSTONE_LOG_INFO = 1,
  SKIPSTONE_LOG_WARNING = 2,
  SKIPSTONE_LOG_ERROR = 3
} skipstone_log_level;

/* `level` is a skipstone_log_level; `text` has no line end. */
typedef void (*skipstone_log_fn)(int level, const char* text, void* user_data);

/* Where warnings go instead of to standard error; NULL silences them. Call it before any other thread uses the library. Messages of calls
 * that `log` itself makes are dropped. */
SKIPSTONE_API void skipstone_set_log(skipstone_log_fn log, void* user_data);

/* `stage` says what is being done ("loading weights", "compiling kernels", "quantising"); `done`: 0 to 1. Non-zero stops the call with
 * SKIPSTONE_CANCELLED. */
typedef int (*skipstone_progress_fn)(const char* stage, double done, void* user_data);

#ifdef __cplusplus
}
#endif

#endif
